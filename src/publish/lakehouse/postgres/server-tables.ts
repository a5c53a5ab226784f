import { z } from 'zod';
import type { SqlSession } from '../../../model/sql.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import { compareVersions, LEADING } from '../compare-versions.ts';
import type { Found, Inspection, Recorded, StoredColumn } from '../lakehouse.ts';
import { LAKE, locateInLake, nameInLake, nameThere, OWN_TABLES, toLakeSchema } from '../names.ts';
import { describeType } from './postgres-types.ts';

/** A table as the server lists it. */
export interface ServerTable {
  /** Another one after each change of its rows or columns. */
  readonly version: string;
  /** Names and types, as Postgres prints them. */
  readonly columns: ReadonlyMap<string, string>;
}

const columnsSchema = z.record(z.string(), z.string());
const versionsSchema = z.record(z.string(), z.string());

/** Runs a statement of Postgres in our transaction. */
export async function execute(session: SqlSession, statement: string): Promise<void> {
  await session.run(`CALL postgres_execute(${quoteLiteral(LAKE)}, ${quoteLiteral(statement)})`);
}

/** Runs a statement that changes tables; the engine then reads again which there are. */
export async function changeTables(session: SqlSession, statement: string): Promise<void> {
  await execute(session, statement);
  await session.run('CALL pg_clear_cache()');
}

/** Asks the server in our transaction. */
export function ask(session: SqlSession, query: string): ReturnType<SqlSession['all']> {
  return session.all(`SELECT * FROM postgres_query(${quoteLiteral(LAKE)}, ${quoteLiteral(query)})`);
}

/** Which of these names anything in a schema has; names of the engine have no case. */
export async function findTaken(
  session: SqlSession,
  schema: string,
  names: readonly string[],
): Promise<readonly string[]> {
  const wanted = names.map((name) => quoteLiteral(name.toLowerCase())).join(', ');
  const rows = await ask(
    session,
    `SELECT c.relname::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = ${quoteLiteral(schema)} AND lower(c.relname) IN (${wanted}) ORDER BY 1`,
  );
  return rows.map(({ name }) => String(name));
}

/**
 * Reads the server's counters with the first query of a transaction, which keeps both: what others write later is in none of
 * its rows, and would otherwise be in counters that are read later, so that nobody looked for it again.
 */
export async function holdCounters(session: SqlSession, schema: string): Promise<void> {
  await readServerTables(session, schema, []);
}

/** The tables of these names that are there, by their names in the work file. */
export async function readServerTables(
  session: SqlSession,
  schema: string,
  names: Iterable<string>,
): Promise<ReadonlyMap<string, ServerTable>> {
  const wanted = new Map([...names].map((name) => [nameThere(schema, name), name]));
  // The server counts what was written to a table, with what our transaction writes; there is no quicker trace of others.
  const written = ['inserted', 'updated', 'deleted'].map(
    (what) => `pg_stat_get_tuples_${what}(c.oid) + pg_stat_get_xact_tuples_${what}(c.oid)`,
  );
  const rows = await ask(
    session,
    `SELECT n.nspname || '.' || c.relname AS name, a.columns::text AS columns,
         concat_ws(' ', c.oid, c.relfilenode, md5(a.columns::text), ${written.join(', ')}) AS version
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       CROSS JOIN LATERAL (SELECT json_object_agg(attname, format_type(atttypid, atttypmod) ORDER BY attnum) AS columns
         FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) a
       WHERE c.relkind = 'r' AND n.nspname IN (${(['main', '_sluice'] as const)
         .map((stored) => quoteLiteral(toLakeSchema(schema, stored)))
         .join(', ')})`,
  );
  const tables = new Map<string, ServerTable>();
  for (const { name, columns, version } of rows) {
    const ours = wanted.get(String(name));
    if (ours === undefined) continue;
    const parsed = columnsSchema.parse(JSON.parse(typeof columns === 'string' ? columns : '{}'));
    tables.set(ours, { version: String(version), columns: new Map(Object.entries(parsed)) });
  }
  return tables;
}

/** Compares the tables with those that Sluice left. Columns, indexes and the like that others add may stay. */
export async function inspectServer(
  session: SqlSession,
  schema: string,
  recorded: Recorded,
): Promise<Inspection> {
  const now = await readServerTables(session, schema, [...recorded.tables.keys(), ...LEADING]);
  return compareVersions(
    {
      left: await readVersions(session, schema),
      findVersion: (name) => Promise.resolve(now.get(name)?.version),
      compareColumns: (name, columns) => Promise.resolve(compareColumns(columns, now.get(name))),
    },
    recorded,
  );
}

function compareColumns(recorded: readonly StoredColumn[], table: ServerTable | undefined): Found {
  if (table === undefined) return 'gone';
  return recorded.every((column) => table.columns.get(column.name) === describeType(column))
    ? 'as published'
    : 'altered';
}

/**
 * The versions are a comment on the table of the commit: they change with it. A server that does not count what is
 * written has none.
 */
async function readVersions(session: SqlSession, schema: string): Promise<ReadonlyMap<string, string>> {
  const [row] = await ask(
    session,
    `SELECT obj_description(c.oid, 'pg_class') AS versions FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = ${quoteLiteral(toLakeSchema(schema, '_sluice'))} AND c.relname = ${quoteLiteral(OWN_TABLES.commit)}
         AND current_setting('track_counts')::boolean`,
  );
  const text = row?.['versions'];
  return typeof text === 'string' ? parseVersions(text) : new Map();
}

/** A comment that somebody else wrote says nothing: all rows are compared then. */
function parseVersions(text: string): ReadonlyMap<string, string> {
  try {
    return new Map(Object.entries(versionsSchema.parse(JSON.parse(text))));
  } catch {
    return new Map();
  }
}

/** Records the versions that the tables have with this transaction. */
export async function recordVersions(session: SqlSession, schema: string): Promise<void> {
  const list = nameInLake({ schema }, '_sluice', OWN_TABLES.tables);
  const names = (await session.all(`SELECT name FROM ${list}`)).map(({ name }) => String(name));
  const tables = await readServerTables(session, schema, [...names, ...LEADING]);
  const versions = Object.fromEntries([...tables].map(([name, { version }]) => [name, version]));
  const commit = locateOnServer(schema, `_sluice.${OWN_TABLES.commit}`);
  await execute(session, `COMMENT ON TABLE ${commit} IS ${quoteLiteral(JSON.stringify(versions))}`);
}

/** A table in SQL of Postgres, by its name in the work file. */
export function locateOnServer(schema: string, name: string): string {
  return locateInLake({ schema }, name).slice(`"${LAKE}".`.length);
}
