import { describe, expect, it } from 'vitest';
import { importState, resetState } from '../../src/commands/state/change-state.ts';
import { readState } from '../../src/commands/state/read-state.ts';
import { compareWithApi } from '../../src/commands/verify/compare-api.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { createSimulatorTransport } from '../support/simulator-transport.ts';
import {
  createItemsFlow,
  DAY_MS,
  type Flow,
  type FlowConfig,
  makeItems,
  noBuiltIns,
} from '../support/sync-harness.ts';

// The archive of a stream without slices, and those of its slices, hold the same rows of different days.

const base = { path: 'items', paginated: true, key: ['id'], cursor: false } as const;
const inSlices = { params: { entity: ['acme', 'globex'] }, sliceBy: ['entity'] };
const configOf = (items: NonNullable<FlowConfig['streams']>[string]): FlowConfig => ({
  streams: { ...noBuiltIns, items },
});
const whole = configOf(base);
const sliced = configOf({ ...base, ...inSlices });
const records = ['acme', 'globex'].flatMap((entity, at) =>
  makeItems(20, { from: at * 20 }).map((item) => ({ ...item, entity })),
);

async function syncNextDay(flow: Flow, config: FlowConfig): Promise<void> {
  await flow.clock.sleep(DAY_MS);
  flow.simulator.advanceDay();
  flow.simulator.editRecords('items', ([first, ...others]) => [
    { ...(first as object), name: `restated ${flow.simulator.log.length}` },
    ...others,
  ]);
  const report = await flow.sync({ config, fullRefresh: true });
  expect(report.exitCode, report.streams[0]?.error?.message).toBe(0);
}

describe('a rebuild by rules that read the stream in other parts than its last sync', () => {
  it.each([
    ['as a whole, after slices', [whole, sliced], whole],
    ['in slices, after the whole', [sliced, whole], sliced],
  ] as const)('brings back no older values: %s', async (_, before, now) => {
    const flow = createItemsFlow(records, { endpoint: { filters: { entity: ['entity'] } } });
    for (const config of before) await syncNextDay(flow, config);
    const read = 'SELECT * FROM main.items ORDER BY ALL';
    const held = await flow.query(read);
    expect(await flow.rebuild({ config: now })).toMatchObject({
      exitCode: 0,
      streams: [{ status: 'empty' }],
    });
    expect(await flow.query(read)).toEqual(held);
    await syncNextDay(flow, now);
    expect(await flow.rebuild({ config: now })).toMatchObject({
      exitCode: 0,
      streams: [{ status: 'rebuilt' }],
    });
  });
});

describe('a stream that was read as a whole and is cut into slices', () => {
  it('is verified where a slice has no key, as its rows came to repeat the one of the whole', async () => {
    const { key: _, ...keyless } = base;
    const slices = { ...keyless, ...inSlices };
    const all = [...records, ...makeItems(5, { from: 90 }).map((item) => ({ ...item, entity: 'initech' }))];
    const flow = createItemsFlow(all, { endpoint: { filters: { entity: ['entity'] } } });
    await syncNextDay(flow, configOf(keyless));
    flow.simulator.editRecords('items', (held) => [...held, { ...(held[3] as object), name: 'a twin' }]);
    await syncNextDay(flow, configOf(slices));
    const settings = flow.settings(configOf(slices));
    expect(await verifyState(settings, { clock: flow.clock })).toMatchObject({ exitCode: 0 });
    const { state } = await readState(settings, { clock: flow.clock });
    const confirmed = { confirm: () => Promise.resolve(true), clock: flow.clock };
    await resetState(settings, confirmed);
    expect(await importState(settings, JSON.stringify(state), confirmed)).toMatchObject({ cancelled: false });
    expect((await readState(settings, { clock: flow.clock })).state.checkpoints).toHaveLength(3);
  });
});

describe('an appended stream that was read as a whole and is cut into slices', () => {
  it.each([
    ['with a key', base],
    ['without one', { path: 'items', paginated: true, cursor: false }],
  ] as const)('has the rows of its slices, which keep their values: %s', async (_, stream) => {
    const appended = { ...stream, write: 'append', history: true } as const;
    const one = configOf({ ...appended, params: { entity: ['acme'] }, sliceBy: ['entity'] });
    const flow = createItemsFlow(records, { endpoint: { filters: { entity: ['entity'] } } });
    await syncNextDay(flow, configOf(appended));
    const values = 'SELECT id, name, entity FROM main.items ORDER BY ALL';
    const before = await flow.query(values);
    const report = await flow.sync({ config: one, fullRefresh: true });
    expect(report.streams).toMatchObject([
      { verdict: 'verified', rows: { inserted: 0, updated: 20, unchanged: 0 }, rowsInTable: 20 },
    ]);
    expect(await flow.query(values)).toEqual(before);
    expect(
      await flow.query(
        `SELECT coalesce(_slice, '') AS slice, count(*)::INTEGER AS n FROM main.items_history WHERE _valid_to IS NULL GROUP BY ALL ORDER BY ALL`,
      ),
    ).toEqual([
      { slice: '', n: 20 },
      { slice: 'entity=acme', n: 20 },
    ]);
    const transport = createSimulatorTransport(flow.simulator, flow.clock, {});
    const compared = await compareWithApi(flow.settings(one), { transport, clock: flow.clock });
    expect(compared.streams).toMatchObject([{ extent: 'exact', rowsInTable: 20, differs: false }]);
    expect(await flow.sync({ config: one, fullRefresh: true })).toMatchObject({
      streams: [{ rows: { inserted: 0, updated: 0, unchanged: 20 } }],
    });
  });
});

describe('an appended row that changed before the stream was cut into slices', () => {
  it('keeps its values in the slice that reads it', async () => {
    const appended = { ...base, write: 'append' } as const;
    const flow = createItemsFlow(records, { endpoint: { filters: { entity: ['entity'] } } });
    await syncNextDay(flow, configOf(appended));
    flow.simulator.editRecords('items', ([first, ...others]) => [
      { ...(first as object), name: 'changed since' },
      ...others,
    ]);
    const one = configOf({ ...appended, params: { entity: ['acme'] }, sliceBy: ['entity'] });
    expect(await flow.sync({ config: one, fullRefresh: true })).toMatchObject({
      streams: [{ verdict: 'verified', rows: { inserted: 0, updated: 20 }, rowsInTable: 20 }],
    });
    const changed = "SELECT count(*)::INTEGER AS n FROM main.items WHERE name = 'changed since'";
    expect(await flow.query(changed)).toEqual([{ n: 0 }]);
  });
});

describe('a rebuild of a stream whose rows mostly belong to no slice of the config', () => {
  it('keeps the rows of row groups in which no row has a slice', async () => {
    // The slice of the config has no rows, so that no row of the table gets it.
    const one = { ...base, write: 'append', params: { entity: ['initech'] }, sliceBy: ['entity'] } as const;
    const flow = createItemsFlow(records, { endpoint: { filters: { entity: ['entity'] } } });
    await syncNextDay(flow, configOf({ ...base, write: 'append' }));
    await syncNextDay(flow, configOf(one));
    const rebuilt = await flow.rebuild({ config: configOf(one) });
    expect(rebuilt).toMatchObject({ exitCode: 0, streams: [{ status: 'rebuilt', rowsAfter: 40 }] });
    expect(await flow.query('SELECT count(DISTINCT id)::INTEGER AS n FROM main.items')).toEqual([{ n: 40 }]);
  });
});
