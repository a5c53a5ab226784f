import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { globOf, lakeTableOf, queryFiles } from '../support/read-lake.ts';
import { chooseStride, seed } from '../support/seeds.ts';
import { createItemsFlow, DAY_MS, type Flow, HOUR_MS, makeItem, makeItems } from '../support/sync-harness.ts';
import { collectCrashStates, restoreCrashState } from './crash-states.ts';

const stream = { key: ['id'], cursor: { field: 'date' } };
const config = { quota: { burstPerSecond: 1 }, destination: { parquet: './lake' } };
const FACTS = 'SELECT count(*) AS n, sum(hash(id, date, name, amount))::VARCHAR AS sum FROM';

/** What readers see by the plain pattern, and by the views; undefined before there is anything. */
async function readViews(lake: string) {
  const byGlob = existsSync(join(lake, 'items', 'current'))
    ? await queryFiles(`${FACTS} ${globOf(lake)}`)
    : undefined;
  const catalog = join(lake, 'lake.duckdb');
  const byView = existsSync(catalog) ? await queryFiles(`${FACTS} items`, catalog) : undefined;
  return { byGlob: byGlob?.[0], byView: byView?.[0] };
}

async function assertEveryStateHeals(flow: Flow): Promise<number> {
  const lake = join(flow.folder, 'lake');
  const before = await readViews(lake);
  const states = await collectCrashStates(
    flow.folder,
    () => flow.sync({ force: true }),
    () => flow.simulator.log.length,
  );
  const after = await readViews(lake);
  expect(after.byGlob).toEqual(after.byView);
  expect(after.byGlob).not.toEqual(before.byGlob);
  const ofLake = states.filter(({ step }, at) => at === states.length - 1 || step !== undefined);
  const stride = chooseStride(24);
  const chosen = ofLake.filter((_, at) => at % stride === seed % stride || at === ofLake.length - 1);
  for (const state of chosen) {
    const where = `SLUICE_SEED=${seed}: killed before step ${state.step?.n ?? 'none'}, ${state.step?.name ?? 'at the end'}`;
    restoreCrashState(state, flow.folder);
    const seen = await readViews(lake);
    expect([before.byGlob, after.byGlob], where).toContainEqual(seen.byGlob);
    expect([before.byView, after.byView], where).toContainEqual(seen.byView);
    const report = await flow.sync({ force: true });
    expect(report, where).toMatchObject({ exitCode: 0, warnings: [] });
    expect(await readViews(lake), where).toEqual(after);
  }
  return states.length;
}

describe('a process that is killed before any step of a publish', () => {
  it('of its first lake: readers find nothing or all of it, and the next run repairs it', async () => {
    const flow = createItemsFlow(makeItems(30, { perDay: 10 }), { stream, config });
    expect(await assertEveryStateHeals(flow)).toBeGreaterThan(40);
  });

  it('of a lake with changed and new folders: readers find the one or the other', async () => {
    const flow = createItemsFlow(makeItems(30, { perDay: 10 }), { stream, config });
    expect((await flow.sync()).exitCode).toBe(0);
    await flow.clock.sleep(1.2 * DAY_MS);
    flow.simulator.editRecords('items', (records) => [
      ...records.slice(0, -1),
      { ...makeItem(29, 10), amount: -1 },
      makeItem(30, 10),
      makeItem(31, 10),
    ]);
    expect(await assertEveryStateHeals(flow)).toBeGreaterThan(40);
    // Whatever killed runs left is gone once its time is over.
    await flow.clock.sleep(2 * HOUR_MS);
    flow.simulator.editRecords('items', (records) => [...records, makeItem(32, 10)]);
    expect((await flow.sync({ force: true })).exitCode).toBe(0);
    const lake = join(flow.folder, 'lake');
    const { generation, retired } = lakeTableOf(lake);
    const known = [generation, ...retired.map((one) => one.generation)];
    expect(readdirSync(join(lake, '_generations', 'items')).toSorted()).toEqual(known.toSorted());
    expect(readdirSync(lake).toSorted()).toEqual(['_generations', 'items', 'lake.duckdb', 'manifest.json']);
  });
});
