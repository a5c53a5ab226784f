import { z } from 'zod';
import type { SqlSession } from '../../../model/sql.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import { readMessage } from '../describe-failure.ts';
import { nameInLake, OWN_TABLES, splitName } from '../names.ts';

// Properties of the table `lake_commit`: the catalog has them, so that no file is read.

/** The version of each table that Sluice left, by name, as JSON. */
const VERSIONS = 'sluice.versions';
/** Whose rows the tables hold, as JSON. */
const OWNER = 'sluice.owner';

const textsSchema = z.record(z.string(), z.string());
type Texts = ReadonlyMap<string, string>;

/** The versions of the tables that Sluice left. */
export async function readVersions(session: SqlSession, schema: string): Promise<Texts> {
  return (await readProperty(session, schema, VERSIONS)) ?? new Map();
}

export async function writeVersions(session: SqlSession, schema: string, versions: Texts): Promise<void> {
  const pair = `${quoteLiteral(VERSIONS)}: ${quoteLiteral(toJson(versions))}`;
  await session.run(`CALL set_iceberg_table_properties(${nameCommit(schema)}, {${pair}})`);
}

/** What stands behind `CREATE TABLE` of `lake_commit`. */
export function describeLabel(owner: Texts): string {
  return `WITH (${quoteLiteral(OWNER)} = ${quoteLiteral(toJson(owner))})`;
}

export function readLabel(session: SqlSession, schema: string): Promise<Texts | undefined> {
  return readProperty(session, schema, OWNER);
}

/** Drops all tables of ours, whether they can be read or not. */
export async function dropTables(
  session: SqlSession,
  schema: string,
  names: readonly string[],
): Promise<void> {
  const left = await readVersions(session, schema);
  const own = Object.values(OWN_TABLES).map((table) => `_sluice.${table}`);
  for (const name of new Set([...left.keys(), ...names, ...own]))
    await session.run(`DROP TABLE IF EXISTS ${nameInLake(schema, ...splitName(name))}`);
}

async function readProperty(session: SqlSession, schema: string, key: string): Promise<Texts | undefined> {
  const rows = await orUndefined(
    session.all(
      `SELECT value FROM iceberg_table_properties(${nameCommit(schema)}) WHERE key = ${quoteLiteral(key)}`,
    ),
  );
  const [row] = rows ?? [];
  if (row === undefined) return undefined;
  return new Map(Object.entries(textsSchema.parse(JSON.parse(String(row['value'])))));
}

function nameCommit(schema: string): string {
  return quoteLiteral(nameInLake(schema, '_sluice', OWN_TABLES.commit));
}

function toJson(texts: Texts): string {
  return JSON.stringify(Object.fromEntries(texts));
}

/** Undefined where the table, or its namespace, does not exist. */
export async function orUndefined<T>(rows: Promise<T>): Promise<T | undefined> {
  try {
    return await rows;
  } catch (error) {
    if (/Catalog Error: Table with name .* does not exist/s.test(readMessage(error))) return undefined;
    throw error;
  }
}
