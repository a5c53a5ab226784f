import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import type { ConfigInput } from '../../src/model/config.ts';
import type { Connector } from '../../src/model/connector.ts';
import type { Settings, SyncOptions } from '../../src/model/settings.ts';
import { runSync } from '../../src/sync/run.ts';
import { queryCopy } from '../support/published.ts';
import { makeFolder } from '../support/sync-harness.ts';
import type { DescribedApi } from './described-api.ts';
import { createStandIn, KEY, type StandIn, type StandInOptions } from './stand-in-api.ts';

/** A project with its own folder that syncs an API through a connector. */
export interface Project {
  readonly server: StandIn;
  readonly settings: () => Settings;
  sync(options?: SyncOptions): ReturnType<typeof runSync>;
  /** Ids in a published table. */
  ids(table: string): Promise<readonly unknown[]>;
  isPublished(): boolean;
}

export function createProject(connector: Connector, api: DescribedApi, options?: StandInOptions): Project {
  const server = createStandIn(api, options);
  const { clock, transport } = server;
  const folder = makeFolder();
  const duckdb = join(folder, 'warehouse.duckdb');
  const config: ConfigInput = {
    source: {
      connector: connector.name,
      baseUrl: api.baseUrl,
      apiKey: KEY,
      quota: { ledgerDir: join(folder, 'quota') },
    },
    destination: { duckdb },
    stateDir: join(folder, 'state'),
    defaults: { freshness: 0 },
  };
  const settings = () =>
    resolveSettings({
      loaded: parseConfig(config, folder),
      connectors: { [connector.name]: connector },
      env: {},
      nowMs: clock.now(),
    });
  return {
    server,
    settings,
    sync: (run) => runSync(settings(), { ...run, clock, transport, random: () => 0.5 }),
    ids: async (table) =>
      (await queryCopy(duckdb, `SELECT id FROM main."${table}" ORDER BY id`)).rows.map((row) => row['id']),
    isPublished: () => existsSync(duckdb),
  };
}
