import { describe, expect, it } from 'vitest';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { listCompressed } from '../../src/warehouse/copy-table.ts';
import { openPublished } from '../../src/warehouse/query-published.ts';
import { askAll } from '../simulator/ask.ts';
import { expectRows } from '../support/published.ts';
import { createItemsFlow, type Flow, makeItems } from '../support/sync-harness.ts';

const ROWS = 300;
const LONG = 'x'.repeat(20_000);

/** Every record with a field in which few have a value. */
function withNotes(note: (id: number) => unknown) {
  return makeItems(ROWS).map((item, id) => ({ ...item, note: note(id) ?? null }));
}

async function findCompressed(flow: Flow, table = 'items'): Promise<readonly string[]> {
  const database = await openPublished(flow.duckdbPath);
  try {
    return [...(await listCompressed(database, table))];
  } finally {
    await database.release();
  }
}

describe('a column of texts', () => {
  it.each([
    ['short texts', (id: number) => (id === 7 ? 'short' : null), []],
    ['a long text', (id: number) => (id === 7 ? LONG : null), ['note']],
    ['lists of numbers', (id: number) => [id % 3], []],
    ['lists of objects', (id: number) => [{ url: `https://example.com/${id}` }], ['note']],
  ])('that begins with %s is compressed only if that takes less', async (_, note, expected) => {
    const flow = createItemsFlow(withNotes(note));
    expect(await flow.sync()).toMatchObject({ exitCode: 0 });
    expect(await findCompressed(flow)).toEqual(expected);
    expect(await flow.rows('items')).toEqual(expectRows(askAll(flow.simulator, 'items')));
  });

  it.each([
    ['text', LONG],
    ['list', [LONG]],
  ])('gets its first long %s after years of short ones: it is compressed first', async (kind, long) => {
    const short = kind === 'text' ? 'short' : ['short'];
    const flow = createItemsFlow(
      withNotes((id) => (id % 100 === 0 ? short : null)),
      {
        stream: { history: true },
      },
    );
    expect(await flow.sync()).toMatchObject({ exitCode: 0 });
    expect(await findCompressed(flow)).toEqual([]);
    flow.simulator.editRecords('items', (records) =>
      records.map((record, at) => (at === 250 ? { ...(record as object), note: long } : record)),
    );
    expect(await flow.sync({ force: true })).toMatchObject({ exitCode: 0, rows: { updated: 1 } });
    expect(await findCompressed(flow)).toEqual(['note']);
    expect(await findCompressed(flow, 'items_history')).toEqual(['note']);
    expect(await flow.rows('items')).toEqual(expectRows(askAll(flow.simulator, 'items')));
    expect(await verifyState(flow.settings(), { clock: flow.clock })).toMatchObject({ ok: true });
  });
});
