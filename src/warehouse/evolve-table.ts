import { StreamConfigError } from '../model/errors.ts';
import type { SchemaChange } from '../model/run-report.ts';
import type { ColumnType } from '../model/schema.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import type { Database } from './database.ts';
import type { Columns } from './file-shape.ts';
import { isUnknownTable } from './database-errors.ts';
import { defineColumn } from './define-column.ts';
import { quoteIdentifier } from './identifiers.ts';

/** Which of Sluice's own columns and tables a stream's table needs. */
export interface TableNeeds {
  /** `_slice`: the stream has slices. */
  readonly sliced: boolean;
  /** `_deleted_at`: rows that left the source are kept and marked. */
  readonly softDeletes: boolean;
  /** `<table>_history`: one row per version. */
  readonly history: boolean;
}

/** A stream's table before it is altered. */
interface TableBefore {
  readonly name: string;
  readonly exists: boolean;
}

const NO_NEEDS: TableNeeds = { sliced: false, softDeletes: false, history: false };

const SLICE = '_slice VARCHAR';
const DELETED_AT = '_deleted_at TIMESTAMPTZ';
const VERSION = ['_run_id VARCHAR', '_valid_from TIMESTAMPTZ', '_valid_to TIMESTAMPTZ'] as const;

/** The qualified, quoted name of a stream's table. */
export function tableName(table: string): string {
  return `main.${quoteIdentifier(table)}`;
}

/** Name of a table's history table. */
export function historyOf(table: string): string {
  return `${table}_history`;
}

/** Whether a stream's table exists. */
export async function tableExists(database: Database, table: string): Promise<boolean> {
  // In the file of a lake it is a view.
  return (await readColumns(database, table)).size > 0;
}

/** The columns of a table with their engine types; empty if there is no table. */
export function readColumns(database: Database, table: string): Promise<Columns> {
  return readColumnsOf(database, tableName(table));
}

/** The same for a table whose name is already SQL, with its schema. */
export function readColumnsOf(database: Database, name: string): Promise<Columns> {
  return database.shape.columns(name, async () => {
    try {
      // Three times as fast as searching the columns of all tables.
      const rows = await database.all(
        `SELECT name, type FROM pragma_table_info('"' || replace(current_database(), '"', '""') || '".' || $1)`,
        [name],
      );
      return new Map(rows.map((row) => [String(row['name']), String(row['type'])]));
    } catch (thrown) {
      if (isUnknownTable(thrown)) return new Map();
      throw thrown;
    }
  });
}

/**
 * Alters the table and its history, if any, to the planned columns. Call first in the transaction, as an ALTER must
 * precede other changes.
 */
export async function evolveTable(
  database: Database,
  { name: table, exists }: TableBefore,
  columns: readonly ColumnPlan[],
  needs: TableNeeds = NO_NEEDS,
): Promise<readonly SchemaChange[]> {
  const stored = columns.filter(({ type }) => type !== 'NULL');
  const before = exists ? await readColumns(database, table) : new Map<string, string>();
  refuseTakenNames(table, stored, before, needs);
  const changes = exists
    ? await alterTable(database, table, stored)
    : await createTable(database, table, stored, needs);
  if (exists && needs.sliced && !before.has('_slice')) await addColumn(database, table, SLICE);
  if (exists && needs.softDeletes && !before.has('_deleted_at')) await addColumn(database, table, DELETED_AT);
  const sliced = needs.sliced || before.has('_slice');
  await evolveHistory(database, table, stored, { history: needs.history, sliced });
  return changes;
}

async function createTable(
  database: Database,
  table: string,
  stored: readonly ColumnPlan[],
  needs: TableNeeds,
): Promise<readonly SchemaChange[]> {
  const definitions = [
    ...stored.map(defineColumn),
    ...(needs.sliced ? [SLICE] : []),
    '_run_id VARCHAR',
    '_synced_at TIMESTAMPTZ',
    ...(needs.softDeletes ? [DELETED_AT] : []),
  ];
  await database.run(`CREATE TABLE ${tableName(table)} (${definitions.join(', ')})`);
  return stored.map(({ name, type }) => ({
    column: name,
    change: 'added',
    fromType: undefined,
    toType: type,
  }));
}

async function alterTable(
  database: Database,
  table: string,
  stored: readonly ColumnPlan[],
): Promise<readonly SchemaChange[]> {
  const changes: SchemaChange[] = [];
  for (const plan of stored) {
    const { name, type, existingType } = plan;
    const column = quoteIdentifier(name);
    if (existingType === undefined || existingType === 'NULL') {
      await addColumn(database, table, defineColumn(plan));
      changes.push({ column: name, change: 'added', fromType: undefined, toType: type });
    } else if (existingType !== type) {
      await database.run(`ALTER TABLE ${tableName(table)} ALTER COLUMN ${column} SET DATA TYPE ${type}`);
      changes.push({ column: name, change: 'widened', fromType: existingType, toType: type });
    }
  }
  return changes;
}

/** The history uses the columns it has: even while it is switched off, its table must follow. */
async function evolveHistory(
  database: Database,
  table: string,
  stored: readonly ColumnPlan[],
  { history: wanted, sliced }: Pick<TableNeeds, 'history' | 'sliced'>,
): Promise<void> {
  const history = historyOf(table);
  const before = await readColumns(database, history);
  if (before.size === 0) {
    if (!wanted) return;
    const definitions = [...stored.map(defineColumn), ...(sliced ? [SLICE] : []), ...VERSION];
    await database.run(`CREATE TABLE ${tableName(history)} (${definitions.join(', ')})`);
    return;
  }
  if (!isHistory(before)) {
    if (!wanted) return;
    throw new StreamConfigError(
      `${table}: its history table name, ${history}, is already used by another stream`,
      {
        code: 'config_invalid',
        hint: `The tables are unchanged. Set streams.${table}.history to false, or rename the stream.`,
        context: { stream: table },
      },
    );
  }
  for (const plan of stored) {
    const { name, type } = plan;
    const had = before.get(name);
    if (had === undefined) await addColumn(database, history, defineColumn(plan));
    else if (had !== toEngineType(type))
      await retypeHistory(database, history, { column: name, from: had, to: type });
  }
  if (sliced && !before.has('_slice')) await addColumn(database, history, SLICE);
}

/** A column and the types of a cast; `From` is an engine type if a table names it. */
interface Cast<From extends string = ColumnType> {
  readonly column: string;
  readonly from: From;
  readonly to: ColumnType;
}

/**
 * Values of earlier versions that the type cannot hold are kept as text in the companion: a rebuilt table may have a
 * narrower type.
 */
async function retypeHistory(
  database: Database,
  history: string,
  { column: name, from, to }: Cast<string>,
): Promise<void> {
  const column = quoteIdentifier(name);
  const lost = `${column} IS NOT NULL AND TRY_CAST(TRY_CAST(${column} AS ${to}) AS ${from}) IS DISTINCT FROM ${column}`;
  if ((await database.count(`SELECT count(*) FROM ${tableName(history)} WHERE ${lost}`)) === 0) {
    await database.run(`ALTER TABLE ${tableName(history)} ALTER COLUMN ${column} SET DATA TYPE ${to}`);
    return;
  }
  const text = quoteIdentifier(`${name}__text`);
  const hasText = (await readColumns(database, history)).has(`${name}__text`);
  const asText = `CASE WHEN ${lost} THEN CAST(${column} AS VARCHAR) END`;
  const replaced = [
    `CASE WHEN ${lost} THEN NULL ELSE TRY_CAST(${column} AS ${to}) END AS ${column}`,
    ...(hasText ? [`coalesce(${text}, ${asText}) AS ${text}`] : []),
  ];
  const renewed = `${history}__renewed`;
  await database.run(`CREATE TABLE ${tableName(renewed)} AS
    SELECT * REPLACE (${replaced.join(', ')})${hasText ? '' : `, ${asText} AS ${text}`} FROM ${tableName(history)}`);
  await database.run(`DROP TABLE ${tableName(history)}`);
  await database.run(`ALTER TABLE ${tableName(renewed)} RENAME TO ${quoteIdentifier(history)}`);
}

/** Drops a column with all its values from a table and from its history. */
export async function dropColumn(database: Database, table: string, column: string): Promise<void> {
  for (const name of await listTablesWith(database, table, column)) {
    await database.run(`ALTER TABLE ${tableName(name)} DROP COLUMN ${quoteIdentifier(column)}`);
  }
}

/** Changes the type of a column in a table and its history, and clears all its values. */
export async function clearColumn(
  database: Database,
  table: string,
  column: string,
  type: ColumnType,
): Promise<void> {
  for (const name of await listTablesWith(database, table, column)) {
    await database.run(`ALTER TABLE ${tableName(name)} DROP COLUMN ${quoteIdentifier(column)}`);
    await addColumn(database, name, `${quoteIdentifier(column)} ${type}`);
  }
}

/** Whether every value of a column, including earlier versions, survives a cast to a type and back. */
export async function survivesCast(
  database: Database,
  table: string,
  { column, from, to }: Cast,
): Promise<boolean> {
  const name = quoteIdentifier(column);
  for (const held of await listTablesWith(database, table, column)) {
    const lost = await database.count(
      `SELECT count(*) FROM ${tableName(held)} WHERE ${name} IS NOT NULL
         AND TRY_CAST(TRY_CAST(${name} AS ${to}) AS ${from}) IS DISTINCT FROM ${name}`,
    );
    if (lost > 0) return false;
  }
  return true;
}

/** The table and its history, if they have the column. */
export async function listTablesWith(
  database: Database,
  table: string,
  column: string,
): Promise<readonly string[]> {
  const name = historyOf(table);
  if (!(await tableExists(database, name))) return [table];
  const history = await readColumns(database, name);
  return isHistory(history) && history.has(column) ? [table, name] : [table];
}

/** Whether columns are those of a history. */
export function isHistory(columns: ReadonlyMap<string, string>): boolean {
  return columns.has('_valid_from') && columns.has('_valid_to');
}

// A field may have had one of these names before Sluice reserved it.
function refuseTakenNames(
  table: string,
  stored: readonly ColumnPlan[],
  before: ReadonlyMap<string, string>,
  needs: TableNeeds,
): void {
  const names = new Set(stored.map(({ name }) => name));
  const ours = [...(needs.sliced ? ['_slice'] : []), ...(needs.history ? ['_valid_from', '_valid_to'] : [])];
  const taken = ours.filter((name) => names.has(name));
  const isVersions = isHistory(before) && !names.has('_valid_to');
  if (taken.length === 0 && !isVersions) return;
  throw new StreamConfigError(
    isVersions
      ? `${table}: a table of this name holds the versions of another stream's rows`
      : `${table}: the table has a field in its column ${taken.join(' and ')}, which Sluice reserves`,
    {
      code: 'config_invalid',
      hint: 'The table is unchanged. Rename the stream under streams; its path stays.',
      context: { stream: table },
    },
  );
}

async function addColumn(database: Database, table: string, definition: string): Promise<void> {
  await database.run(`ALTER TABLE ${tableName(table)} ADD COLUMN ${definition}`);
}

/** The engine's name for a column type. */
export function toEngineType(type: ColumnType): string {
  return type === 'TIMESTAMPTZ' ? 'TIMESTAMP WITH TIME ZONE' : type;
}
