import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { appendRows } from '../../src/warehouse/append-rows.ts';
import { Database } from '../../src/warehouse/database.ts';
import { openTempDatabase } from '../support/temp-database.ts';

const TYPES = ['BIGINT', 'VARCHAR', 'JSON', 'DECIMAL(38,3)', 'TIMESTAMPTZ', 'DATE'];
const VALUES = [
  `i`,
  `'t' || i`,
  `'{"a": 1}'::JSON`,
  'i / 1000',
  `TIMESTAMPTZ '2026-01-31 00:00:00Z'`,
  `DATE '2026-01-31'`,
];

const listColumns = (count: number) => Array.from({ length: count }, (_, at) => `c${at}`);

function rows(count: number, from: number): string {
  const values = listColumns(count).map((name, at) => `${VALUES[at % VALUES.length]} AS ${name}`);
  // Named in another order than the table has them.
  return `SELECT $1 AS _run_id, ${values.toReversed().join(', ')} FROM range(${from}, ${from + 3}) r(i)`;
}

async function createTable(database: Database, count: number): Promise<void> {
  const definitions = listColumns(count).map((name, at) => `${name} ${TYPES[at % TYPES.length]}`);
  await database.run(`CREATE TABLE main.items (${definitions.join(', ')}, _run_id VARCHAR)`);
}

async function describeTable(database: Database): Promise<unknown> {
  const [shape] = await database.all(
    `SELECT list(column_name || ' ' || data_type ORDER BY column_index)::VARCHAR AS shape FROM duckdb_columns() WHERE table_name = 'items'`,
  );
  const [sum] = await database.all(
    `SELECT count(*)::INTEGER AS n, bit_xor(hash("every value"))::VARCHAR AS sum FROM main.items AS "every value"`,
  );
  const tables = await database.all(`SELECT table_name FROM duckdb_tables() WHERE database_name = 'work'`);
  return { shape, sum, tables };
}

describe('rows added to a table', () => {
  it.each([6, 600])(
    'of %i columns are next to those it had, and the log of it can be replayed',
    async (count) => {
      const { database, file, scratch } = await openTempDatabase();
      await createTable(database, count);
      await database.run(`INSERT INTO main.items BY NAME ${rows(count, 0)}`, ['run-1']);
      await database.checkpoint();
      // What a merge does before it adds rows.
      await database.transaction(async () => {
        await database.run('ALTER TABLE main.items ADD COLUMN later VARCHAR');
        await database.run('DELETE FROM main.items WHERE c0 = 1');
        await appendRows(database, { table: 'items', columns: count }, rows(count, 3), ['run-2']);
      });
      const after = await describeTable(database);
      const found = await database.all(
        'SELECT c0::INTEGER AS id, c1, c2::VARCHAR AS c2, c3::VARCHAR AS c3, later, _run_id AS run FROM main.items ORDER BY c0',
      );
      const row = (id: number, run: string) => ({
        id,
        c1: `t${id}`,
        c2: '{"a": 1}',
        c3: `0.00${id}`,
        later: null,
        run,
      });
      expect(found).toEqual([
        row(0, 'run-1'),
        row(2, 'run-1'),
        row(3, 'run-2'),
        row(4, 'run-2'),
        row(5, 'run-2'),
      ]);
      expect(after).toMatchObject({ tables: [{ table_name: 'items' }] });
      // The log is as a killed process leaves it: copied while it is open, and not by this process's hands.
      execFileSync('cp', [file, `${file}.wal`, scratch]);
      const copy = await Database.open({ file: join(scratch, 'work.duckdb'), folders: [] });
      expect(await describeTable(copy)).toEqual(after);
      await copy.release();
    },
  );

  it('and a transaction that comes to nothing leave it as it was', async () => {
    const { database } = await openTempDatabase();
    await createTable(database, 600);
    await database.run(`INSERT INTO main.items BY NAME ${rows(600, 0)}`, ['run-1']);
    const before = await describeTable(database);
    const failing = database.transaction(async () => {
      await appendRows(database, { table: 'items', columns: 600 }, rows(600, 3), ['run-2']);
      throw new Error('power cut');
    });
    await expect(failing).rejects.toThrow('power cut');
    expect(await describeTable(database)).toEqual(before);
  });

  it('is rewritten by what either way would cost: an ordinary one never, one that is too wide always', async () => {
    const kindOf = async (columns: number, held: number) => {
      const statements: string[] = [];
      const database = {
        count: () => Promise.resolve(held),
        run: (sql: string) => Promise.resolve(void statements.push(sql)),
      };
      await appendRows(database, { table: 'items', columns }, 'SELECT 1', []);
      return statements.length === 1 ? 'added' : 'rebuilt';
    };
    expect(await kindOf(499, 20)).toBe('added');
    expect(await kindOf(500, 20)).toBe('rebuilt');
    expect(await kindOf(500, 1_000_000)).toBe('added');
    expect(await kindOf(5_000, 1_000_000)).toBe('rebuilt');
  });
});
