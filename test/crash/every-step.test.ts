import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chooseStride, seed } from '../support/seeds.ts';
import { createItemsFlow, DAY_MS, type Flow, makeItems, offsetsOf } from '../support/sync-harness.ts';
import { collectCrashStates, type CrashState, restoreCrashState } from './crash-states.ts';
import { type Outcome, queryWorkFile, readOutcome, readStagedOffsets } from './read-outcome.ts';

// One request at a time, so that none is on its way when the process dies.
const oneByOne = { config: { quota: { burstPerSecond: 1 } } };
const stream = { pageSize: 40, cursor: false } as const;

/** Invariant 1: whatever a checkpoint claims is in its table. */
async function assertStateIsCovered(stateDir: string): Promise<void> {
  if (!existsSync(join(stateDir, 'work.duckdb'))) return;
  const tables = await queryWorkFile(
    stateDir,
    `SELECT table_name FROM duckdb_tables() WHERE database_name = 'work' AND table_name IN ('checkpoints', 'items')`,
  );
  const names = tables.map(({ table_name: name }) => name);
  if (!names.includes('checkpoints')) return;
  const [checkpoint] = await queryWorkFile(stateDir, 'SELECT rows_declared FROM _sluice.checkpoints');
  if (checkpoint === undefined) return;
  expect(names).toContain('items');
  const [held] = await queryWorkFile(stateDir, 'SELECT count(*) AS n FROM main.items');
  expect(Number(held?.['n'])).toBeGreaterThanOrEqual(Number(checkpoint['rows_declared']));
}

/** Restarts after a kill and proves what the restart gives. */
async function assertHeals(
  flow: Flow,
  state: CrashState,
  views: readonly (Outcome | undefined)[],
): Promise<void> {
  restoreCrashState(state, flow.folder);
  const held = existsSync(flow.duckdbPath) ? await readOutcome(flow.duckdbPath) : undefined;
  expect(views, 'what a reader sees after the kill').toContainEqual(held);
  await assertStateIsCovered(flow.stateDir);
  const staged = readStagedOffsets(flow.stateDir, 'items').filter((offset) => offset > 0);
  const report = await flow.sync();
  expect(report.error).toBeUndefined();
  expect(report).toMatchObject({ exitCode: 0, warnings: [] });
  expect(await readOutcome(flow.duckdbPath)).toEqual(views.at(-1));
  // No page that was paid for is asked for again; the look at the head says whether they still hold.
  const asked = offsetsOf(flow.arrivals);
  expect(asked.filter((offset) => staged.includes(offset))).toEqual([]);
}

async function assertEveryStateHeals(
  flow: Flow,
  before: Outcome | undefined,
): Promise<readonly CrashState[]> {
  const states = await collectCrashStates(
    flow.folder,
    () => flow.sync(),
    () => flow.simulator.log.length,
  );
  const after = await readOutcome(flow.duckdbPath);
  // Each in the soak; in daily runs a part of them, another one with each seed.
  const stride = chooseStride(10);
  const chosen = states.filter((_, at) => at % stride === seed % stride || at === states.length - 1);
  for (const state of chosen) {
    const where = `SLUICE_SEED=${seed}: killed before step ${state.step?.n ?? 'none'}, ${state.step?.name ?? 'at the end'}`;
    await assertHeals(flow, state, [before, after]).catch((error: unknown) => {
      throw new Error(where, { cause: error });
    });
  }
  return states;
}

describe('a process that is killed before any step', () => {
  it('of its first sync: the next run gives what an undisturbed one gives, and pays for no page twice', async () => {
    const flow = createItemsFlow(makeItems(120), { ...oneByOne, stream });
    const states = await assertEveryStateHeals(flow, undefined);
    expect(states.length).toBeGreaterThan(30);
  });

  it('of a later sync that changes columns, types and rows: the same', async () => {
    const flow = createItemsFlow(makeItems(120), { ...oneByOne, stream });
    expect((await flow.sync()).exitCode).toBe(0);
    const before = await readOutcome(flow.duckdbPath);
    await flow.clock.sleep(1.2 * DAY_MS);
    flow.simulator.editRecords('items', (records) => [
      ...makeItems(3, { from: 900 }).map((item) => ({
        ...item,
        amount: 1.25,
        note: { by: 'me', tags: ['a'] },
      })),
      ...records.slice(5).map((record) => ({ ...(record as object), name: 17 })),
    ]);
    await assertEveryStateHeals(flow, before);
    const { rows } = (await readOutcome(flow.duckdbPath)).tables['items'] ?? { rows: [] };
    expect(rows.some((row) => row['note__by'] === 'me')).toBe(true);
  });
});
