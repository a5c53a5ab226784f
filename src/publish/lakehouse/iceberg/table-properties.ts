import { z } from 'zod';
import type { SqlSession } from '../../../model/sql.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import { readMessage } from '../describe-failure.ts';
import { locateInLake, nameInLake, OWN_TABLES } from '../names.ts';

// Properties, most of them of the table `lake_commit`: the catalog has them, so that no file is read.

/** The version of each table that Sluice left, by name, as JSON. */
const VERSIONS = 'sluice.versions';
/** Whose rows the tables hold, as JSON. */
const OWNER = 'sluice.owner';
/** On every other table: it is not somebody else's. */
const MADE_BY = 'sluice.made-by';

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

/** What stands behind `CREATE TABLE` of every other table. */
export const TABLE_LABEL = `WITH (${quoteLiteral(MADE_BY)} = 'sluice')`;

/**
 * Drops our tables, whether they can be read or not. The table of the commit is last: while it is there, the others are
 * known to be ours.
 */
export async function dropTables(
  session: SqlSession,
  schema: string,
  names: readonly string[],
): Promise<void> {
  const ours = new Set([
    ...(await readVersions(session, schema)).keys(),
    ...[OWN_TABLES.tables, OWN_TABLES.parts].map((table) => `_sluice.${table}`),
  ]);
  for (const name of names)
    if ((await readText(session, locateInLake({ schema }, name), MADE_BY)) !== undefined) ours.add(name);
  for (const name of [...ours, `_sluice.${OWN_TABLES.commit}`])
    await session.run(`DROP TABLE IF EXISTS ${locateInLake({ schema }, name)}`);
}

async function readProperty(session: SqlSession, schema: string, key: string): Promise<Texts | undefined> {
  const text = await readText(session, nameInLake({ schema }, '_sluice', OWN_TABLES.commit), key);
  return text === undefined ? undefined : new Map(Object.entries(textsSchema.parse(JSON.parse(text))));
}

/** A property of a table; undefined without it, or without the table. */
async function readText(session: SqlSession, table: string, key: string): Promise<string | undefined> {
  const rows = await orUndefined(
    session.all(
      `SELECT value FROM iceberg_table_properties(${quoteLiteral(table)}) WHERE key = ${quoteLiteral(key)}`,
    ),
  );
  return rows?.map(({ value }) => String(value))[0];
}

function nameCommit(schema: string): string {
  return quoteLiteral(nameInLake({ schema }, '_sluice', OWN_TABLES.commit));
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
