import type { Database } from './database.ts';
import { readColumns, tableName } from './evolve-table.ts';
import { fitColumn, type Rebuilt } from './fit-column.ts';
import { quoteIdentifier } from './identifiers.ts';
import { MARKED } from './marked-rows.ts';
import { listValues, matchOlder, matchValues } from './match-older.ts';

const MISSING = 'temp."~missing_rows"';

/** Rows of an older table to look for in a newer one, as conditions on its rows `o`. */
interface Candidates {
  readonly candidates: string;
  /** For the rows that are collected as marked. */
  readonly marked: string;
}

/** Which rows of an older table to look for in a newer one, and by which columns. */
export interface MissingRequest extends Rebuilt, Candidates {
  /** Key columns; if undefined, rows are equal when all their common columns are. */
  readonly key: readonly string[] | undefined;
}

/** Begins a collection of rows of an older table. */
export async function beginMissingRows(database: Database, older: string): Promise<void> {
  await database.run(
    `CREATE OR REPLACE TEMP TABLE "~missing_rows" AS SELECT o.* FROM ${tableName(older)} o WHERE false`,
  );
}

/**
 * Adds the candidates and the marked rows of an older table that are missing from a newer one, and returns their number.
 * Undefined if they cannot be found because a key column is missing from the older table.
 */
export async function findMissingRows(
  database: Database,
  request: MissingRequest,
): Promise<number | undefined> {
  const before = await countMissing(database, 'true');
  if (request.key === undefined) {
    await addMissingOccurrences(database, request, request);
  } else {
    const { older, newer } = request;
    const match = await matchOlder(database, request, request.key);
    if (match === undefined) return undefined;
    // Not a subquery of the condition: there, a column with the name of the outer table's alias would hide it.
    await database.run(`INSERT INTO ${MISSING} BY NAME SELECT o.*
      FROM ${selectCandidates(older, request)} o ANTI JOIN ${tableName(newer)} n ON ${match}`);
  }
  return (await countMissing(database, 'true')) - before;
}

/**
 * The same without a key: of equal rows, those are missing that the newer table has no more of. What it has stands first
 * for rows that are not candidates. A marked row does not equal a live one.
 */
async function addMissingOccurrences(
  database: Database,
  rebuilt: Rebuilt,
  candidates: Candidates,
): Promise<void> {
  const { older, newer } = rebuilt;
  const { olds: values, news } = await listValues(database, rebuilt);
  const names = values.map((_, at) => `_sluice_value_${at}`);
  const cells = (list: readonly string[]) =>
    list.map((value, at) => `${value} AS ${names[at] ?? ''}`).join(', ');
  const by = names.join(', ');
  const count = (from: string) => `SELECT ${by}, count(*) AS _sluice_rows FROM (${from}) GROUP BY ${by}`;
  const alike = (one: string) =>
    names.map((name) => `${one}.${name} IS NOT DISTINCT FROM r.${name}`).join(' AND ');
  const all = `SELECT ${cells(values)} FROM ${tableName(older)} o`;
  const earlier = `SELECT o.*, ${cells(values)} FROM ${selectCandidates(older, candidates)} o`;
  await database.run(`INSERT INTO ${MISSING} BY NAME
    WITH earlier AS (SELECT *, row_number() OVER (PARTITION BY ${by}) AS _sluice_nth FROM (${earlier})),
      held AS (${count(`SELECT ${cells(news)} FROM ${tableName(newer)} n`)}),
      others AS (${count(`(${all}) EXCEPT ALL (SELECT ${by} FROM earlier)`)})
    SELECT r.* EXCLUDE (${by}, _sluice_nth) FROM earlier r
      LEFT JOIN held h ON ${alike('h')} LEFT JOIN others x ON ${alike('x')}
      WHERE r._sluice_nth > greatest(coalesce(h._sluice_rows, 0) - coalesce(x._sluice_rows, 0), 0)`);
}

/**
 * Adds those whose key the newer table has with other values, which it loses: nothing changes them. Returns their number.
 *
 * @param apart columns that say nothing, as their values were cleared
 */
export async function takeBackRows(
  database: Database,
  request: MissingRequest & { readonly key: readonly string[] },
  apart: ReadonlySet<string>,
): Promise<number> {
  const { older, newer } = request;
  const match = await matchOlder(database, request, request.key);
  if (match === undefined) return 0;
  const same = await matchValues(database, request, apart);
  const rows = selectCandidates(older, request);
  await database.run(`CREATE OR REPLACE TEMP TABLE "~taken_rows" AS SELECT o.* FROM ${rows} o
    SEMI JOIN ${tableName(newer)} n ON ${match} AND NOT (${same})`);
  const taken = 'temp."~taken_rows"';
  await database.run(`DELETE FROM ${tableName(newer)} WHERE rowid IN
    (SELECT n.rowid FROM ${tableName(newer)} n SEMI JOIN ${taken} o ON ${match})`);
  await database.run(`INSERT INTO ${MISSING} BY NAME SELECT o.* FROM ${taken} o`);
  const count = await database.count(`SELECT count(*) FROM ${taken}`);
  await database.run(`DROP TABLE ${taken}`);
  return count;
}

/** Number of candidates and of marked rows in an older table. */
export async function countCandidates(
  database: Database,
  older: string,
  { candidates, marked }: Candidates,
): Promise<number> {
  return database.count(`SELECT count(*) FROM ${selectCandidates(older, { candidates, marked })} o`);
}

function selectCandidates(older: string, { candidates, marked }: Candidates): string {
  return `(SELECT o.* FROM ${tableName(older)} o WHERE ${candidates}
    UNION ALL BY NAME SELECT o.* FROM ${MARKED} o WHERE ${marked})`;
}

/** How a column of the newer table is computed from a row of the older one. */
export interface CarriedColumn {
  readonly name: string;
  readonly type: string;
  /** SQL over the older table's columns. */
  readonly value: string;
}

/**
 * How the collected rows fit the newer table, column by column. `lossy` lists columns whose values would be lost,
 * `extra` those that only the older table has and that hold values.
 */
export async function fitMissingRows(
  database: Database,
  { older, newer, seen }: Rebuilt,
  forgotten: ReadonlySet<string>,
): Promise<{
  readonly columns: readonly CarriedColumn[];
  readonly lossy: readonly string[];
  readonly extra: readonly { readonly name: string; readonly type: string }[];
}> {
  const olds = await readColumns(database, older);
  const news = await readColumns(database, newer);
  const columns: CarriedColumn[] = [];
  const lossy: string[] = [];
  for (const [name, type] of news) {
    const from = olds.get(name);
    if (from === undefined || forgotten.has(name)) continue;
    const { value, lost } = fitColumn(seen, { name, from, to: type });
    columns.push({ name, type, value });
    if (from !== type && (await countMissing(database, lost)) > 0) lossy.push(name);
  }
  const extra: { name: string; type: string }[] = [];
  for (const [name, type] of olds) {
    if (news.has(name) || forgotten.has(name)) continue;
    if ((await countMissing(database, `${quoteIdentifier(name)} IS NOT NULL`)) > 0)
      extra.push({ name, type });
  }
  return { columns, lossy, extra };
}

/** Columns of the older table with values that do not fit the types of the newer one. */
export async function findLossyColumns(database: Database, rebuilt: Rebuilt): Promise<readonly string[]> {
  const lossy: string[] = [];
  for (const { name, lost } of await listUnlike(database, rebuilt)) {
    if ((await database.count(`SELECT count(*) FROM ${tableName(rebuilt.older)} WHERE ${lost}`)) > 0)
      lossy.push(name);
  }
  return lossy;
}

/** Gives the columns of the older table the types of the newer one, which all values fit; call first in the transaction. */
export async function fitColumns(database: Database, rebuilt: Rebuilt): Promise<void> {
  for (const { name, type, value } of await listUnlike(database, rebuilt)) {
    await database.run(
      `ALTER TABLE ${tableName(rebuilt.older)} ALTER COLUMN ${quoteIdentifier(name)} SET DATA TYPE ${type} USING ${value}`,
    );
  }
}

/** The columns that have another type in the newer table. */
async function listUnlike(
  database: Database,
  { older, newer, seen }: Rebuilt,
): Promise<readonly (CarriedColumn & { readonly lost: string })[]> {
  const news = await readColumns(database, newer);
  return [...(await readColumns(database, older))].flatMap(([name, from]) => {
    const type = news.get(name);
    if (type === undefined || type === from) return [];
    return [{ name, type, ...fitColumn(seen, { name, from, to: type }) }];
  });
}

/** Inserts the collected rows into the newer table; call inside a transaction, after `addColumns`. */
export async function insertMissingRows(
  database: Database,
  newer: string,
  columns: readonly CarriedColumn[],
): Promise<void> {
  const select = columns.map(({ name, value }) => `${value} AS ${quoteIdentifier(name)}`);
  await database.run(`INSERT INTO ${tableName(newer)} BY NAME SELECT ${select.join(', ')} FROM ${MISSING}`);
}

/** Adds columns to a table; call first in the transaction. */
export async function addColumns(
  database: Database,
  table: string,
  columns: readonly { readonly name: string; readonly type: string }[],
): Promise<void> {
  for (const { name, type } of columns) {
    await database.run(`ALTER TABLE ${tableName(table)} ADD COLUMN ${quoteIdentifier(name)} ${type}`);
  }
}

export async function dropMissingRows(database: Database): Promise<void> {
  await database.run(`DROP TABLE IF EXISTS ${MISSING}`);
}

/** Renames a table. */
export async function renameTable(database: Database, from: string, to: string): Promise<void> {
  await database.run(`ALTER TABLE ${tableName(from)} RENAME TO ${quoteIdentifier(to)}`);
}

export async function dropTable(database: Database, table: string): Promise<void> {
  await database.run(`DROP TABLE IF EXISTS ${tableName(table)}`);
}

function countMissing(database: Database, where: string): Promise<number> {
  return database.count(`SELECT count(*) FROM ${MISSING} WHERE ${where}`);
}
