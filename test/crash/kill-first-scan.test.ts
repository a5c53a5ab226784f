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

/** Rows that the engine writes together. */
const GROUP_ROWS = 122_880;

// 20 MB each, so that the rows go into the file before they are committed: at the end of the scan, or
// a group of them while pages still come.
const shapes = {
  'of few long records': makeRows(10_000, 2_000),
  'of more records than a group has': makeRows(GROUP_ROWS + 5_000, 120),
} as const;
type Shape = keyof typeof shapes;

function makeRows(count: number, length: number): readonly unknown[] {
  return Array.from({ length: count }, (_, id) => ({ id, text: `${id} ${'z'.repeat(length)}` }));
}

function at(begins: string, when: 'before' | 'after', nth = 1): readonly [string, KillPoint] {
  return [`${when} ${begins} (${nth})`, { at: 'sql', begins, nth, when }];
}

const INSERT = 'INSERT INTO main."~first"';
const points = {
  'of few long records': [
    at('CREATE TABLE main."~first"', 'after'),
    at(INSERT, 'before'),
    at(INSERT, 'after'),
    at('DROP TABLE main."items"', 'after'),
    at('ALTER TABLE main."~first" ADD', 'after'),
    at('ALTER TABLE main."~first" RENAME', 'after'),
    at('INSERT INTO _sluice.stream_runs', 'after'),
    at('DROP VIEW IF EXISTS temp."~incoming"', 'before'),
    at('CHECKPOINT', 'before'),
    at('CHECKPOINT', 'after'),
  ],
  'of more records than a group has': [
    at(INSERT, 'after'),
    at(INSERT, 'after', 2),
    at('ALTER TABLE main."~first" RENAME', 'after'),
    at('CHECKPOINT', 'after'),
  ],
} as const satisfies Record<Shape, unknown>;

function configure(folder: string, server: SimulatorServer): ConfigInput {
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

describe.each(Object.keys(shapes) as readonly Shape[])('a first sync %s that is killed', (shape) => {
  let server: SimulatorServer;
  let wanted: Comparable;

  beforeAll(async () => {
    const endpoints = { items: { paginated: true, records: () => shapes[shape] } };
    server = await startSimulatorServer(
      createSimulator({ builtIns: false, rateLimit: unlimited, endpoints }),
    );
    const folder = makeFolder();
    expect(await sync(configure(folder, server))).toMatchObject({ exitCode: 0, warnings: [] });
    wanted = dropTimes(await readOutcome(duckdbOf(folder)));
  });
  afterAll(() => server.close());

  it.each(points[shape])('%s leaves nothing to the next one but its pages', async (_, kill) => {
    const folder = makeFolder();
    const config = configure(folder, server);
    const plan: ChildPlan = { config, kill };
    const end = await waitForEnd(
      startNode(join(import.meta.dirname, 'sync-child.ts'), [JSON.stringify(plan)]),
    );
    expect(end.signal).toBe('SIGKILL');
    const loaded = parseConfig(config, folder);
    const settings = resolveSettings({ loaded, connectors, env: {}, nowMs: 0 });
    const said = [await verifyState(settings), await readStatus(settings, 0)];
    expect(JSON.stringify(said)).not.toContain('~first');
    expect(await sync(config)).toMatchObject({ exitCode: 0, warnings: [] });
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
