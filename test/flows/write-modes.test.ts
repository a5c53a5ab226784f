import { describe, expect, it } from 'vitest';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { expectRows } from '../support/published.ts';
import {
  createItemsFlow,
  type Flow,
  makeItem,
  makeItems,
  noBuiltIns,
  streamOf,
} from '../support/sync-harness.ts';

async function findFaults(flow: Flow) {
  const { items } = await verifyState(flow.settings(), { clock: flow.clock });
  return items.filter(({ status }) => status === 'failed');
}

describe('write modes', () => {
  it('append never changes a row that is there', async () => {
    const flow = createItemsFlow(makeItems(120), { stream: { cursor: false, key: ['id'], write: 'append' } });
    await flow.sync();
    flow.simulator.editRecords('items', (records) =>
      [...records, makeItem(500)].map((record) => ({ ...(record as object), name: 'changed' })),
    );
    const report = await flow.sync({ force: true });
    expect(report.rows).toMatchObject({ inserted: 1, updated: 0, unchanged: 120 });
    expect(await flow.query(`SELECT count(*) AS n FROM main.items WHERE name = 'changed'`)).toEqual([
      { n: 1 },
    ]);
  });

  it.each([
    ['while it was twice in the source', { cursor: false as const }, makeItem(7, 2)],
    ['with another date', {}, { ...makeItem(7, 2), date: '2026-01-29' }],
  ])('append learns no key that rows repeat: one came %s', async (_, stream, repeated) => {
    const rows = makeItems(60, { perDay: 2 });
    const flow = createItemsFlow(rows, {
      stream: { ...stream, write: 'append' },
      endpoint: { dateField: 'date' },
    });
    const edit = (change: (records: readonly unknown[]) => readonly unknown[]) =>
      flow.simulator.editRecords('items', change);
    expect(streamOf(await flow.sync()).key?.columns).toEqual(['id']);
    edit((records) => [...records, repeated]);
    await flow.sync({ fullRefresh: true });
    edit((records) => records.slice(0, -1));
    const report = streamOf(await flow.sync({ fullRefresh: true }));
    expect(report).toMatchObject({ verdict: 'verified' });
    expect(report.key?.columns).not.toEqual(['id']);
    expect(await findFaults(flow)).toEqual([]);
    expect(await flow.rows('items')).toEqual(expectRows([...rows, repeated]));
  });

  it('append refuses a key that its rows repeat, and takes it once they are rebuilt', async () => {
    const rows = makeItems(60, { perDay: 2 });
    const stream = { path: 'items', paginated: true, write: 'append', cursor: false } as const;
    const flow = createItemsFlow(rows, { stream });
    await flow.sync();
    flow.simulator.editRecords('items', (records) => [...records, makeItem(7, 2)]);
    await flow.sync({ fullRefresh: true });
    flow.simulator.editRecords('items', (records) => records.slice(0, -1));
    await flow.sync({ fullRefresh: true });
    const config = { streams: { ...noBuiltIns, items: { ...stream, key: ['id'] } } };
    const refused = await flow.sync({ fullRefresh: true, config });
    expect(refused.exitCode).toBe(2);
    expect(streamOf(refused).error?.message).toBe(
      'items: rows of the table repeat the key (id), or have no value for it, and write: append keeps all of them',
    );
    expect(await flow.query('SELECT count(*) AS n FROM main.items')).toEqual([{ n: 61 }]);
    expect(await flow.rebuild({ config })).toMatchObject({ exitCode: 0 });
    expect(await findFaults(flow)).toEqual([]);
    expect(await flow.rows('items')).toEqual(expectRows(rows));
    expect(await flow.sync({ fullRefresh: true, config })).toMatchObject({ exitCode: 0 });
    expect(await findFaults(flow)).toEqual([]);
  });

  it('replace removes the rows that left the source', async () => {
    const flow = createItemsFlow(makeItems(120), { stream: { write: 'replace' } });
    await flow.sync();
    flow.simulator.editRecords('items', (records) => records.slice(20));
    const report = await flow.sync({ force: true });
    expect(report.rows).toMatchObject({ deleted: 20, unchanged: 100 });
    expect(await flow.rows('items')).toEqual(expectRows(makeItems(120).slice(20)));
  });
});
