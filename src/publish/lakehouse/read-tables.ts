import { chmod } from 'node:fs/promises';
import { PublishError, StorageError } from '../../model/errors.ts';
import type { SqlSession } from '../../model/sql.ts';
import type { Database } from '../../warehouse/database.ts';
import { ATTACHED } from '../../warehouse/database-options.ts';
import { quoteIdentifier } from '../../warehouse/identifiers.ts';
import { writeDatabase } from '../../warehouse/rewrite-file.ts';
import { describeHashes } from '../stored-values.ts';
import { adviseToRewrite } from './describe-failure.ts';
import { type HeldTables, readHeldTables } from './held-tables.ts';
import type { Lakehouse, RecordedTable } from './lakehouse.ts';
import { nameInLake, OWN_TABLES, splitName } from './names.ts';
import { inWork, readColumn } from './rows.ts';

/**
 * Opens a lakehouse as if it was the work file: a view for each table, with the types that it has there.
 *
 * @throws PublishError for one that is not there, or was never published to
 */
export async function openAsWorkFile(lakehouse: Lakehouse, folders: readonly string[]): Promise<Database> {
  const database = await lakehouse.open({
    mode: 'read',
    folders,
    prepare: async (session) => {
      // What is read must not depend on what somebody recorded of the values.
      await session.run(`SET disabled_optimizers = 'statistics_propagation'`);
      const held = await readTables(session, lakehouse);
      await session.run(`CREATE SCHEMA IF NOT EXISTS ${quoteIdentifier(ATTACHED)}._sluice`);
      for (const { name, select } of describeSelects(lakehouse, held))
        await session.run(`CREATE VIEW ${name} AS ${select}`);
    },
  });
  if (database === undefined) throw describeAbsence(lakehouse);
  return database;
}

/**
 * Creates a work file with everything that is published, whole or not at all.
 *
 * @throws StorageError for what cannot be read, or is not what was published
 */
export async function restoreTables(lakehouse: Lakehouse, file: string, spillFolder: string): Promise<void> {
  const { path } = lakehouse.destination;
  try {
    await writeDatabase(file, `${file}.restore`, async (temporary) => {
      const folders = [spillFolder];
      const database = await lakehouse.open({ mode: 'read', file: temporary, writesFile: true, folders });
      if (database === undefined) throw describeAbsence(lakehouse);
      try {
        await chmod(temporary, 0o600);
        await database.transaction(() => copyTables(database, lakehouse));
        await database.checkpoint();
      } finally {
        await database.release();
      }
    });
  } catch (thrown) {
    const error = lakehouse.describeFailure(thrown);
    throw new StorageError(`cannot restore the state from ${path}: ${error.message}`, {
      code: 'storage_failed',
      hint: `${error.hint} Nothing was deleted.`,
      context: { path },
      cause: thrown,
    });
  }
}

async function copyTables(database: Database, lakehouse: Lakehouse): Promise<void> {
  const held = await readTables(database, lakehouse);
  for (const [name, { found }] of held.tables)
    if (found !== 'as published') throw describeForeignRows(lakehouse.destination, name);
  if (held.meta.get('generation') !== held.generation)
    throw describeForeignRows(lakehouse.destination, 'the state');
  await database.run('CREATE SCHEMA _sluice');
  for (const { name, columns, select } of describeSelects(lakehouse, held)) {
    await database.run(`CREATE TABLE ${name} (${columns})`);
    await database.run(`INSERT INTO ${name} ${select}`);
  }
  await assertAsPublished(database, lakehouse, held);
}

/**
 * Another program may have changed rows, and a catalog that commits one table after the other may hold half a commit:
 * continuing from either would miss rows without a word.
 */
async function assertAsPublished(
  database: Database,
  { destination }: Lakehouse,
  held: HeldTables,
): Promise<void> {
  const own = (table: string) => nameInLake(destination, '_sluice', table);
  const [commit] = await database.all(`SELECT hashes FROM ${own(OWN_TABLES.commit)}`);
  const areComparable = commit?.['hashes'] === (await describeHashes(database));
  const recorded = await database.all(
    `SELECT name, sum(rows)::BIGINT AS rows, sum(sum::HUGEINT)::VARCHAR AS sum FROM ${own(OWN_TABLES.parts)} GROUP BY name`,
  );
  const wanted = new Map(recorded.map(({ name, rows, sum }) => [String(name), [Number(rows), String(sum)]]));
  for (const [name, { columns }] of held.tables) {
    const [stored, table] = splitName(name);
    const { from, hash } = inWork({ schema: stored, table, columns, datedBy: undefined });
    const [row] = await database.all(`SELECT count(*) AS rows, sum(${hash})::VARCHAR AS sum FROM ${from}`);
    const [rows = 0, sum] = wanted.get(name) ?? [];
    const isSame = Number(row?.['rows']) === rows && (rows === 0 || !areComparable || row?.['sum'] === sum);
    if (!isSame) throw describeForeignRows(destination, name);
  }
}

function describeForeignRows(destination: Lakehouse['destination'], what: string): PublishError {
  const { path } = destination;
  return new PublishError(`${what} is not what was published`, {
    code: 'publish_failed',
    hint: `Where there is another state folder with the last commit, run \`sluice sync\` there: it repairs what is published. If there is none, ${adviseToRewrite(destination)}`,
    context: { path },
  });
}

/** A table as SQL of the work file. */
interface TableSelect {
  readonly name: string;
  readonly columns: string;
  readonly select: string;
}

async function readTables(session: SqlSession, lakehouse: Lakehouse): Promise<HeldTables> {
  const held = await readHeldTables(session, lakehouse);
  if (held?.generation === undefined) throw describeAbsence(lakehouse);
  return held;
}

function describeSelects(lakehouse: Lakehouse, { tables }: HeldTables): readonly TableSelect[] {
  return [...tables].map(([name, table]) => describeSelect(lakehouse, name, table));
}

function describeSelect(lakehouse: Lakehouse, name: string, { columns }: RecordedTable): TableSelect {
  const [stored, table] = splitName(name);
  const values = columns.map((column) => `${readColumn(column)} AS ${quoteIdentifier(column.name)}`);
  return {
    name: [ATTACHED, stored, table].map(quoteIdentifier).join('.'),
    columns: columns.map((column) => `${quoteIdentifier(column.name)} ${column.type}`).join(', '),
    select: `SELECT ${values.join(', ')} FROM ${nameInLake(lakehouse.destination, stored, table)}`,
  };
}

function describeAbsence({ destination: { path }, title }: Lakehouse): PublishError {
  return new PublishError(`nothing was published to ${path} yet`, {
    code: 'publish_failed',
    hint: `Run \`sluice sync\`: it publishes to the ${title}.`,
    context: { path },
  });
}
