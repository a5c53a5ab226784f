import { describe, expect, it } from 'vitest';
import type { ColumnPlan } from '../../src/schema/resolve-columns.ts';
import { compressTexts } from '../../src/warehouse/compress-texts.ts';
import { listCompressed } from '../../src/warehouse/copy-table.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { createIncoming } from '../../src/warehouse/incoming.ts';
import { openTempDatabase } from '../support/temp-database.ts';

const ROWS = 4_096;
const COLUMNS = (['note VARCHAR', 'list JSON', 'n BIGINT'] as const).map((definition) => {
  const [name, type] = definition.split(' ') as [string, ColumnPlan['type']];
  return { name, type, existingType: type, path: [name], takes: ~0, companion: false };
});

async function createTables(database: Database): Promise<void> {
  for (const table of ['items', 'items_history']) {
    await database.run(`CREATE TABLE main.${table} (note VARCHAR, list JSON, n BIGINT, _run_id VARCHAR)`);
    await database.run(`INSERT INTO main.${table} SELECT if(i % 1000 = 0, 'short', NULL),
      if(i % 1000 = 1, '[1]', NULL)::JSON, i, 'run-1' FROM range(${ROWS}) r(i)`);
  }
  await database.run(`COMMENT ON COLUMN main.items.note IS 'what an answer says'`);
  await database.checkpoint();
}

async function bringRow(database: Database, note: string, list: string): Promise<void> {
  const query = `SELECT 1::BIGINT AS _sluice_position, '${note}' AS note, '${list}'::JSON AS list, 7::BIGINT AS n`;
  await createIncoming(database, query, COLUMNS);
}

async function describeTables(database: Database): Promise<unknown> {
  const tables = ['items', 'items_history'].map((table) =>
    database.all(`SELECT count(*)::INT AS n, bit_xor(hash(t))::VARCHAR AS sum FROM main.${table} t`),
  );
  const comments = database.all(
    `SELECT table_name, column_name, comment FROM duckdb_columns() WHERE database_name = 'work' ORDER BY ALL`,
  );
  return [await Promise.all(tables), await comments];
}

async function listBoth(database: Database): Promise<readonly (readonly string[])[]> {
  await database.checkpoint();
  const found = [];
  for (const table of ['items', 'items_history'])
    found.push([...(await listCompressed(database, table))].toSorted());
  return found;
}

const long = (prefix = '') => prefix + 'x'.repeat(16_384);

describe('the columns of a table that was made while its texts were short', () => {
  it.each([
    ['text', long(), '[2]', ['note']],
    ['list', 'still short', `["${long()}"]`, ['list']],
    ['text and list', long(), `["${long()}"]`, ['list', 'note']],
  ])('are compressed before a long %s comes, and keep their values', async (_, note, list, compressed) => {
    const { database } = await openTempDatabase();
    await createTables(database);
    await bringRow(database, note, list);
    const before = await describeTables(database);
    await compressTexts(database, 'items', COLUMNS);
    expect(await listBoth(database)).toEqual([compressed, compressed]);
    expect(await describeTables(database)).toEqual(before);
  });

  it('stay as they are for a shorter text, and are copied no second time', async () => {
    const { database } = await openTempDatabase();
    await createTables(database);
    await bringRow(database, long().slice(1), '[2]');
    const rowids = () => database.all('SELECT max(rowid)::INT AS last FROM main.items');
    await compressTexts(database, 'items', COLUMNS);
    expect(await listBoth(database)).toEqual([[], []]);
    await bringRow(database, long(), '[2]');
    await compressTexts(database, 'items', COLUMNS);
    await database.run('DELETE FROM main.items WHERE n = 0');
    await database.checkpoint();
    const before = await rowids();
    await compressTexts(database, 'items', COLUMNS);
    expect(await rowids()).toEqual(before);
    expect(await listBoth(database)).toEqual([['note'], ['note']]);
  });
});
