import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Database } from '../../src/warehouse/database.ts';
import { evolveTable } from '../../src/warehouse/evolve-table.ts';
import { FIRST } from '../../src/warehouse/first-table.ts';
import {
  appendIncoming,
  becomeTable,
  createIncoming,
  deleteIncoming,
  dropFirst,
  dropIncoming,
  INCOMING,
  type IncomingPlace,
} from '../../src/warehouse/incoming.ts';
import { mergeRows, type MergeRequest } from '../../src/warehouse/merge-rows.ts';
import type { ColumnPlan } from '../../src/schema/resolve-columns.ts';
import { openTempDatabase, type TempDatabase } from '../support/temp-database.ts';

const columns: readonly ColumnPlan[] = [
  ['id', 'BIGINT'],
  ['Odd "name"', 'JSON'],
  ['never', 'NULL'],
  ['at', 'TIMESTAMPTZ'],
].map(([name = '', type]) => ({
  path: [name],
  name,
  type: type as ColumnPlan['type'],
  existingType: undefined,
  takes: 0,
  companion: false,
  forcedType: undefined,
}));

const ONE_GROUP = 122_880;

function selectRows(from: number, to: number): string {
  return `SELECT i AS _sluice_position, i AS id, ('{"n":' || i || '}')::JSON AS "Odd ""name""", NULL::VARCHAR AS never,
    TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_seconds(i) AS at FROM range(${from}, ${to}) t(i)`;
}

const request: MergeRequest = {
  table: 'items',
  columns: ['id', 'Odd "name"', 'at'],
  key: ['id'],
  absent: 'keep',
  insertOnly: false,
  slice: '',
  history: false,
  runId: "run 'one'",
  syncedAt: '2026-11-27T01:02:03.004Z',
};

async function bring({ database }: TempDatabase, place: IncomingPlace, rows = 1_000): Promise<void> {
  await createIncoming(database, selectRows(0, rows), columns, place);
  await appendIncoming(database, selectRows(rows, rows + 500));
}

async function commit({ database }: TempDatabase, needs: { readonly softDeletes: boolean }): Promise<void> {
  await database.transaction(async () => {
    await evolveTable(database, { name: 'items', exists: false }, columns, {
      sliced: false,
      history: false,
      ...needs,
    });
    await mergeRows(database, request);
  });
}

/** All that is to be known of the tables in a file. */
async function describeFile(database: Database) {
  return {
    tables: await database.all(
      `SELECT table_name, sql FROM duckdb_tables() WHERE database_name = current_database() ORDER BY 1`,
    ),
    columns: await database.all(
      `SELECT column_name, data_type, column_default, is_nullable FROM duckdb_columns()
         WHERE database_name = current_database() ORDER BY table_name, column_index`,
    ),
    rows: await database.all('SELECT count(*) AS n, bit_xor(hash(items))::VARCHAR AS hash FROM main.items'),
  };
}

async function countTables(database: Database): Promise<number> {
  return database.count('SELECT count(*) FROM duckdb_tables() WHERE database_name = current_database()');
}

describe('the incoming rows of a first scan', () => {
  it.each([
    [1_000, false],
    [1_000, true],
    [ONE_GROUP, false],
  ])(
    'become the table that a copy of them would be (%i rows, soft deletes: %s)',
    async (rows, softDeletes) => {
      const [inFile, copied] = [await openTempDatabase(), await openTempDatabase()];
      await bring(inFile, 'file', rows);
      await commit(inFile, { softDeletes });
      await bring(copied, 'temporary', rows);
      await commit(copied, { softDeletes });
      const found = await describeFile(inFile.database);
      expect(found).toEqual(await describeFile(copied.database));
      expect(found.rows).toMatchObject([{ n: BigInt(rows + 500) }]);
      // Committed, and not yet written into the file: as a process leaves it that is killed here.
      execFileSync('cp', [inFile.file, `${inFile.file}.wal`, inFile.scratch]);
      const replayed = await Database.open({ file: join(inFile.scratch, 'work.duckdb'), folders: [] });
      expect(await describeFile(replayed)).toEqual(found);
      await replayed.release();
      await inFile.database.checkpoint();
      await dropFirst(inFile.database);
      expect(await describeFile(inFile.database)).toEqual(found);
    },
  );

  it('are as before where the commit is rolled back, and can be committed again', async () => {
    const opened = await openTempDatabase();
    const { database } = opened;
    await bring(opened, 'file');
    const attempt = database.transaction(async () => {
      await evolveTable(database, { name: 'items', exists: false }, columns);
      expect(await becomeTable(database, 'items', request)).toBe(true);
      throw new Error('something else failed');
    });
    await expect(attempt).rejects.toThrow('something else failed');
    expect(await database.count(`SELECT count(*) FROM ${INCOMING}`)).toBe(1_500);
    await commit(opened, { softDeletes: false });
    expect(await database.count('SELECT count(*) FROM main.items')).toBe(1_500);
  });

  it('do not replace a table that has rows, or one with a column that they cannot have', async () => {
    const opened = await openTempDatabase();
    const { database } = opened;
    await evolveTable(database, { name: 'items', exists: false }, columns);
    await database.run('INSERT INTO main.items (id) VALUES (7)');
    await bring(opened, 'file');
    expect(await becomeTable(database, 'items', request)).toBe(false);
    await database.run('DELETE FROM main.items');
    await database.run('ALTER TABLE main.items ADD COLUMN _slice VARCHAR');
    expect(await becomeTable(database, 'items', request)).toBe(false);
    await database.run('ALTER TABLE main.items DROP COLUMN _slice');
    await database.run('ALTER TABLE main.items ALTER COLUMN id TYPE VARCHAR');
    expect(await becomeTable(database, 'items', request)).toBe(false);
    expect(await countTables(database)).toBe(2);
  });

  it('take no space in the file once they were rejected, or left by a killed process', async () => {
    const [clean, rejected, removed, killed] = [
      await openTempDatabase(),
      await openTempDatabase(),
      await openTempDatabase(),
      await openTempDatabase(),
    ];
    const rows = 2 * ONE_GROUP;
    const load = async (opened: TempDatabase) => {
      await bring(opened, 'temporary', rows);
      await commit(opened, { softDeletes: false });
      await opened.database.checkpoint();
      return statSync(opened.file).size;
    };
    const size = await load(clean);
    await bring(rejected, 'file', rows);
    expect(await load(rejected)).toBeLessThan(size * 1.1);
    await bring(removed, 'file', rows);
    await deleteIncoming(removed.database, 's.id = 0');
    await commit(removed, { softDeletes: false });
    await removed.database.checkpoint();
    expect(statSync(removed.file).size).toBeLessThan(size * 1.1);
    await bring(killed, 'file', rows);
    await killed.database.checkpoint();
    const file = join(killed.scratch, 'work.duckdb');
    execFileSync('cp', [killed.file, file]);
    const database = await Database.open({ file, folders: [killed.scratch] });
    expect(await load({ ...killed, database, file })).toBeLessThan(size * 1.1);
    await database.release();
  });

  it('are copied where some of them are removed', async () => {
    const opened = await openTempDatabase();
    const { database } = opened;
    await bring(opened, 'file');
    await deleteIncoming(database, 's.id % 3 = 0');
    expect(await countTables(database)).toBe(0);
    await commit(opened, { softDeletes: false });
    expect(await database.all('SELECT count(*)::INT AS n, min(id)::INT AS least FROM main.items')).toEqual([
      { n: 1_000, least: 1 },
    ]);
  });

  it('stay out of the file where there are very many columns', async () => {
    const { database } = await openTempDatabase();
    const [column] = columns;
    if (column === undefined) throw new Error('no column');
    const wide = Array.from({ length: 201 }, (_, at) => ({ ...column, name: `c${at}` }));
    const cells = wide.map(({ name }) => `i AS ${name}`).join(', ');
    await createIncoming(database, `SELECT i AS _sluice_position, ${cells} FROM range(3) t(i)`, wide, 'file');
    expect(await countTables(database)).toBe(0);
    expect(await database.count(`SELECT count(*) FROM ${INCOMING}`)).toBe(3);
  });

  it('leave the file with the next scan, and with the next process', async () => {
    const opened = await openTempDatabase();
    const { database, file } = opened;
    await bring(opened, 'file');
    await createIncoming(database, selectRows(0, 3), columns);
    expect(await countTables(database)).toBe(0);
    await bring(opened, 'file');
    await dropIncoming(database);
    await dropIncoming(database);
    expect(await countTables(database)).toBe(0);
    await bring(opened, 'file');
    execFileSync('cp', [file, `${file}.wal`, opened.scratch]);
    const next = await Database.open({ file: join(opened.scratch, 'work.duckdb'), folders: [] });
    await expect(next.count(`SELECT count(*) FROM ${FIRST}`)).rejects.toThrow('~first');
    expect(await countTables(next)).toBe(0);
    await next.release();
  });
});
