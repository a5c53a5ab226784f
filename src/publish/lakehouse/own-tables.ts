import type { SqlSession } from '../../model/sql.ts';
import { readMessage } from './describe-failure.ts';
import { type LakePlace, nameInLake, OWN_TABLES } from './names.ts';

/** Columns of the tables in which a publish records what it has published. */
const RECORDS = {
  [OWN_TABLES.tables]: 'name VARCHAR, columns VARCHAR, partitions VARCHAR',
  [OWN_TABLES.parts]: 'name VARCHAR, part VARCHAR, rows BIGINT, sum VARCHAR',
} as const;

type RecordTable = keyof typeof RECORDS;

const RECORD_TABLES = Object.keys(RECORDS) as readonly RecordTable[];

/** Creates these tables, unless they are there. */
export async function createRecords(session: SqlSession, place: LakePlace): Promise<void> {
  for (const table of RECORD_TABLES) await createRecord(session, place, table);
}

/**
 * Creates those again that another program dropped or altered: without checksums all rows are compared, and without a list
 * of our tables one that is there is of others. True if any had to be.
 */
export async function repairRecords(session: SqlSession, place: LakePlace): Promise<boolean> {
  const altered = await listAltered(session, place);
  for (const table of altered) {
    await session.run(`DROP TABLE IF EXISTS ${nameInLake(place, '_sluice', table)}`);
    await createRecord(session, place, table);
  }
  return altered.length > 0;
}

/** Those that are gone, or lack a column. */
export async function listAltered(session: SqlSession, place: LakePlace): Promise<readonly RecordTable[]> {
  const altered: RecordTable[] = [];
  for (const table of RECORD_TABLES) if (!(await isReadable(session, place, table))) altered.push(table);
  return altered;
}

async function createRecord(session: SqlSession, place: LakePlace, table: RecordTable): Promise<void> {
  await session.run(`CREATE TABLE IF NOT EXISTS ${nameInLake(place, '_sluice', table)} (${RECORDS[table]})`);
}

/** Whether a table has the columns that are read of it. */
async function isReadable(session: SqlSession, place: LakePlace, table: RecordTable): Promise<boolean> {
  const columns = RECORDS[table].replaceAll(/ [A-Z]+/g, '');
  const query = `SELECT ${columns} FROM ${nameInLake(place, '_sluice', table)} LIMIT 0`;
  return (await readUnlessAltered(() => session.all(query))) !== undefined;
}

/**
 * Reads from such a table; undefined where the engine does not find it, or one of its columns. A statement that it has not
 * begun harms no transaction.
 */
export async function readUnlessAltered<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (thrown) {
    if (/^(?:Catalog|Binder) Error/.test(readMessage(thrown))) return undefined;
    throw thrown;
  }
}
