import { describe, expect, it } from 'vitest';
import { expectRows } from '../support/published.ts';
import { createItemsFlow, makeItem, makeItems } from '../support/sync-harness.ts';

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

  it('replace removes the rows that left the source', async () => {
    const flow = createItemsFlow(makeItems(120), { stream: { write: 'replace' } });
    await flow.sync();
    flow.simulator.editRecords('items', (records) => records.slice(20));
    const report = await flow.sync({ force: true });
    expect(report.rows).toMatchObject({ deleted: 20, unchanged: 100 });
    expect(await flow.rows('items')).toEqual(expectRows(makeItems(120).slice(20)));
  });
});
