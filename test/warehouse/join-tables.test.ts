import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Database } from '../../src/warehouse/database.ts';
import { MEMORY_FILE } from '../../src/warehouse/database-options.ts';
import { joinTables } from '../../src/warehouse/join-tables.ts';
import { countRuns } from '../support/seeds.ts';

/** Values of each type that are easy to lose: at the ends of what it holds, and what other types write otherwise. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  BOOLEAN: ['true', 'false'],
  INTEGER: ['0', '-2147483648', '2147483647'],
  BIGINT: ['0', '1', '9007199254740993', '-9223372036854775808', '9223372036854775807'],
  HUGEINT: ['5', '170141183460469231731687303715884105727', '-99999999999999999999999999999999999999'],
  DOUBLE: ['0.1', '-0.0', '5', '1e300', '5e-324', '1e21', '123456789012345680000', '1.5e-7', 'inf', 'nan'],
  'DECIMAL(38,4)': ['0.1000', '12.5', '9999999999999999999999999999999999.9999', '-3'],
  'DECIMAL(38,20)': ['0.12345678901234567890', '7', '123456789012345678.5'],
  'DECIMAL(38,0)': ['99999999999999999999999999999999999999', '1'],
  DATE: ['2026-01-31', '0001-01-01', '9999-12-31'],
  TIMESTAMP: ['2026-01-31 00:00:00', '2026-01-31 12:34:56.789', '2026-01-31 12:34:56.000001'],
  'TIMESTAMP WITH TIME ZONE': ['2026-01-31 00:00:00+00', '2026-01-31 23:59:59.999999+00'],
  VARCHAR: ['', '5', '0.10', 'true', '2026-01-31', '{"a":1}', 'a "quoted" text\n', 'null'],
  JSON: ['{"a": 9007199254740993}', '"5"', '5', 'null', '[1, 2.50]', 'true', '1e2'],
};
const TYPES = Object.keys(VALUES);

interface Column {
  readonly type: string;
  /** As SQL texts; null for none. */
  readonly values: readonly (string | null)[];
}

/** Joins a table of one column per account, whose types and values are these. */
async function join(columns: readonly Column[]) {
  const database = await Database.open({ file: MEMORY_FILE, readOnly: true, folders: [] });
  try {
    const parts = [];
    for (const [at, { type, values }] of columns.entries()) {
      const rows = values.map((value, row) => `(${row}, ${value === null ? 'NULL' : `'${value}'`})`);
      await database.run(`CREATE TABLE p${at} (row INTEGER, v ${type})`);
      if (rows.length > 0) await database.run(`INSERT INTO p${at} VALUES ${rows.join(', ')}`);
      parts.push({
        account: `a${at}`,
        from: `p${at}`,
        columns: [
          { name: 'row', type: 'INTEGER' },
          { name: 'v', type },
        ],
      });
    }
    await database.run(
      `CREATE TABLE joined AS ${await joinTables(database, { schema: 'main', name: 't', parts })}`,
    );
    const [found] = await database.all(
      `SELECT data_type FROM duckdb_columns() WHERE table_name = 'joined' AND column_name = 'v'`,
    );
    const texts = await database.all(`SELECT v::VARCHAR AS v FROM joined ORDER BY account, row`);
    const changed: string[] = [];
    for (const [at, { type }] of columns.entries()) {
      // Back in its own type a value is what it was. In JSON, texts have quotes.
      const joined = found?.['data_type'];
      const back =
        joined === 'JSON' && type !== 'JSON'
          ? `CASE json_type(j.v) WHEN 'VARCHAR' THEN j.v ->> '$' ELSE j.v::VARCHAR END`
          : 'j.v';
      const rows = await database.all(
        `SELECT p.v::VARCHAR AS was, j.v::VARCHAR AS now FROM p${at} p JOIN joined j ON j.account = 'a${at}' AND j.row = p.row
           WHERE TRY_CAST(${back} AS ${type}) IS DISTINCT FROM p.v`,
      );
      changed.push(...rows.map(({ was, now }) => `${type} ${String(was)} became ${String(now)}`));
    }
    const count = await database.count('SELECT count(*) FROM joined');
    return { type: found?.['data_type'], texts: texts.map(({ v }) => v), changed, count };
  } finally {
    await database.release();
  }
}

const all = (type: string): Column => ({ type, values: VALUES[type] ?? [] });

describe('a column whose type differs between accounts', () => {
  it.each([
    [['BIGINT', 'BIGINT'], 'BIGINT'],
    [['INTEGER', 'BIGINT'], 'BIGINT'],
    [['BIGINT', 'HUGEINT'], 'HUGEINT'],
    [['HUGEINT', 'DECIMAL(38,0)'], 'HUGEINT'],
    [['BIGINT', 'DECIMAL(38,0)'], 'DECIMAL(38,0)'],
    [['BIGINT', 'DECIMAL(38,4)'], 'DECIMAL(38,4)'],
    [['DECIMAL(38,0)', 'DECIMAL(38,4)'], 'VARCHAR'],
    [['DECIMAL(38,4)', 'DECIMAL(38,20)'], 'VARCHAR'],
    [['BIGINT', 'DECIMAL(38,20)'], 'VARCHAR'],
    [['BIGINT', 'DOUBLE'], 'VARCHAR'],
    [['HUGEINT', 'DOUBLE'], 'VARCHAR'],
    [['DOUBLE', 'DECIMAL(38,4)'], 'VARCHAR'],
    [['INTEGER', 'DOUBLE'], 'DOUBLE'],
    [['DATE', 'TIMESTAMP'], 'VARCHAR'],
    [['TIMESTAMP', 'TIMESTAMP WITH TIME ZONE'], 'VARCHAR'],
    [['BOOLEAN', 'BIGINT'], 'VARCHAR'],
    [['DATE', 'VARCHAR'], 'VARCHAR'],
    [['BIGINT', 'VARCHAR'], 'VARCHAR'],
    [['VARCHAR', 'JSON'], 'JSON'],
    [['DOUBLE', 'JSON'], 'JSON'],
    [['BIGINT', 'DOUBLE', 'VARCHAR', 'JSON'], 'JSON'],
    [['BIGINT', 'DOUBLE', 'DECIMAL(38,4)', 'HUGEINT'], 'VARCHAR'],
  ])('of %j is %s', async (types, wanted) => {
    const { type, changed } = await join(types.map(all));
    expect(changed).toEqual([]);
    expect(type).toBe(wanted);
  });

  it.each([
    ['BIGINT', ['0', '9007199254740992', '-9007199254740992'], 'DOUBLE'],
    ['BIGINT', ['9007199254740993'], 'VARCHAR'],
    ['HUGEINT', ['12'], 'DOUBLE'],
    ['HUGEINT', [], 'DOUBLE'],
    ['DECIMAL(38,0)', ['9007199254740992'], 'DOUBLE'],
    ['DECIMAL(38,0)', ['9007199254740993'], 'VARCHAR'],
  ])('stays a number next to a double where no %s of %j would be rounded', async (type, values, wanted) => {
    const found = await join([{ type, values: [...values, null] }, all('DOUBLE')]);
    expect(found.changed).toEqual([]);
    expect(found.type).toBe(wanted);
  });

  it('stays a decimal where the digits that there are have room', async () => {
    const small = { type: 'DECIMAL(38,4)', values: ['12.5', null] };
    expect(await join([small, all('DECIMAL(38,20)')])).toMatchObject({ type: 'DECIMAL(38,20)', changed: [] });
    expect(await join([{ type: 'HUGEINT', values: ['12'] }, small])).toMatchObject({
      type: 'DECIMAL(38,4)',
      changed: [],
    });
  });

  it('writes numbers and times as text like the API', async () => {
    const found = await join([
      { type: 'DOUBLE', values: ['5', '1e21', '0.000001', '-0.5'] },
      { type: 'DECIMAL(38,4)', values: ['5', '12.50'] },
      { type: 'TIMESTAMP WITH TIME ZONE', values: ['2026-01-31 12:00:00+00'] },
      { type: 'VARCHAR', values: ['x'] },
    ]);
    expect(found.texts).toEqual(['5', '1e+21', '0.000001', '-0.5', '5', '12.5', '2026-01-31T12:00:00Z', 'x']);
  });

  it('distinguishes in JSON the text of a number from the number', async () => {
    const found = await join([
      { type: 'VARCHAR', values: ['5', 'null', null] },
      { type: 'JSON', values: ['5', 'null', null] },
      { type: 'HUGEINT', values: ['170141183460469231731687303715884105727'] },
    ]);
    expect(found.texts).toEqual([
      '"5"',
      '"null"',
      null,
      '5',
      'null',
      null,
      '170141183460469231731687303715884105727',
    ]);
  });

  it('changes no value, whatever meets', async () => {
    const column = fc.constantFrom(...TYPES).chain((type) =>
      fc.record({
        type: fc.constant(type),
        values: fc.array(fc.option(fc.constantFrom(...(VALUES[type] ?? []))), { maxLength: 4 }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(column, { minLength: 1, maxLength: 4 }), async (columns) => {
        const { changed, count } = await join(columns);
        expect(changed).toEqual([]);
        expect(count).toBe(columns.reduce((sum, { values }) => sum + values.length, 0));
      }),
      { numRuns: countRuns(60) },
    );
  });
});
