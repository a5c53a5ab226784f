import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { beforeRequest } from '../../src/simulator/faults.ts';
import { deleteRows, unauthorized } from '../../src/simulator/fault-effects.ts';
import { when } from '../../src/simulator/faults.ts';
import { compareWithApi, type CompareOptions } from '../../src/commands/verify/compare-api.ts';
import type { ComparedStream } from '../../src/model/reports.ts';
import { createSimulatorTransport } from '../support/simulator-transport.ts';
import {
  countScanRequests,
  createItemsFlow,
  type Flow,
  type ItemsOptions,
  makeItem,
  makeItems,
} from '../support/sync-harness.ts';

async function compare(flow: Flow, options: CompareOptions = {}) {
  const transport = createSimulatorTransport(flow.simulator, flow.clock, {});
  const report = await compareWithApi(flow.settings(), { transport, clock: flow.clock, ...options });
  return { report, items: report.streams[0] as ComparedStream };
}

async function createSynced(rows = 250, options: ItemsOptions = {}): Promise<Flow> {
  const flow = createItemsFlow(makeItems(rows), {
    ...options,
    stream: { key: ['id'], ...options.stream },
  });
  expect((await flow.sync()).exitCode).toBe(0);
  return flow;
}

/** Restates, removes and adds a record at the source. */
function change(flow: Flow): void {
  flow.simulator.editRecords('items', (records) => [
    ...records.slice(1, 200),
    { ...makeItem(200), name: 'restated', amount: 5 },
    ...records.slice(201),
    makeItem(777),
  ]);
}

describe('verify --against-api', () => {
  it('begins only where there is a published file', async () => {
    const begun: string[] = [];
    const none = createItemsFlow(makeItems(3), { stream: { key: ['id'] } });
    const compared = compare(none, { onBegin: () => begun.push('none') });
    await expect(compared).rejects.toThrow('there is no published file');
    await compare(await createSynced(3), { onBegin: () => begun.push('synced') });
    expect(begun).toEqual(['synced']);
  });

  it('finds a row with the key of another one, where the key was learned', async () => {
    const flow = await createSynced(40, { stream: { key: 'auto' } });
    flow.simulator.editRecords('items', (records) => [{ ...makeItem(7), name: 'a new row' }, ...records]);
    expect((await compare(flow)).items).toMatchObject({
      extent: 'exact',
      missing: 1,
      extra: 0,
      differs: true,
      notes: ['the learned key (date, id) is no longer unique: whole rows were compared'],
    });
    const sampled = await compare(await createSynced(250, { stream: { key: 'auto' } }), { maxRequests: 2 });
    expect(sampled.items).toMatchObject({ extent: 'sampled', differs: false, notes: [] });
    await flow.sync({ fullRefresh: true });
    expect((await compare(flow)).items).toMatchObject({ differs: false, notes: [] });
  });

  it('finds nothing where nothing differs, and is exact where the requests are enough', async () => {
    const flow = await createSynced();
    const { report, items } = await compare(flow);
    expect(items).toMatchObject({
      extent: 'exact',
      rowsDeclared: 250,
      rowsCompared: 250,
      rowsInTable: 250,
      missing: 0,
      extra: 0,
      differing: 0,
      examples: [],
      notes: [],
      error: undefined,
    });
    expect(report.requestsSpent).toBe(1 + countScanRequests(250));
    expect(readdirSync(flow.stateDir).filter((name) => name.startsWith('verify'))).toEqual([]);
  });

  it('finds nothing more where fields are called as they like', async () => {
    const lists = Object.fromEntries(['o', 'n', 's', 't', 'r'].map((name) => [name, [1, { id: 2 }]]));
    const flow = createItemsFlow(
      makeItems(120).map((item) => ({ ...item, ...lists })),
      { stream: { key: ['id'] } },
    );
    await flow.sync();
    expect((await compare(flow)).items).toMatchObject({
      missing: 0,
      extra: 0,
      differing: 0,
      error: undefined,
    });
  });

  it('names what differs', async () => {
    const flow = await createSynced();
    change(flow);
    const { items } = await compare(flow);
    expect(items).toMatchObject({ extent: 'exact', missing: 1, extra: 1, differing: 1 });
    expect(items.examples).toEqual([
      { what: 'missing', row: '{"id":777}', values: undefined },
      {
        what: 'differing',
        row: '{"id":200}',
        values: '{"name":["restated","item 200"],"amount":[5,800]}',
      },
      { what: 'extra', row: '{"id":0}', values: undefined },
    ]);
    expect(items.notes).toEqual([
      'rows that left the source are kept (deletes: keep): extra rows are not an error',
    ]);
  });

  it.each([true, false])(
    'finds a value in a field that the table has no column for (key: %s)',
    async (hasKey) => {
      const rows = makeItems(60).map(({ id, date }) => ({ ...(hasKey && { id }), date, kind: id % 3 }));
      const flow = createItemsFlow(rows.map((row) => ({ ...row, empty: null })));
      expect((await flow.sync()).exitCode).toBe(0);
      expect((await compare(flow)).items).toMatchObject({ differs: false, missing: 0, differing: 0 });
      flow.simulator.editRecords('items', (records) => records.with(7, { ...rows[7], empty: '', more: 1 }));
      const { items } = await compare(flow);
      expect(items).toMatchObject({ differs: true, ...(hasKey ? { differing: 1 } : { missing: 1 }) });
      expect(items.notes).toContain('the table has no column for empty, more yet');
    },
  );

  it('shows as many examples as it is asked for', async () => {
    const flow = await createSynced();
    flow.simulator.editRecords('items', () => makeItems(250, { from: 500 }));
    const { items } = await compare(flow, { show: 2 });
    expect(items).toMatchObject({ missing: 250, extra: 250 });
    expect(items.examples).toHaveLength(4);
  });

  it('samples pages spread over the scan where they are not, and says of how much', async () => {
    const flow = await createSynced(2_000);
    flow.simulator.editRecords('items', (records) =>
      records.map((record) => ({ ...(record as object), amount: -1 })),
    );
    const { report, items } = await compare(flow, { maxRequests: 5 });
    expect(report.requestsSpent).toBe(5);
    expect(items).toMatchObject({
      extent: 'sampled',
      rowsDeclared: 2_000,
      rowsCompared: 500,
      extra: undefined,
      missing: 0,
      differing: 500,
    });
    const offsets = flow.simulator.log
      .slice(-5)
      .map(({ query }) => Number(new URLSearchParams(query).get('offset')));
    expect(offsets).toEqual([0, 475, 950, 1_425, 1_900]);
  });

  it('compares whole rows where there is no key', async () => {
    const rows = makeItems(60).map(({ id, date }) => ({ date, kind: id % 3 }));
    const flow = createItemsFlow(rows);
    await flow.sync();
    expect((await compare(flow)).items).toMatchObject({ missing: 0, extra: 0 });
    flow.simulator.editRecords('items', (records) => [...records.slice(1), records[5]]);
    expect((await compare(flow)).items).toMatchObject({
      extent: 'exact',
      missing: 1,
      extra: 1,
      differing: 0,
    });
  });

  it('compares an unpaginated stream, a slice, and what is masked', async () => {
    const records = ['acme', 'globex'].flatMap((entity) =>
      makeItems(20).map((item) => ({ ...item, entity })),
    );
    const flow = createItemsFlow(records, {
      stream: {
        paginated: false,
        params: { entity: ['acme', 'globex'] },
        sliceBy: ['entity'],
        columns: { name: { hash: true }, amount: { exclude: true } },
      },
      endpoint: { paginated: false, filters: { entity: ['entity'] } },
      config: { defaults: { hashKey: 'a key of 16 letters' } },
    });
    expect((await flow.sync()).exitCode).toBe(0);
    const { report } = await compare(flow);
    expect(
      report.streams.map(({ slice, missing, extra, differing }) => [slice, missing, extra, differing]),
    ).toEqual([
      ['entity=acme', 0, 0, 0],
      ['entity=globex', 0, 0, 0],
    ]);
    flow.simulator.editRecords('items', (all) => all.map((item) => ({ ...(item as object), name: 'other' })));
    const { items } = await compare(flow);
    expect(items).toMatchObject({ differing: 20 });
    expect(JSON.stringify(items.examples)).not.toContain('other');
  });

  it('does not call rows extra when the data moves meanwhile', async () => {
    const flow = await createSynced();
    flow.simulator.setFaults([beforeRequest(3, (service) => service.editRecords('items', deleteRows(5)))]);
    const { items } = await compare(flow);
    expect(items).toMatchObject({ extent: 'sampled', extra: undefined });
    expect(items.notes[0]).toContain('the scan is drifted');
  });

  it('says what keeps it from comparing', async () => {
    const flow = await createSynced();
    flow.simulator.setFaults([when({}, unauthorized())]);
    expect((await compare(flow)).items).toMatchObject({ extent: 'none', error: { code: 'key_rejected' } });
    const never = createItemsFlow(makeItems(5));
    await expect(compare(never)).rejects.toMatchObject({ code: 'query_failed' });
  });
});
