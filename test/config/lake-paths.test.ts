import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveOfflineSettings } from '../../src/config/resolve-settings.ts';
import type { ConfigInput } from '../../src/model/config.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

function resolve(destination: ConfigInput['destination'], stateDir?: string) {
  const folder = makeTempFolder();
  const config: ConfigInput = {
    source: { connector: 'analytics-read', baseUrl: 'https://analytics.example.com/api/v1' },
    destination,
    ...(stateDir !== undefined && { stateDir }),
  };
  const settings = resolveOfflineSettings({
    loaded: parseConfig(config, folder),
    connectors,
    env: {},
    nowMs: 0,
  });
  return { settings, folder };
}

describe('destination.parquet', () => {
  it('is looked at behind links, also those that point to nothing yet', () => {
    const folder = makeTempFolder();
    symlinkSync(join(folder, 'env=prod'), join(folder, 'odd'));
    expect(() => resolve({ parquet: join(folder, 'odd', 'lake') })).toThrow(
      'must not lie at a path with one of',
    );
    symlinkSync(join(folder, 'lake', 'w.duckdb'), join(folder, 'w.duckdb'));
    const both = { parquet: join(folder, 'lake'), duckdb: join(folder, 'w.duckdb') };
    expect(() => resolve(both)).toThrow('must be outside the folder of destination.parquet');
  });

  it('beside a file is published as well', () => {
    const { settings, folder } = resolve({ duckdb: './w.duckdb', parquet: './lake' });
    expect(settings).toMatchObject({
      duckdbPath: join(folder, 'w.duckdb'),
      publishesDuckdb: true,
      lakePath: join(folder, 'lake'),
    });
    expect(settings.retention.lakeMs).toBe(3_600_000);
  });

  it('alone makes the file of the lake the one to ask', () => {
    const { settings, folder } = resolve({ parquet: './lake' });
    expect(settings).toMatchObject({
      duckdbPath: join(folder, 'lake', 'lake.duckdb'),
      publishesDuckdb: false,
      lakePath: join(folder, 'lake'),
    });
  });

  it('may be left out, but not with the file', () => {
    expect(resolve({ duckdb: './w.duckdb' }).settings.lakePath).toBeUndefined();
    expect(() => resolve({})).toThrow('needs duckdb (a file), parquet (a folder), or both');
  });

  it.each([
    [{ parquet: 's3://bucket/lake' }, undefined, 'must be a folder on this machine'],
    [{ parquet: './la*e' }, undefined, 'must not lie at a path with one of'],
    [{ parquet: './env=prod/lake' }, undefined, 'must not lie at a path with one of'],
    [{ parquet: './.sluice/lake' }, undefined, 'must not lie in the state folder'],
    [{ parquet: './data' }, './data/state', 'must not lie in the state folder'],
    [
      { parquet: './lake', duckdb: './lake/w.duckdb' },
      undefined,
      'must be outside the folder of destination.parquet',
    ],
  ] as const)('of %j with stateDir %j is refused', (destination, stateDir, message) => {
    expect(() => resolve(destination, stateDir)).toThrow(message);
  });
});
