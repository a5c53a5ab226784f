import type { Database } from './database.ts';
import { quoteIdentifier } from './identifiers.ts';
import { INCOMING } from './incoming.ts';

const SAMPLE_ROWS = 20_000;
// Each statement counts this many sets, so that a wide search takes few passes over a sample.
const SETS_PER_STATEMENT = 24;
const MOST_PROOFS = 8;

/**
 * The first proposed set of columns that is unique over all incoming rows, or undefined. A set that repeats in a
 * sample is not tried on all rows.
 */
export async function findKey(
  database: Database,
  proposals: readonly (readonly string[])[],
): Promise<readonly string[] | undefined> {
  const rows = await database.count(`SELECT count(*) FROM ${INCOMING}`);
  // One row proves nothing: each of its fields is unique.
  if (rows < 2) return undefined;
  // If all columns together are not unique, no subset is.
  const all = [...new Set(proposals.flat())];
  if (all.length === 0 || (await uniqueInSample(database, [all])).length === 0) return undefined;
  let proofs = 0;
  for (let at = 0; at < proposals.length && proofs < MOST_PROOFS; at += SETS_PER_STATEMENT) {
    const sets = proposals.slice(at, at + SETS_PER_STATEMENT);
    for (const set of await uniqueInSample(database, sets)) {
      proofs += 1;
      if (rows <= SAMPLE_ROWS || (await countDuplicates(database, INCOMING, set)) === 0) return set;
      if (proofs >= MOST_PROOFS) break;
    }
  }
  return undefined;
}

async function uniqueInSample(
  database: Database,
  sets: readonly (readonly string[])[],
): Promise<readonly (readonly string[])[]> {
  const counts = sets.map((set, at) => `count(DISTINCT ${rowOf(set)}) AS d${at}`).join(', ');
  const [row = {}] = await database.all(
    `SELECT count(*) AS n, ${counts} FROM (SELECT * FROM ${INCOMING} ORDER BY _sluice_position LIMIT ${SAMPLE_ROWS})`,
  );
  return sets.filter((_, at) => row[`d${at}`] === row['n']);
}

/** Number of rows of a table beyond the first of each key. */
export function countDuplicates(database: Database, table: string, key: readonly string[]): Promise<number> {
  return database.count(
    `SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM ${table} GROUP BY ${key.map(quoteIdentifier).join(', ')})`,
  );
}

/** Number of rows without a value for a key field; each field is given by the columns that may hold it. */
export function countMissingKeys(
  database: Database,
  table: string,
  fields: readonly (readonly string[])[],
): Promise<number> {
  return database.count(`SELECT count(*) FROM ${table} WHERE ${isKeyMissing(fields)}`);
}

/** Condition for rows without a value for a key field. */
export function isKeyMissing(fields: readonly (readonly string[])[]): string {
  const lacks = (columns: readonly string[]) =>
    `(${columns.map((name) => `${quoteIdentifier(name)} IS NULL`).join(' AND ')})`;
  return fields.map(lacks).join(' OR ');
}

function rowOf(columns: readonly string[]): string {
  return `row(${columns.map(quoteIdentifier).join(', ')})`;
}
