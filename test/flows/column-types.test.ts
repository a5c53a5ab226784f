import { describe, expect, it } from 'vitest';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { createItemsFlow, type Flow, makeItems, noBuiltIns, streamOf } from '../support/sync-harness.ts';

type Columns = Readonly<Record<string, object>>;

const stream = { path: 'items', paginated: true, cursor: false, key: ['id'] } as const;

function configWith(columns: Columns, more: object = {}) {
  return {
    config: { streams: { ...noBuiltIns, items: { ...stream, key: ['id'], columns, ...more } } },
    force: true,
  };
}

async function resync(flow: Flow, columns: Columns, records?: readonly unknown[], more: object = {}) {
  if (records !== undefined) flow.simulator.editRecords('items', () => records);
  return flow.sync(configWith(columns, more));
}

function flowOf(records: readonly unknown[]): Flow {
  return createItemsFlow(records, { stream: { cursor: false, key: ['id'] } });
}

const typeOf = async (flow: Flow, column: string) => (await flow.table('items')).columns[column];
const valuesOf = async (flow: Flow, column: string) =>
  (await flow.query(`SELECT "${column}"::VARCHAR AS v FROM main.items ORDER BY id`)).map(
    ({ v }) => v ?? null,
  );

/** Records with one value each. */
function each(...values: readonly string[]) {
  return values.map((value, at) => rawJson(`{"id":${at + 1},"v":${value}}`));
}

describe('a type that config gives a column', () => {
  it.each<[string, readonly string[], string, readonly unknown[]]>([
    [
      'BIGINT',
      ['"12"', '7', '-0', '"9223372036854775807"', 'null'],
      'BIGINT',
      ['12', '7', '0', '9223372036854775807', null],
    ],
    [
      'HUGEINT',
      ['"170141183460469231731687303715884105727"', '1'],
      'HUGEINT',
      ['170141183460469231731687303715884105727', '1'],
    ],
    [
      'VARCHAR',
      ['5', '"x"', 'true', '[1,"a"]', '9007199254740993', '1.10'],
      'VARCHAR',
      ['5', 'x', 'true', '[1,"a"]', '9007199254740993', '1.1'],
    ],
    [
      'DECIMAL(18,2)',
      ['"12.5"', '0.1', '3', '1234567890123456.78', '"1.50"'],
      'DECIMAL(18,2)',
      ['12.50', '0.10', '3.00', '1234567890123456.78', '1.50'],
    ],
    ['DOUBLE', ['"0.25"', '1', '2.5'], 'DOUBLE', ['0.25', '1.0', '2.5']],
    ['DATE', ['"2026-01-31"', 'null'], 'DATE', ['2026-01-31', null]],
    ['TIMESTAMPTZ', ['"2026-01-31T10:00:00+02:00"'], 'TIMESTAMP WITH TIME ZONE', ['2026-01-31 08:00:00+00']],
    ['TIMESTAMP', ['"2026-01-31T10:00"'], 'TIMESTAMP', ['2026-01-31 10:00:00']],
    ['BOOLEAN', ['"true"', 'false'], 'BOOLEAN', ['true', 'false']],
    ['JSON', ['5', '"x"', '{"a":1}'], 'JSON', ['5', '"x"', '{"a":1}']],
  ])('%s is what every value that can be converted becomes', async (type, values, engineType, stored) => {
    const flow = flowOf(each(...values));
    const report = await resync(flow, { v: { type } });
    expect(report.exitCode, streamOf(report).error?.message).toBe(0);
    expect(await typeOf(flow, 'v')).toBe(engineType);
    expect(await typeOf(flow, 'v__text')).toBeUndefined();
    expect(await valuesOf(flow, 'v')).toEqual(stored);
  });

  it.each<[string, readonly string[], readonly unknown[], readonly unknown[]]>([
    [
      'BIGINT',
      ['"007"', '1.5', '"9223372036854775808"', '{"a":1}', '3'],
      [null, null, null, null, '3'],
      ['007', '1.5', '9223372036854775808', '{"a":1}', null],
    ],
    [
      'DECIMAL(5,2)',
      ['1000', '0.125', '"12,5"', '999.99'],
      [null, null, null, '999.99'],
      ['1000', '0.125', '12,5', null],
    ],
    [
      'DOUBLE',
      ['9007199254740993', '"0.12345678901234567890"', '1e400', '2'],
      [null, null, null, '2.0'],
      ['9007199254740993', '0.12345678901234567890', '1e400', null],
    ],
    [
      'DATE',
      ['"2026-02-30"', '"2026-01-31T00:00:00Z"', '"2026-01-31"'],
      [null, null, '2026-01-31'],
      ['2026-02-30', '2026-01-31T00:00:00Z', null],
    ],
    ['BOOLEAN', ['1', '"yes"', 'true'], [null, null, 'true'], ['1', 'yes', null]],
  ])('%s leaves what it cannot hold to a companion, as it was', async (type, values, stored, left) => {
    const flow = flowOf(each(...values));
    const report = await resync(flow, { v: { type } });
    expect(report.exitCode, streamOf(report).error?.message).toBe(0);
    expect(await valuesOf(flow, 'v')).toEqual(stored);
    expect(await valuesOf(flow, 'v__text')).toEqual(left);
  });

  it('counts as broken by a value it cannot hold, as `types` says', async () => {
    const records = [...makeItems(60), { id: 900, amount: 'n/a' }];
    const columns = { amount: { type: 'BIGINT' } };
    const frozen = await resync(flowOf(records), columns, undefined, { contract: 'freeze' });
    expect(frozen.exitCode).toBe(4);
    expect(streamOf(frozen).error?.message).toMatch(/amount is no BIGINT: string \(1\)/);
    expect(streamOf(frozen).error?.hint).toContain('or change streams.items.columns.amount.type; or set');
    expect(streamOf(frozen).error?.hint).not.toContain('schema.json');
    expect(
      (await resync(flowOf(records), columns, undefined, { contract: 'discard_row' })).rows,
    ).toMatchObject({
      inserted: 60,
      quarantined: 1,
    });
    const flow = flowOf(records);
    const kept = await resync(flow, columns, undefined, { contract: 'discard_value' });
    expect(kept.rows).toMatchObject({ inserted: 61, quarantined: 0 });
    expect(await typeOf(flow, 'amount__text')).toBeUndefined();
  });

  it('may be given by the path of a nested field, by another spelling, or by the name of its column', async () => {
    const record = { id: 1, meta: { unitPrice: '1.5', when: '2026-01-31' }, topicId: '7' };
    const flow = flowOf([record]);
    await resync(flow, {
      'meta.unitPrice': { type: 'DECIMAL(10,2)' },
      meta__when: { type: 'VARCHAR' },
      topic_id: { type: 'BIGINT' },
    });
    const { columns } = await flow.table('items');
    expect(columns).toMatchObject({
      meta__unit_price: 'DECIMAL(10,2)',
      meta__when: 'VARCHAR',
      topic_id: 'BIGINT',
    });
  });

  it('keeps an object whole as JSON', async () => {
    const flow = flowOf([{ id: 1, meta: { a: 1, b: 2 } }]);
    await resync(flow, { meta: { type: 'JSON' } });
    expect(await typeOf(flow, 'meta')).toBe('JSON');
    expect(await typeOf(flow, 'meta__a')).toBeUndefined();
  });

  it('is warned about when no record has the field', async () => {
    const flow = flowOf(makeItems(10));
    const report = await resync(flow, { amonut: { type: 'BIGINT' } });
    expect(report.warnings).toEqual([
      expect.stringMatching(/streams\.items\.columns names amonut, which no record has/),
    ]);
  });
});

describe('a type that is given to a column which is there', () => {
  it.each<[string, readonly string[], string, readonly unknown[]]>([
    ['text to whole numbers', ['"1"', '"22"'], 'BIGINT', ['1', '22']],
    ['text to decimals', ['"1.5"', '"22"', '"0.10"'], 'DECIMAL(18,2)', ['1.50', '22.00', '0.10']],
    ['whole numbers to text', ['1', '22'], 'VARCHAR', ['1', '22']],
    ['dates to text', ['"2026-01-31"', 'null'], 'VARCHAR', ['2026-01-31', null]],
    ['objects and numbers to text', ['{"a":1}', '5'], 'VARCHAR', ['{"a":1}', '5']],
    ['text to JSON', ['"a"', '"b\\"c"'], 'JSON', ['"a"', '"b\\"c"']],
  ])('converts its rows: %s', async (_, values, type, stored) => {
    const records = each(...values);
    const flow = flowOf(records);
    await flow.sync();
    const before = await typeOf(flow, 'v');
    // The rows are no longer in the source: the table alone decides what happens to them.
    const report = await resync(flow, { v: { type } }, [rawJson(`{"id":99,"v":null}`)]);
    expect(report.exitCode, streamOf(report).error?.message).toBe(0);
    expect(await typeOf(flow, 'v')).toBe(type);
    expect((await valuesOf(flow, 'v')).slice(0, -1)).toEqual(stored);
    expect(await typeOf(flow, 'v__text')).toBeUndefined();
    expect(streamOf(report).schemaChanges).toEqual([
      { column: 'v', change: 'replaced', fromType: before?.replace(' WITH TIME ZONE', 'TZ'), toType: type },
    ]);
  });

  it('moves what it cannot hold to a companion', async () => {
    const flow = flowOf(each('"1"', '"007"', '"x"', 'null'));
    await flow.sync();
    const report = await resync(flow, { v: { type: 'BIGINT' } }, each('"1"'));
    expect(await valuesOf(flow, 'v')).toEqual(['1', null, null, null]);
    expect(await valuesOf(flow, 'v__text')).toEqual([null, '007', 'x', null]);
    expect(streamOf(report).schemaChanges.map(({ column, change }) => [column, change])).toEqual([
      ['v', 'replaced'],
      ['v__text', 'added'],
    ]);
    expect(report.rows).toMatchObject({ unchanged: 1, updated: 0 });
    // A later run finds it as it should be.
    expect(streamOf(await resync(flow, { v: { type: 'BIGINT' } })).schemaChanges).toEqual([]);
  });

  it('holds for the history as well', async () => {
    const flow = flowOf(each('"1"', '"x"'));
    const history = { history: true };
    await resync(flow, {}, undefined, history);
    await resync(flow, {}, each('"2"', '"x"'), history);
    await resync(flow, { v: { type: 'BIGINT' } }, each('"3"', '"x"'), history);
    expect(
      await flow.query('SELECT id, v, v__text AS t FROM main.items_history ORDER BY id, _valid_from, v'),
    ).toEqual(
      [
        { id: 1, v: 1 },
        { id: 1, v: 2 },
        { id: 1, v: 3 },
        { id: 2, t: 'x' },
      ].map((row) => expect.objectContaining(row) as unknown),
    );
  });

  it('stays when the rule goes', async () => {
    const flow = flowOf(each('"1"', '"2"'));
    await resync(flow, { v: { type: 'BIGINT' } });
    const report = await resync(flow, {});
    expect(report.exitCode).toBe(0);
    expect(await typeOf(flow, 'v')).toBe('VARCHAR');
    expect(await valuesOf(flow, 'v')).toEqual(['1', '2']);
  });
});

describe('a field that is masked when its column is there', () => {
  const hashKey = 'a key of more than sixteen characters';
  const people = [
    {
      id: 1,
      email: 'ada@example.com',
      meta: { phone: '555-0100', city: 'Paris' },
      tags: [{ name: 'secret-a' }],
    },
    { id: 2, email: 'bob@example.com', meta: { phone: '555-0101', city: 'Rome' }, tags: [] },
  ];
  const masked = (columns: Columns, more: object = {}) => ({
    ...configWith(columns, more),
    config: { ...configWith(columns, more).config, defaults: { hashKey } },
  });

  it('is dropped with everything it held, history included', async () => {
    const flow = flowOf(people);
    await flow.sync(masked({}, { history: true }));
    // One row is not in the source any more.
    flow.simulator.editRecords('items', () => people.slice(0, 1));
    const report = await flow.sync(masked({ email: { exclude: true } }, { history: true }));
    expect(report.exitCode, streamOf(report).error?.message).toBe(0);
    expect(streamOf(report).schemaChanges).toEqual([
      { column: 'email', change: 'removed', fromType: 'VARCHAR', toType: undefined },
    ]);
    expect(await typeOf(flow, 'email')).toBeUndefined();
    expect(streamOf(report).reasons.join()).not.toMatch(/email/);
    expect((await flow.table('items_history')).columns).not.toHaveProperty('email');
    expect(
      await flow.query(`SELECT change, to_type FROM _sluice.schema_changes WHERE change = 'removed'`),
    ).toEqual([{ change: 'removed' }]);
  });

  it('keeps no raw value next to the hashes', async () => {
    const flow = flowOf(people);
    await flow.sync(masked({}));
    flow.simulator.editRecords('items', () => people.slice(0, 1));
    await flow.sync(masked({ email: { hash: true }, 'meta.phone': { hash: true } }));
    const hashes = await valuesOf(flow, 'email');
    expect(hashes).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), null]);
    expect(await valuesOf(flow, 'meta__phone')).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), null]);
    // The next scan has nothing to clear.
    const again = await flow.sync(masked({ email: { hash: true }, 'meta.phone': { hash: true } }));
    expect(again.rows).toMatchObject({ unchanged: 1, updated: 0 });
    expect(await valuesOf(flow, 'email')).toEqual(hashes);
  });

  it('inside a list that is stored whole clears what the list was', async () => {
    const flow = flowOf(people);
    await flow.sync(masked({}));
    flow.simulator.editRecords('items', () => people.slice(1));
    await flow.sync(masked({ 'tags.name': { exclude: true } }));
    expect(await valuesOf(flow, 'tags')).toEqual([null, '[]']);
  });

  it('of a whole object drops the columns of its members', async () => {
    const flow = flowOf(people);
    await flow.sync(masked({}));
    await flow.sync(masked({ meta: { hash: true } }));
    const { columns } = await flow.table('items');
    expect(columns).toMatchObject({ meta: 'VARCHAR' });
    expect(columns).not.toHaveProperty('meta__phone');
  });

  it('leaves no raw text in quarantine', async () => {
    const flow = createItemsFlow(
      [...people, ...makeItems(100, { from: 10 }), rawJson('["ada@example.com"]')],
      {
        stream: { cursor: false, key: ['id'] },
      },
    );
    await flow.sync(masked({}));
    expect(await flow.query('SELECT count(*) AS n FROM _sluice.quarantine')).toEqual([{ n: 1 }]);
    flow.simulator.editRecords('items', (records) => records.filter((record) => 'id' in (record as object)));
    await flow.sync(masked({ email: { exclude: true } }));
    expect(await flow.query('SELECT count(*) AS n FROM _sluice.quarantine')).toEqual([{ n: 0 }]);
  });
});
