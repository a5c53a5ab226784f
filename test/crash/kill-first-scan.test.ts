import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { readStatus } from '../../src/commands/status.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import { sync } from '../../src/index.ts';
import type { ConfigInput } from '../../src/model/config.ts';
import { type SimulatorServer, startSimulatorServer } from '../../src/simulator/server.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { startNode, waitForEnd } from '../support/run-node.ts';
import { buildConfig, makeFolder, noBuiltIns, unlimited } from '../support/sync-harness.ts';
import { type Outcome, readOutcome } from './read-outcome.ts';
import type { ChildPlan, KillPoint } from './sync-child.ts';

// 20 MB, so that the rows go into the file before they are committed.
const ROWS = Array.from({ length: 10_000 }, (_, id) => ({ id, text: `${id} ${'z'.repeat(2_000)}` }));

function at(begins: string, when: 'before' | 'after', nth = 1): readonly [string, KillPoint] {
  return [`${when} ${begins} (${nth})`, { at: 'sql', begins, nth, when }];
}

const points = [
  at('CREATE TABLE main."~first"', 'after'),
  at('INSERT INTO main."~first"', 'before'),
  at('INSERT INTO main."~first"', 'after'),
  at('DROP TABLE main."items"', 'after'),
  at('ALTER TABLE main."~first" ADD', 'after'),
  at('ALTER TABLE main."~first" RENAME', 'after'),
  at('INSERT INTO _sluice.stream_runs', 'after'),
  at('DROP VIEW IF EXISTS temp."~incoming"', 'before'),
  at('CHECKPOINT', 'before'),
  at('CHECKPOINT', 'after'),
];

let server: SimulatorServer;
let wanted: Comparable;

function configure(folder: string): ConfigInput {
  const streams = {
    ...noBuiltIns,
    items: { path: 'items', paginated: true, pageSize: 100, key: ['id'], deletes: 'soft' as const },
  };
  const paths = { stateDir: join(folder, 'state'), ledgerDir: join(folder, 'quota') };
  return buildConfig(
    { duckdbPath: duckdbOf(folder), ...paths },
    { source: { baseUrl: server.baseUrl }, streams },
  );
}

function duckdbOf(folder: string): string {
  return join(folder, 'warehouse.duckdb');
}

beforeAll(async () => {
  const endpoints = { items: { paginated: true, records: () => ROWS } };
  server = await startSimulatorServer(createSimulator({ builtIns: false, rateLimit: unlimited, endpoints }));
  const folder = makeFolder();
  expect(await sync(configure(folder))).toMatchObject({ exitCode: 0, warnings: [] });
  wanted = dropTimes(await readOutcome(duckdbOf(folder)));
});
afterAll(() => server.close());

describe('a first sync that is killed while its rows are in the file and not committed', () => {
  it.each(points)('%s leaves nothing to the next one but its pages', async (_, kill) => {
    const folder = makeFolder();
    const plan: ChildPlan = { config: configure(folder), kill };
    const end = await waitForEnd(
      startNode(join(import.meta.dirname, 'sync-child.ts'), [JSON.stringify(plan)]),
    );
    expect(end.signal).toBe('SIGKILL');
    const loaded = parseConfig(configure(folder), folder);
    const settings = resolveSettings({ loaded, connectors, env: {}, nowMs: 0 });
    const said = [await verifyState(settings), await readStatus(settings, 0)];
    expect(JSON.stringify(said)).not.toContain('~first');
    expect(await sync(configure(folder))).toMatchObject({ exitCode: 0, warnings: [] });
    expect(dropTimes(await readOutcome(duckdbOf(folder)))).toEqual(wanted);
  });
});

type Comparable = ReturnType<typeof dropTimes>;

/** Without what differs from run to run. */
function dropTimes({ tables, ...rest }: Outcome) {
  const { columns, rows = [] } = tables['items'] ?? {};
  const values = rows.map(({ _run_id, _synced_at, ...row }) => row);
  return { ...rest, names: Object.keys(tables), columns, values };
}
