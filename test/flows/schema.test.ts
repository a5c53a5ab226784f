import { describe, expect, it } from 'vitest';
import { rewriteEnvelope } from '../../src/simulator/fault-effects.ts';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { expectRows } from '../support/published.ts';
import {
  createItemsFlow,
  type Flow,
  type ItemsOptions,
  makeItems,
  streamOf,
} from '../support/sync-harness.ts';

/** Records 0 to 249; those of the third page on are changed. */
function withLater(change: (item: Record<string, unknown>, id: number) => object) {
  return makeItems(250).map((item) => (item.id < 220 ? item : change({ ...item }, item.id)));
}

async function syncItems(records: readonly unknown[], options: ItemsOptions = {}): Promise<Flow> {
  const flow = createItemsFlow(records, { ...options, stream: { cursor: false, ...options.stream } });
  const report = await flow.sync();
  expect(report.exitCode, streamOf(report).error?.message).toBe(0);
  return flow;
}

/** Serves other records from now on, and syncs them. */
async function resync(flow: Flow, records: readonly unknown[]) {
  flow.simulator.editRecords('items', () => records);
  const report = await flow.sync({ force: true });
  expect(report.exitCode, streamOf(report).error?.message).toBe(0);
  return report;
}

const typeOf = async (flow: Flow, column: string) => (await flow.table('items')).columns[column];
const valueOf = async (flow: Flow, column: string, id: number) =>
  (await flow.query(`SELECT "${column}" AS value FROM main.items WHERE id = ${id}`))[0]?.['value'];

describe('types that only a later page shows', () => {
  it.each<[string, (id: number) => unknown, string, unknown]>([
    ['whole numbers, then fractions', (id) => id + 0.5, 'DOUBLE', 230.5],
    ['whole numbers, then text', (id) => `n/a ${id}`, 'VARCHAR', 'n/a 230'],
    ['whole numbers, then huge ones', (id) => rawJson(`90071992547411${id}`), 'BIGINT', '90071992547411230'],
    ['whole numbers, then an object', (id) => ({ of: id }), 'JSON', { of: 230 }],
    ['whole numbers, then an array', (id) => [id], 'JSON', [230]],
    ['whole numbers, then nulls', () => null, 'BIGINT', undefined],
    ['whole numbers, then true', () => true, 'VARCHAR', 'true'],
  ])('decide for the whole scan: %s', async (_, make, type, value) => {
    const records = withLater((item, id) => ({ ...item, amount: make(id) }));
    const flow = await syncItems(records);
    expect(await typeOf(flow, 'amount')).toBe(type);
    expect(await valueOf(flow, 'amount', 230)).toEqual(value);
    expect(await flow.rows('items')).toHaveLength(250);
  });

  it('add the fields that only some records have', async () => {
    const records = withLater((item, id) => ({ ...item, late: id, nested: { deep: { value: `v${id}` } } }));
    const flow = await syncItems(records);
    expect(await flow.rows('items')).toEqual(expectRows(records));
    expect(await valueOf(flow, 'nested__deep__value', 240)).toBe('v240');
  });

  it('keep text that only looks like a number, a date or a time', async () => {
    const records = [
      { id: 1, zip: '00123', day: '2026-01-31', at: '12:30', uuid: '7d444840-9dc0-11d1-b245-5ffdce74fad2' },
      { id: 2, zip: '4', day: '2026-02-30', at: '07:00', uuid: '7d444840-9dc0-11d1-b245-5ffdce74fad3' },
    ];
    const flow = await syncItems(records);
    expect(await flow.rows('items')).toEqual(expectRows(records));
    expect((await flow.table('items')).columns).toMatchObject({
      zip: 'VARCHAR',
      day: 'VARCHAR',
      at: 'VARCHAR',
    });
  });
});

describe('types that a later run shows', () => {
  const before = makeItems(120);

  it.each<[string, unknown, string, unknown]>([
    ['a fraction', 0.25, 'DOUBLE', 0.25],
    ['text', 'none', 'VARCHAR', 'none'],
    [
      'a wide integer',
      rawJson('123456789012345678901234567890'),
      'HUGEINT',
      '123456789012345678901234567890',
    ],
  ])('widen the column without a loss: %s', async (_, value, type, published) => {
    const flow = await syncItems(before);
    const report = await resync(flow, [...before, { ...before[0], id: 500, amount: value }]);
    expect(streamOf(report).schemaChanges).toContainEqual(
      expect.objectContaining({ column: 'amount', change: 'widened', fromType: 'BIGINT', toType: type }),
    );
    expect(await typeOf(flow, 'amount')).toBe(type);
    expect(await valueOf(flow, 'amount', 500)).toEqual(published);
    const old = await flow.query(
      'SELECT count(*) AS n FROM main.items WHERE amount::VARCHAR::DOUBLE IS NOT NULL AND id < 120',
    );
    expect(old).toEqual([{ n: 120 }]);
    expect(
      await flow.query(`SELECT change, to_type FROM _sluice.schema_changes WHERE from_type IS NOT NULL`),
    ).toEqual([{ change: 'widened', to_type: type }]);
  });

  it('rewrite no row that only had its column widened', async () => {
    const flow = await syncItems(before);
    const report = await resync(flow, [...before, { ...before[0], id: 500, amount: 0.5 }]);
    expect(report.rows).toMatchObject({ inserted: 1, updated: 0, unchanged: 120 });
  });

  it('add a column next to one that cannot be widened without a loss', async () => {
    const dated = before.map((item) => ({ ...item, seen: '2026-01-31T10:00:00Z' }));
    const flow = await syncItems(dated);
    const other = [...dated, { ...dated[0], id: 500, seen: 'yesterday' }];
    const report = await resync(flow, other);
    expect(report.warnings).toEqual([
      expect.stringMatching(
        /^seen has values that its column, a TIMESTAMPTZ, cannot hold: they are in seen__text\. .+ rebuild items$/,
      ),
    ]);
    expect((await resync(flow, other)).warnings).toEqual([]);
    expect(await typeOf(flow, 'seen')).toBe('TIMESTAMP WITH TIME ZONE');
    expect(await valueOf(flow, 'seen__text', 500)).toBe('yesterday');
    expect(await valueOf(flow, 'seen', 5)).toBe('2026-01-31T10:00:00Z');
    // As the warning says, without a request.
    const text = {
      streams: { items: { path: 'items', paginated: true, columns: { seen: { type: 'VARCHAR' as const } } } },
    };
    expect(await flow.rebuild({ config: text })).toMatchObject({
      exitCode: 0,
      streams: [{ status: 'rebuilt' }],
    });
    expect(await typeOf(flow, 'seen')).toBe('VARCHAR');
    expect(await typeOf(flow, 'seen__text')).toBeUndefined();
    expect(await valueOf(flow, 'seen', 500)).toBe('yesterday');
    expect(await valueOf(flow, 'seen', 5)).toBe('2026-01-31T10:00:00Z');
  });

  it('take an object where a scalar was, and a scalar where an object was', async () => {
    const flow = await syncItems(before.map((item) => ({ ...item, a: 1, b: { c: 2 } })));
    const report = await resync(flow, [
      ...before.map((item) => ({ ...item, a: 1, b: { c: 2 } })),
      { ...before[0], id: 500, a: { x: 1 }, b: 'plain' },
    ]);
    expect(report.rows.inserted).toBe(1);
    const [row] = await flow.query('SELECT * FROM main.items WHERE id = 500');
    const text = JSON.stringify(row);
    expect(text).toContain('plain');
    expect(text).toMatch(/x.{1,6}1/);
    expect(await valueOf(flow, 'b__c', 7)).toBe(2);
  });

  it('keep a column whose field vanished, with null for new rows', async () => {
    const flow = await syncItems(before);
    const { amount: _gone, ...rest } = { ...before[0], amount: 0 };
    const report = await resync(flow, [...before, { ...rest, id: 500 }]);
    expect(report.rows).toMatchObject({ inserted: 1, unchanged: 120 });
    await resync(
      flow,
      before.map(({ amount: _amount, ...item }) => item),
    );
    expect(await typeOf(flow, 'amount')).toBe('BIGINT');
    expect(await valueOf(flow, 'amount', 3)).toBeUndefined();
  });

  it('begin a column that held only nulls with its first value', async () => {
    const empty = before.map((item) => ({ ...item, note: null }));
    const flow = await syncItems(empty);
    expect(await typeOf(flow, 'note')).toBeUndefined();
    await resync(
      flow,
      empty.map((item) => (item.id === 5 ? { ...item, note: '2026-01-01' } : item)),
    );
    expect(await typeOf(flow, 'note')).toBe('DATE');
    expect(await valueOf(flow, 'note', 5)).toBe('2026-01-01');
  });

  it('leave the same table whichever order the runs came in', async () => {
    const other = before.map((item) => ({ ...item, amount: item.id / 2, extra: true }));
    const one = await syncItems(before);
    await resync(one, other);
    const two = await syncItems(other);
    expect(await one.rows('items')).toEqual(await two.rows('items'));
    expect(await typeOf(one, 'amount')).toBe(await typeOf(two, 'amount'));
  });
});

describe('values that are hard to keep', () => {
  it('arrive exactly: wide integers, long decimals, exponents, minus zero', async () => {
    const records = [
      rawJson(
        '{"id":1,"wide":9007199254740993,"huge":18446744073709551616,"long":0.1234567890123456789,"far":1e400}',
      ),
      rawJson('{"id":2,"wide":-9007199254740993,"huge":-18446744073709551616,"long":2.5,"far":-0}'),
    ];
    const flow = await syncItems(records);
    const { rows, columns } = await flow.table('items');
    expect(columns).toMatchObject({ wide: 'BIGINT', huge: 'HUGEINT' });
    expect(rows.map((row) => [row['wide'], row['huge'], String(row['long']), String(row['far'])])).toEqual([
      ['9007199254740993', '18446744073709551616', '0.1234567890123456789', '1e400'],
      ['-9007199254740993', '-18446744073709551616', expect.stringMatching(/^2\.50*$/) as string, '-0'],
    ]);
  });

  it('arrive exactly inside arrays', async () => {
    const flow = await syncItems([rawJson('{"id":1,"list":[9007199254740993,1.10]}'), { id: 2, list: [] }]);
    expect(await flow.query('SELECT list::VARCHAR AS text FROM main.items ORDER BY id')).toEqual([
      { text: '[9007199254740993,1.1]' },
      { text: '[]' },
    ]);
  });

  it('arrive under names of their own, whatever the fields are called', async () => {
    const hostile = {
      id: 1,
      ID: 'upper',
      '': 'empty',
      '"; DROP TABLE items; --': 'sql',
      "it's": 'quote',
      __proto__x: 'proto',
      constructor: 'c',
      toString: 's',
      _run_id: 'mine',
      _synced_at: 'mine too',
      rowid: 'row',
      select: 'word',
      'über größe': 'umlaut',
      日本: 'kanji',
      '😀': 'emoji',
      'a.b': 'dot',
      'a b': 'space',
      ['x'.repeat(5_000)]: 'long',
    };
    const proto = rawJson(
      '{"id":2,"__proto__":"stored","nul":"a\\u0000b","lone":"\\ud800","rtl":"\\u202eabc"}',
    );
    const flow = await syncItems([hostile, proto], { stream: { key: ['id'] } });
    const { rows, columns } = await flow.table('items');
    const values = Object.values(rows[0] ?? {});
    for (const value of Object.values(hostile)) expect(values).toContain(value);
    expect(Object.values(rows[1] ?? {})).toEqual(
      expect.arrayContaining(['stored', 'a\0b', '\ufffd', '\u202eabc']),
    );
    const names = Object.keys(columns).map((name) => name.toLowerCase());
    expect(new Set(names).size).toBe(names.length);
    expect(({} as Record<string, unknown>)['stored']).toBeUndefined();

    // The names stay with their fields in the next run.
    const second = await flow.sync({ force: true });
    expect(second.rows).toMatchObject({ unchanged: 2, inserted: 0, updated: 0 });
    expect((await flow.table('items')).columns).toEqual(columns);
  });

  it('arrive from a record with very many fields', async () => {
    const wide = Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`field${at}`, at]));
    const flow = await syncItems([{ id: 1, ...wide }], { stream: { key: ['id'] } });
    expect(Object.keys((await flow.table('items')).columns)).toHaveLength(403);
  });

  it('are refused when they are nested beyond all measure', async () => {
    const deep = rawJson(`{"id":1,"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`);
    const flow = createItemsFlow([deep]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(streamOf(report).error?.message).toMatch(/nested/);
  });
});

describe('records that are not objects', () => {
  const odd = [rawJson('"text"'), rawJson('17'), rawJson('null'), rawJson('[1,2]')];

  it('go to quarantine whole, with a reason, below the ratio that config allows', async () => {
    const records = [...makeItems(100).slice(0, 50), ...odd, ...makeItems(100).slice(50)];
    const flow = createItemsFlow(records);
    const report = await flow.sync();
    expect(report.exitCode).toBe(0);
    expect(report.rows).toMatchObject({ read: 104, inserted: 100, quarantined: 4 });
    expect(report.warnings).toEqual([expect.stringMatching(/4 records .*quarantine/)]);
    expect(streamOf(report).verdict).toBe('verified');
    const held = await flow.query(
      'SELECT run_id, stream, page_offset, row_index, record, reason FROM _sluice.quarantine ORDER BY row_index',
    );
    expect(held.map(({ record, page_offset, row_index }) => [record, page_offset, row_index])).toEqual([
      ['"text"', 0, 50],
      ['17', 0, 51],
      ['null', 0, 52],
      ['[1,2]', 0, 53],
    ]);
    expect(held[0]).toMatchObject({
      run_id: report.runId,
      stream: 'items',
      reason: expect.any(String) as string,
    });
    expect(await flow.rows('items')).toEqual(expectRows(makeItems(100)));
  });

  it('are in quarantine once, however often they are read, and as often as they come', async () => {
    const records = [...makeItems(100), rawJson('null'), rawJson('null')];
    const flow = createItemsFlow(records, { stream: { cursor: false } });
    await flow.sync();
    const report = await resync(flow, [rawJson('"new"'), ...records]);
    expect(report.rows).toMatchObject({ quarantined: 3, unchanged: 100 });
    expect(await flow.query('SELECT record FROM _sluice.quarantine ORDER BY record')).toEqual([
      { record: '"new"' },
      { record: 'null' },
      { record: 'null' },
    ]);
  });

  it('fail the stream above that ratio, and touch nothing', async () => {
    const flow = createItemsFlow([...makeItems(20), ...odd]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(streamOf(report).error?.message).toMatch(/4 of 24 records/);
    expect(flow.isPublished()).toBe(false);
  });

  it('fail the stream at any number when config allows none', async () => {
    const flow = createItemsFlow([...makeItems(100), rawJson('1')], {
      config: { defaults: { maxInvalidRatio: 0 } },
    });
    expect((await flow.sync()).exitCode).toBe(4);
  });
});

describe('an answer without records', () => {
  it('keeps the columns of the stream for the day rows come', async () => {
    const flow = createItemsFlow([], { stream: { cursor: false } });
    expect((await flow.sync()).exitCode).toBe(0);
    await resync(flow, makeItems(120));
    expect(await flow.rows('items')).toEqual(expectRows(makeItems(120)));
  });

  it('of objects without members is a table of nothing but our columns', async () => {
    const flow = createItemsFlow([{}, {}], {
      simulator: { faults: [rewriteEnvelope((envelope) => envelope)] },
    });
    const report = await flow.sync();
    expect(report.exitCode).toBe(0);
    expect((await flow.table('items')).rows).toHaveLength(2);
    expect((await flow.sync({ force: true })).rows).toMatchObject({ inserted: 0, deleted: 0 });
  });
});
