import { describe, expect, it } from 'vitest';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { openPublished } from '../../src/warehouse/query-published.ts';
import { createItemsFlow, type Flow, type ItemsOptions, makeItems } from '../support/sync-harness.ts';

const ROWS = 300;
const LONG = 'x'.repeat(100_000);

/** Every record with a field in which few have a value. */
function withNotes(note: (id: number) => unknown, more: object = {}) {
  return makeItems(ROWS).map((item, id) => ({ ...item, ...more, note: note(id) ?? null }));
}

/** How the columns are compressed that have the notes: a column of the table, or the one beside it. */
async function listCompressions(flow: Flow, table = 'items'): Promise<readonly unknown[]> {
  const database = await openPublished(flow.duckdbPath);
  try {
    const rows = await database.all(
      `SELECT DISTINCT compression FROM pragma_storage_info('main.${table}')
         WHERE segment_type <> 'VALIDITY' AND column_name IN ('note', 'note__text') AND compression NOT IN ('Constant', 'DICT_FSST')`,
    );
    return rows.map(({ compression }) => compression);
  } finally {
    await database.release();
  }
}

const wide = Object.fromEntries(Array.from({ length: 510 }, (_, at) => [`c${at}`, at]));
const first: Readonly<Record<string, [value: unknown, more?: object, stream?: ItemsOptions['stream']]>> = {
  'a text': [LONG],
  'a list': [[LONG]],
  'a list of objects': [[{ text: LONG }]],
  'a text of a column that config types': [LONG, {}, { columns: { note: { type: 'VARCHAR' } } }],
  'a text that such a type does not hold': [LONG, {}, { columns: { note: { type: 'BIGINT' } } }],
  'a text in a table of 510 columns': [LONG, wide],
};

describe('one long value in a column that few rows fill', () => {
  it.each(Object.entries(first))('%s, is compressed', async (_, [value, more, stream = {}]) => {
    const flow = createItemsFlow(
      withNotes((id) => (id === 7 ? value : null), more),
      { stream },
    );
    expect(await flow.sync()).toMatchObject({ exitCode: 0 });
    expect(await listCompressions(flow)).toEqual(['ZSTD']);
  });

  it.each([
    ['short texts', 'short', LONG],
    ['lists', ['short'], [LONG]],
    ['numbers', 3, LONG],
  ])('is compressed after %s, in the history too', async (_, short, long) => {
    const flow = createItemsFlow(
      withNotes((id) => (id % 100 === 0 ? short : null)),
      { stream: { history: true } },
    );
    expect(await flow.sync()).toMatchObject({ exitCode: 0 });
    expect(await listCompressions(flow)).not.toContain('ZSTD');
    flow.simulator.editRecords('items', (records) =>
      records.map((record, at) => (at === 250 ? { ...(record as object), note: long } : record)),
    );
    expect(await flow.sync({ force: true })).toMatchObject({ exitCode: 0, rows: { updated: 1 } });
    expect(await listCompressions(flow)).toEqual(['ZSTD']);
    expect(await listCompressions(flow, 'items_history')).toEqual(['ZSTD']);
    expect(await verifyState(flow.settings(), { clock: flow.clock })).toMatchObject({ ok: true });
  });
});

it.each(['VARCHAR', 'BIGINT', 'BOOLEAN', 'JSON'] as const)(
  'a column with a long text can be made %s later, and be filled again',
  async (type) => {
    const flow = createItemsFlow(withNotes((id) => (id === 7 ? LONG : null)));
    expect(await flow.sync()).toMatchObject({ exitCode: 0 });
    const config = { streams: { items: { path: 'items', paginated: true, columns: { note: { type } } } } };
    expect(await flow.sync({ config, force: true })).toMatchObject({ exitCode: 0, rows: { read: ROWS } });
    expect(await listCompressions(flow)).toEqual(['ZSTD']);
    expect(await verifyState(flow.settings(config), { clock: flow.clock })).toMatchObject({ ok: true });
  },
);
