import type { ComparedRow } from '../model/reports.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import type { Database } from './database.ts';
import { readColumns, tableName, toEngineType } from './evolve-table.ts';
import { measureKeyedChance, measureKeylessChance } from './equal-by-chance.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { readScope } from './live-rows.ts';
import { INCOMING } from './incoming.ts';

/** How incoming rows are compared with those of a table. */
export interface CompareRequest {
  readonly table: string;
  readonly slice: string;
  readonly columns: readonly ColumnPlan[];
  /** If undefined, rows are equal when all their columns are. */
  readonly key: readonly string[] | undefined;
  /** All rows were read: other rows of the table are extra. */
  readonly isWhole: boolean;
  /** Maximum number of examples of each kind. */
  readonly show: number;
  /** Whether columns that the table does not have are compared too, as empty there. */
  readonly withNewColumns?: boolean;
  /** Whether to measure how likely rows are equal by chance. */
  readonly withChance?: boolean;
}

export interface RowDifferences {
  readonly rowsCompared: number;
  /** Whether each was compared with the row of its key. */
  readonly hasKey: boolean;
  readonly rowsInTable: number;
  readonly missing: number;
  readonly extra: number | undefined;
  readonly differing: number;
  /** How likely a row of another account would be equal, 0 to 1; 0 unless it was asked for. */
  readonly chance: number;
  readonly examples: readonly ComparedRow[];
  /** Columns that only the incoming rows have. */
  readonly unknownColumns: readonly string[];
}

interface ComparedColumn extends ColumnPlan {
  /** The table does not have it. */
  readonly isNew: boolean;
}

const THEIRS = 'temp."~theirs"';
const OURS = 'temp."~ours"';
const EXAMPLE_COLUMNS = 8;

/** Compares the table `incoming` with a table, or a slice of it; changes neither. */
export async function compareRows(database: Database, request: CompareRequest): Promise<RowDifferences> {
  const held = await readColumns(database, request.table);
  const stored = request.columns.filter(({ type }) => type !== 'NULL');
  const marked = stored.map((column) => ({ ...column, isNew: !held.has(column.name) }));
  const compared = marked.filter(({ isNew }) => !isNew || request.withNewColumns === true);
  const names = compared.map(({ name }) => name);
  const key =
    request.key?.every((name) => held.has(name) && names.includes(name)) === true ? request.key : undefined;
  await prepare(database, request, compared, key);
  const found =
    key === undefined
      ? await compareWhole(database, request, names)
      : await compareByKey(database, request, names, key);
  const rowsInTable = await database.count(`SELECT count(*) FROM ${OURS}`);
  const rowsCompared = await database.count(`SELECT count(*) FROM ${THEIRS}`);
  for (const table of [THEIRS, OURS]) await database.run(`DROP TABLE ${table}`);
  return {
    ...found,
    rowsCompared,
    hasKey: key !== undefined,
    rowsInTable,
    unknownColumns: marked.filter(({ isNew }) => isNew).map(({ name }) => name),
  };
}

/** Gives both sides the same columns and types. If rows have the same key, the last one counts, as in a sync. */
async function prepare(
  database: Database,
  { table, slice }: CompareRequest,
  columns: readonly ComparedColumn[],
  key: readonly string[] | undefined,
): Promise<void> {
  const names = columns.map(({ name }) => quoteIdentifier(name));
  const last =
    key === undefined
      ? ''
      : `QUALIFY row_number() OVER (PARTITION BY ${key.map(quoteIdentifier).join(', ')} ORDER BY _sluice_position DESC) = 1`;
  await database.run(
    `CREATE OR REPLACE TEMP TABLE "~theirs" AS SELECT ${['_sluice_position', ...names].join(', ')} FROM ${INCOMING} ${last}`,
  );
  const { own, live } = await readScope(database, table, slice);
  const cells = columns.map(
    ({ name, type, isNew }) =>
      `TRY_CAST(${isNew ? 'NULL' : quoteIdentifier(name)} AS ${toEngineType(type)}) AS ${quoteIdentifier(name)}`,
  );
  await database.run(
    `CREATE OR REPLACE TEMP TABLE "~ours" AS SELECT ${cells.join(', ') || '1 AS one'} FROM ${tableName(table)} t WHERE ${own} AND ${live}`,
  );
}

type Found = Pick<RowDifferences, 'missing' | 'extra' | 'differing' | 'chance' | 'examples'>;

const SIDES = { theirs: THEIRS, ours: OURS };

async function compareByKey(
  database: Database,
  { isWhole, show, withChance = false }: CompareRequest,
  names: readonly string[],
  key: readonly string[],
): Promise<Found> {
  const match = equal(key);
  const values = names.filter((name) => !key.includes(name));
  const differs =
    values
      .map((name) => `s.${quoteIdentifier(name)} IS DISTINCT FROM t.${quoteIdentifier(name)}`)
      .join(' OR ') || 'false';
  // Not a subquery: there, a column with the name of the outer table's alias would hide it.
  const lacking = `FROM ${THEIRS} s ANTI JOIN ${OURS} t ON ${match}`;
  const beyond = `FROM ${OURS} t ANTI JOIN ${THEIRS} s ON ${match}`;
  const other = `FROM ${THEIRS} s JOIN ${OURS} t ON ${match} WHERE ${differs}`;
  const pairs = values.flatMap((name) => [
    toJson(`s.${quoteIdentifier(name)}`),
    toJson(`t.${quoteIdentifier(name)}`),
  ]);
  const examples: ComparedRow[] = [];
  for (const [row = ''] of await read(database, `SELECT ${describeRow('s', key)} ${lacking} ${first(show)}`))
    examples.push({ what: 'missing', row, values: undefined });
  const differing = `SELECT ${[describeRow('s', key), ...pairs].join(', ')} ${other} ${first(show)}`;
  for (const [row = '', ...cells] of await read(database, differing))
    examples.push({ what: 'differing', row, values: pickDifferent(values, cells) });
  const extra = isWhole ? `SELECT ${describeRow('t', key)} ${beyond} ${first(show)}` : undefined;
  for (const [row = ''] of extra === undefined ? [] : await read(database, extra))
    examples.push({ what: 'extra', row, values: undefined });
  return {
    missing: await database.count(`SELECT count(*) ${lacking}`),
    extra: isWhole ? await database.count(`SELECT count(*) ${beyond}`) : undefined,
    differing: await database.count(`SELECT count(*) ${other}`),
    chance: withChance ? await measureKeyedChance(database, SIDES, match, values) : 0,
    examples,
  };
}

async function compareWhole(
  database: Database,
  { isWhole, show, withChance = false }: CompareRequest,
  names: readonly string[],
): Promise<Found> {
  const columns = names.map(quoteIdentifier).join(', ') || '1';
  const theirs = `SELECT ${columns} FROM ${THEIRS}`;
  const ours = `SELECT ${columns} FROM ${OURS}`;
  // The table may have several copies of a sampled row: duplicates are only counted if everything was read.
  const lacking = isWhole ? `(${theirs} EXCEPT ALL ${ours})` : `(${theirs} EXCEPT ${ours})`;
  const beyond = `(${ours} EXCEPT ALL ${theirs})`;
  const examples: ComparedRow[] = [];
  const shown = describeRow('r', names.slice(0, EXAMPLE_COLUMNS));
  for (const [row = ''] of await read(database, `SELECT ${shown} FROM ${lacking} r ${first(show)}`))
    examples.push({ what: 'missing', row, values: undefined });
  const extra = isWhole ? `SELECT ${shown} FROM ${beyond} r ${first(show)}` : undefined;
  for (const [row = ''] of extra === undefined ? [] : await read(database, extra))
    examples.push({ what: 'extra', row, values: undefined });
  return {
    missing: await database.count(`SELECT count(*) FROM ${lacking}`),
    extra: isWhole ? await database.count(`SELECT count(*) FROM ${beyond}`) : undefined,
    differing: 0,
    chance: withChance ? await measureKeylessChance(database, SIDES, names) : 0,
    examples,
  };
}

function equal(key: readonly string[]): string {
  return key
    .map((one) => `s.${quoteIdentifier(one)} IS NOT DISTINCT FROM t.${quoteIdentifier(one)}`)
    .join(' AND ');
}

async function read(database: Database, sql: string): Promise<readonly (readonly string[])[]> {
  return (await database.query(sql, Infinity)).rows.map((row) => row.map((cell) => String(cell)));
}

function first(show: number): string {
  return `ORDER BY 1 LIMIT ${show}`;
}

function describeRow(alias: string, columns: readonly string[]): string {
  const members = columns.map((name) => `${quoteLiteral(name)}, ${alias}.${quoteIdentifier(name)}`);
  return `json_object(${members.join(', ')})::VARCHAR`;
}

function toJson(value: string): string {
  return `coalesce(to_json(${value})::VARCHAR, 'null')`;
}

function pickDifferent(columns: readonly string[], cells: readonly string[]): string {
  const pairs = columns.map((name, at) => ({
    name,
    theirs: cells[2 * at] ?? '',
    ours: cells[2 * at + 1] ?? '',
  }));
  const different = pairs.filter(({ theirs, ours }) => theirs !== ours);
  return `{${different.map(({ name, theirs, ours }) => `${JSON.stringify(name)}:[${theirs},${ours}]`).join(',')}}`;
}
