import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  createItemsFlow,
  DAY_MS,
  type Flow,
  type FlowConfig,
  HOUR_MS,
  makeItem,
  makeItems,
  noBuiltIns,
  streamOf,
} from '../support/sync-harness.ts';

type StreamInput = NonNullable<FlowConfig['streams']>[string];

const FROM = '2026-01-04';
const endpoint = { dateField: 'date' };
const dated: StreamInput = { key: ['id'], cursor: { field: 'date', param: 'startDate' } };

/** The same stream with other settings. */
const configOf = (stream: StreamInput): FlowConfig => ({
  streams: { ...noBuiltIns, items: { path: 'items', paginated: true, ...dated, ...stream } },
});

async function createSynced(stream: StreamInput = {}): Promise<Flow> {
  const flow = createItemsFlow(makeItems(250), { endpoint, stream: { ...dated, ...stream } });
  expect((await flow.sync()).exitCode).toBe(0);
  return flow;
}

/** Restates every record; the days that `FROM` leaves out too. */
function restateAll(flow: Flow): void {
  flow.simulator.editRecords('items', (records) =>
    records.map((record) => ({ ...(record as object), name: 'restated' })),
  );
}

async function countRestated(flow: Flow): Promise<unknown> {
  const [row] = await flow.query(`SELECT count(*)::INTEGER AS n FROM items WHERE name = 'restated'`);
  return row?.['n'];
}

describe('a part that was asked for with --from', () => {
  it('leaves a stream as unfinished as it was before', async () => {
    const flow = await createSynced();
    restateAll(flow);
    await flow.sync({ limit: 100, force: true });
    expect(streamOf(await flow.sync({ from: FROM })).verdict).toBe('verified');
    const [checkpoint] = await flow.query('SELECT last_verdict FROM _sluice.checkpoints');
    expect(checkpoint).toEqual({ last_verdict: 'partial' });
    expect((await flow.sync()).requests).toBeGreaterThan(0);
  });

  it('does not let a stream whose rules changed be skipped', async () => {
    const flow = await createSynced();
    flow.simulator.editRecords('items', (records) => records.slice(0, -3));
    await flow.sync({ force: true });
    const config = configOf({ deletes: 'hard' });
    await flow.sync({ from: '2026-01-05', config });
    flow.simulator.editRecords('items', (records) => records.slice(0, -2));
    expect((await flow.sync({ config })).requests).toBeGreaterThan(0);
    expect(await flow.rows('items')).toHaveLength(245);
  });

  it('is part of what skipUnchanged compares', async () => {
    const before = makeItems(250);
    const flow = await createSynced({ skipUnchanged: true, deletes: 'hard' });
    await flow.sync({ force: true });
    restateAll(flow);
    await flow.sync({ from: '2026-01-02' });
    flow.simulator.editRecords('items', () => before);
    await flow.clock.sleep(2 * HOUR_MS);
    await flow.sync();
    expect(await countRestated(flow)).toBe(0);
  });
});

describe('a rebuild', () => {
  it.each([false, true])(
    'leaves the full scan to come that a changed cursor asks for; the state is lost: %s',
    async (isStateLost) => {
      const flow = createItemsFlow(
        makeItems(250).map((item) => ({ ...item, updated: item.date })),
        { endpoint, stream: dated },
      );
      for (let day = 0; day < 3; day += 1) {
        await flow.sync();
        await flow.clock.sleep(DAY_MS);
      }
      const config = configOf({ cursor: { field: 'updated', param: 'startDate' } });
      if (isStateLost) for (const file of [join(flow.stateDir, 'work.duckdb'), flow.duckdbPath]) rmSync(file);
      expect((await flow.rebuild({ config })).exitCode).toBe(0);
      expect(streamOf(await flow.sync({ config })).mode).toBe('full');
      expect(streamOf(await flow.sync({ force: true, config })).mode).toBe('incremental');
    },
  );

  it('by a key that records share leaves them unverified', async () => {
    const twice = [...makeItems(250), { ...makeItem(3), date: '2026-01-05' }];
    const flow = createItemsFlow(twice, { endpoint, stream: { ...dated, key: ['id', 'date'] } });
    expect(streamOf(await flow.sync()).verdict).toBe('verified');
    const config = configOf({});
    await flow.rebuild({ config });
    const [checkpoint] = await flow.query('SELECT last_verdict, whole_at FROM _sluice.checkpoints');
    expect(checkpoint).toEqual({ last_verdict: 'unverified' });
    expect((await flow.sync({ config })).requests).toBeGreaterThan(0);
  });

  it('by other columns keeps what was proved', async () => {
    const flow = await createSynced();
    await flow.clock.sleep(DAY_MS);
    const config = configOf({ columns: { amount: { exclude: true } } });
    await flow.rebuild({ config });
    expect(streamOf(await flow.sync({ config })).mode).toBe('incremental');
  });
});
