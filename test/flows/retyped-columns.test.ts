import { describe, expect, it } from 'vitest';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { createItemsFlow, DAY_MS, type Flow, noBuiltIns, streamOf } from '../support/sync-harness.ts';

const stream = { path: 'items', paginated: true, cursor: false, key: ['id'] } as const;

/** Values whose field becomes a column of the type by itself. */
const valuesOf: Readonly<Record<string, readonly string[]>> = {
  BOOLEAN: ['true', 'false'],
  BIGINT: ['0', '1', '-5', '9007199254740993', '-9223372036854775808'],
  HUGEINT: ['1', '170141183460469231731687303715884105727', '-18446744073709551616'],
  DOUBLE: [
    ...['0.5', '1', '-2.25', '1e21', '1.5e-7', '0.00001', '1.25e-5', '1.25e20'],
    ...['1e16', '1e300', '5e-324', '1.7976931348623157e308', '0.000001', '-1e-7', '0.1', '1.10'],
  ],
  'DECIMAL(38,19)': ['0.1234567890123456789', '5', '1234567890123456.25'],
  DATE: ['"2026-01-31"', '"0001-01-01"', '"9999-12-31"'],
  TIMESTAMP: [
    '"2026-01-31T10:00:00"',
    '"2026-01-31T00:00:00"',
    '"2026-01-31T10:00:00.12"',
    '"0001-01-01T00:00:00"',
  ],
  TIMESTAMPTZ: ['"2026-01-31T10:00:00Z"', '"2026-01-31T00:00:00.123456Z"', '"0101-01-01T00:00:00Z"'],
  VARCHAR: [
    ...[
      '"true"',
      '"True"',
      'true',
      '"1"',
      '1',
      '"012"',
      '"+1"',
      '"1.50"',
      '1.5',
      '"12.0"',
      '"-0"',
      '"-0.0"',
      '"0.12345678901234567"',
    ],
    ...[
      '"9007199254740993"',
      '9007199254740993',
      '"0.10000000000000000001"',
      '"170141183460469231731687303715884105728"',
    ],
    ...[
      '"2026-01-31"',
      '"2026-02-30"',
      '"0000-01-01"',
      '"26-01-31"',
      '"2026-01-31T10:00"',
      '"2026-01-31 10:00:00,5"',
    ],
    ...[
      '"2026-01-31T10:00Z"',
      '"2026-01-31T10:00:00z"',
      '"2026-01-31 10:00+0530"',
      '"2026-01-31T10:00:00.123456+05"',
    ],
    ...[
      '"2026-01-31T10:00:00-14:30"',
      '"2026-01-31T10:00:00+15:00"',
      '"2026-01-31T24:00:00Z"',
      '"2026-01-31T10:00:00.1234567Z"',
    ],
    ...[
      '""',
      '" "',
      '"x"',
      '"{\\"a\\":1}"',
      '"null"',
      '"é\\u0000"',
      '"Infinity"',
      '"nan"',
      '".5"',
      '"1e3"',
      '"1.5E-7"',
      '"12e-1"',
      '"1e+2"',
      '"TRUE"',
      '"t"',
      '" 5"',
      '"5."',
    ],
  ],
  JSON: [
    '[1]',
    '{"a":1}',
    '5',
    '0.5',
    '"x"',
    '"5"',
    'true',
    '"2026-01-31"',
    '"2026-01-31T10:00:00Z"',
    '[]',
    '9007199254740993',
  ],
};

const forced = [
  ...['BOOLEAN', 'BIGINT', 'HUGEINT', 'DOUBLE', 'DECIMAL(18,2)', 'DECIMAL(38,20)'],
  ...['DATE', 'TIMESTAMP', 'TIMESTAMPTZ', 'VARCHAR', 'JSON'],
];
const nameOf = (from: string, to: string) =>
  `${from} to ${to}`.toLowerCase().replace(/\W+/g, '_').replace(/_$/, '');
const froms = Object.keys(valuesOf);
// Of numbers and texts in one column of text nobody knows which were which.
const unknown = nameOf('VARCHAR', 'JSON');

/** A field for each pair of types, all with the values of the first of the two. */
function makeRecords(): readonly unknown[] {
  const count = Math.max(...Object.values(valuesOf).map((values) => values.length));
  return Array.from({ length: count }, (_, at) => {
    const fields = froms.flatMap((from) =>
      forced.map((to) => `"${nameOf(from, to)}":${valuesOf[from]?.[at] ?? 'null'}`),
    );
    return rawJson(`{"id":${at},${fields.join(',')}}`);
  });
}

describe('a type that config gives a column which is there', () => {
  it('makes of its rows what it makes of the same records when they come again', async () => {
    const flow = createItemsFlow(makeRecords(), { stream });
    expect((await flow.sync()).exitCode).toBe(0);
    const { columns } = await flow.table('items');
    for (const from of froms)
      for (const to of forced)
        expect(columns[nameOf(from, to)], from).toBe(from.replace('TIMESTAMPTZ', 'TIMESTAMP WITH TIME ZONE'));
    const types = Object.fromEntries(
      froms.flatMap((from) => forced.map((to) => [nameOf(from, to), { type: to }])),
    );
    const config = { streams: { ...noBuiltIns, items: { ...stream, key: ['id'], columns: types } } } as never;
    const { flow: fresh } = await flow.clean({ config });
    // None of its records is in the source any more: what becomes of the rows, the table alone decides.
    flow.simulator.editRecords('items', () => [rawJson('{"id":999}')]);
    const report = await flow.sync({ force: true, config });
    expect(report.exitCode, streamOf(report).error?.message).toBe(0);
    const rows = async (one: Flow) => await one.query('SELECT * FROM main.items WHERE id < 999 ORDER BY id');
    const [mine, theirs] = [await rows(flow), await rows(fresh)];
    expect(mine).toHaveLength(theirs.length);
    const others = theirs.flatMap((row, at) =>
      Object.keys({ ...row, ...mine[at] })
        .filter(
          (name) =>
            !name.startsWith('_') &&
            name !== unknown &&
            JSON.stringify(mine[at]?.[name]) !== JSON.stringify(row[name]),
        )
        .map((name) => [name, mine[at]?.[name], row[name]]),
    );
    expect(others).toEqual([]);
  });
});

it('is JSON with its lists and objects where they were kept as text, and nothing else was', async () => {
  const configOf = (type: 'VARCHAR' | 'JSON') => ({
    streams: { ...noBuiltIns, items: { ...stream, key: ['id'], columns: { v: { type } } } },
  });
  const values = ['[1,"a"]', '{"a":9007199254740993}', '5', 'true'];
  const flow = createItemsFlow(values.map((value, id) => rawJson(`{"id":${id},"v":${value}}`)));
  expect((await flow.sync({ config: configOf('VARCHAR') })).exitCode).toBe(0);
  flow.simulator.editRecords('items', () => [rawJson('{"id":999}')]);
  expect((await flow.sync({ force: true, config: configOf('JSON') })).exitCode).toBe(0);
  const rows = await flow.query('SELECT v::VARCHAR AS v FROM main.items WHERE id < 999 ORDER BY id');
  expect(rows.map(({ v }) => v)).toEqual(values);
});

const day = (at: number) => new Date(Date.UTC(2026, 0, 1) + at * DAY_MS).toISOString().slice(0, 10);

describe('a column of a learned key that is given another type', () => {
  const learning = { path: 'items', paginated: true } as const;
  const items = Array.from({ length: 90 }, (_, at) => ({ id: `i${at}`, date: day(at % 30), n: at % 3 }));
  const numbers = Array.from({ length: 90 }, (_, at) => ({
    id: at + 0.5,
    date: day(at % 30),
    at: `${day(3)}T10:00:00.000Z`,
  }));

  const overDays = { date: { type: 'TIMESTAMP' } };
  it.each([
    ['DATE to TIMESTAMP', overDays],
    ['DATE to TIMESTAMPTZ', { date: { type: 'TIMESTAMPTZ' } }],
    ['VARCHAR to BIGINT', { id: { type: 'BIGINT' } }],
  ])('finds its rows again: %s', async (_, columns) => {
    for (const history of columns === overDays ? [false, true] : [true]) {
      const flow = createItemsFlow(items, { stream: { ...learning, history } });
      await flow.sync();
      flow.clock.stepWall(DAY_MS);
      expect((await flow.sync()).exitCode).toBe(0);
      const config = { streams: { ...noBuiltIns, items: { ...learning, history, columns } } } as never;
      for (const mode of ['retyped', 'the day after']) {
        flow.clock.stepWall(DAY_MS);
        const report = await flow.sync({ config });
        expect(report.exitCode, `${mode}: ${streamOf(report).error?.message}`).toBe(0);
        expect(report.rows, mode).toMatchObject({ inserted: 0, updated: 0, deleted: 0 });
        expect(streamOf(report).rowsInTable, mode).toBe(90);
      }
    }
  });

  it('replaces them where the spelling of their key is not known', async () => {
    const keyed = { ...learning, cursor: false as const, key: ['at', 'id'] };
    const flow = createItemsFlow(numbers, { stream: keyed });
    await flow.sync();
    const config = {
      streams: { ...noBuiltIns, items: { ...keyed, columns: { at: { type: 'VARCHAR' } } } },
    } as never;
    const report = await flow.sync({ force: true, config });
    expect(report.exitCode, streamOf(report).error?.message).toBe(0);
    expect(streamOf(report).rowsInTable).toBe(90);
    expect(await flow.query('SELECT DISTINCT "at" FROM main.items')).toEqual([
      { at: `${day(3)}T10:00:00.000Z` },
    ]);
  });
});
