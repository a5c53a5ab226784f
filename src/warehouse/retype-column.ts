import type { SchemaChange } from '../model/run-report.ts';
import type { ColumnType, ForcedType, JsonType } from '../model/schema.ts';
import type { Database } from './database.ts';
import { listTablesWith, readColumns, tableName } from './evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';

/** A column whose type changes, together with its companion. */
export interface Retyping {
  readonly column: string;
  readonly from: ColumnType;
  readonly to: ForcedType;
  /** JSON types that its field had; undefined if they are not recorded. */
  readonly jsonTypes: readonly JsonType[] | undefined;
  /** Companion column for values that the type cannot hold; undefined if there is none. */
  readonly companion: string | undefined;
  /** `replaced`: the type was set by config. */
  readonly change: 'replaced' | 'widened';
}

/** Whether every value of a column, including earlier versions, can be converted to a type unchanged. */
export async function convertsExactly(
  database: Database,
  table: string,
  { column, from, to, jsonTypes }: Pick<Retyping, 'column' | 'from' | 'to' | 'jsonTypes'>,
): Promise<boolean> {
  const { lost } = convertColumn(quoteIdentifier(column), { from, to, jsonTypes });
  for (const held of await listTablesWith(database, table, column))
    if ((await database.count(`SELECT count(*) FROM ${tableName(held)} WHERE ${lost}`)) > 0) return false;
  return true;
}

/** The digits before and behind the point that the numbers of a column have, in the table and in its history. */
export async function listDigits(
  database: Database,
  table: string,
  column: string,
): Promise<readonly { readonly whole: number; readonly scale: number }[]> {
  const name = quoteIdentifier(column);
  // Beyond the digits of a decimal, only how many there are counts: more than fit.
  const digits = `coalesce(${spellDigits(name)}, repeat('9', 39))`;
  const all: { whole: number; scale: number }[] = [];
  for (const held of await listTablesWith(database, table, column)) {
    const [row] = await database.all(
      `SELECT max(length(ltrim(split_part(d, '.', 1), '-0'))) AS whole, max(length(split_part(d, '.', 2))) AS scale
         FROM (SELECT ${digits} AS d FROM ${tableName(held)} WHERE ${name} IS NOT NULL)`,
    );
    all.push({ whole: Number(row?.['whole'] ?? 0), scale: Number(row?.['scale'] ?? 0) });
  }
  return all;
}

/**
 * Changes the type of a column in the table and its history. Values that the type cannot hold move to the companion
 * as text; values that it can now hold move back. Uses only ALTERs, so that it can precede other changes of the
 * transaction.
 */
export async function retypeColumn(
  database: Database,
  table: string,
  { column, from, to, jsonTypes, companion, change }: Retyping,
): Promise<readonly SchemaChange[]> {
  const name = quoteIdentifier(column);
  const { value, survives, lost, text } = convertColumn(name, { from, to, jsonTypes });
  let isNew = false;
  for (const held of await listTablesWith(database, table, column)) {
    const alter = `ALTER TABLE ${tableName(held)}`;
    if (companion === undefined) {
      await database.run(`${alter} ALTER COLUMN ${name} SET DATA TYPE ${to} USING ${value}`);
      continue;
    }
    const beside = quoteIdentifier(companion);
    const setBeside = `${alter} ALTER COLUMN ${beside} SET DATA TYPE VARCHAR USING`;
    if (!(await readColumns(database, held)).has(companion)) {
      await database.run(`${alter} ADD COLUMN ${beside} VARCHAR`);
      isNew ||= held === table;
    }
    await database.run(`${setBeside} coalesce(${beside}, CASE WHEN ${lost} THEN ${text} END)`);
    // It is no longer known whether such a text was a text, a number or a list, which differ as JSON.
    const back = to === 'JSON' ? 'NULL' : castText(beside, to);
    await database.run(
      `${alter} ALTER COLUMN ${name} SET DATA TYPE ${to} USING
         CASE WHEN ${name} IS NULL THEN ${back} WHEN ${survives} THEN ${value} END`,
    );
    await database.run(`${setBeside} CASE WHEN ${name} IS NULL THEN ${beside} END`);
  }
  return [
    { column, change, fromType: from, toType: to },
    ...(isNew && companion !== undefined
      ? [{ column: companion, change: 'added', fromType: undefined, toType: 'VARCHAR' } as const]
      : []),
  ];
}

/** SQL for a column: its values in another type, which of them survive, which do not, and all of them as text. */
interface ConvertedColumn {
  readonly value: string;
  readonly survives: string;
  readonly lost: string;
  readonly text: string;
}

/** From which type to which, by the engine's names or ours. */
export interface Conversion {
  readonly from: string;
  readonly to: string;
  /** JSON types that its field had; undefined if they are not recorded. */
  readonly jsonTypes: readonly JsonType[] | undefined;
}

/**
 * Column values are converted like values of the API (see `convertValue`): both use the text of a value. Conversions
 * that only the engine accepts (1 as true, a date as a timestamp) are not allowed.
 */
export function convertColumn(column: string, conversion: Conversion): ConvertedColumn {
  const text = spellValue(column, conversion.from);
  const { value, survives } = convertValues(column, text, conversion);
  const lost = survives === 'true' ? 'false' : `(${column} IS NOT NULL AND (${survives}) IS NOT TRUE)`;
  return { value, survives, lost, text };
}

function convertValues(
  column: string,
  text: string,
  { from, to, jsonTypes }: Conversion,
): Pick<ConvertedColumn, 'value' | 'survives'> {
  if (from === to) return { value: column, survives: 'true' };
  if (to === 'VARCHAR') return { value: text, survives: 'true' };
  if (to === 'JSON' && from === 'VARCHAR') return convertText(column, jsonTypes);
  if (to === 'JSON') return { value: toJson(column, from, text), survives: 'true' };
  const type = (to === 'TIMESTAMP WITH TIME ZONE' ? 'TIMESTAMPTZ' : to) as ForcedType;
  const value = castText(from === 'DOUBLE' ? spellDigits(column) : text, type);
  return { value, survives: `${value} IS NOT NULL` };
}

/** A text as JSON. Where a field had texts among other values, nobody knows which were which: all count as texts. */
function convertText(column: string, jsonTypes: readonly JsonType[] | undefined) {
  if (jsonTypes?.includes('string') !== false) return { value: `to_json(${column})`, survives: 'true' };
  const value = `TRY_CAST(${column} AS JSON)`;
  return { value, survives: `${value} IS NOT NULL` };
}

/** SQL for a column's values as the API would have written them; the original format of timestamps is not known. */
export function spellValue(column: string, type: string): string {
  const plain = `CAST(${column} AS VARCHAR)`;
  switch (type) {
    case 'JSON':
      // In a JSON column only texts have quotes; other values are their own text.
      return `CASE WHEN json_type(${column}) = 'VARCHAR' THEN ${column} ->> '$' ELSE ${plain} END`;
    case 'DOUBLE':
      return spellDouble(column);
    case 'TIMESTAMP':
      return spellTime(column);
    case 'TIMESTAMPTZ':
    // The engine's name for it.
    case 'TIMESTAMP WITH TIME ZONE':
      return `${spellTime(`timezone('UTC', ${column})`)} || 'Z'`;
    default:
      return type.startsWith('DECIMAL') ? withoutZeros(plain) : plain;
  }
}

/** Formats a number like JavaScript: digits from 1e-6 to below 1e21, else an exponent without leading zeros. */
function spellDouble(column: string): string {
  const text = `CAST(${column} AS VARCHAR)`;
  return `CASE WHEN NOT contains(${text}, 'e') THEN regexp_replace(${text}, '[.]0$', '')
    WHEN abs(${column}) >= 1e21 OR abs(${column}) < 1e-6 THEN regexp_replace(${text}, 'e([+-])0', 'e\\1')
    WHEN abs(${column}) >= 1 THEN CAST(CAST(${text} AS DECIMAL(38,0)) AS VARCHAR)
    ELSE ${withoutZeros(`CAST(CAST(${text} AS DECIMAL(38,25)) AS VARCHAR)`)} END`;
}

/** The digits of a number, without an exponent; NULL if the engine's decimals cannot hold them. */
function spellDigits(column: string): string {
  const text = `CAST(${column} AS VARCHAR)`;
  const digits = `CASE WHEN abs(${column}) >= 1 THEN CAST(TRY_CAST(${text} AS DECIMAL(38,0)) AS VARCHAR)
    ELSE ${withoutZeros(`CAST(TRY_CAST(${text} AS DECIMAL(38,37)) AS VARCHAR)`)} END`;
  return `CASE WHEN NOT contains(${text}, 'e') THEN ${spellDouble(column)} WHEN TRY_CAST(${digits} AS DOUBLE) = ${column} THEN ${digits} END`;
}

function spellTime(column: string): string {
  return withoutZeros(`strftime(${column}, '%Y-%m-%dT%H:%M:%S.%f')`);
}

/** SQL for a text without trailing zeros in its decimals, nor a trailing point. */
function withoutZeros(text: string): string {
  return `CASE WHEN contains(${text}, '.') THEN regexp_replace(${text}, '[.]?0*$', '') ELSE ${text} END`;
}

/** SQL for a column's values as JSON, given the SQL for their text. */
export function toJson(column: string, from: string, text: string): string {
  const isPlain =
    ['BOOLEAN', 'INTEGER', 'BIGINT', 'HUGEINT', 'DOUBLE'].includes(from) || from.startsWith('DECIMAL');
  // The engine would convert a long number to a double.
  if (isPlain) return `TRY_CAST(${text} AS JSON)`;
  return from === 'JSON' ? column : `to_json(${text})`;
}

const DAY = '[0-9]{4}-[0-9]{2}-[0-9]{2}';
const TIME = '[T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]{1,6})?)?';
const ZONE = '([Zz]|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?)';
const WHOLE = '-?(0|[1-9][0-9]*)';

/**
 * SQL for a text as a value of a type, or NULL if the text is not in the type's format: the engine's own casts accept
 * too much. The types are those of `convertValue`.
 */
export function castText(text: string, to: ForcedType): string {
  const when = (pattern: string, value: string, more = '') =>
    `CASE WHEN regexp_full_match(${text}, ${quoteLiteral(pattern)})${more} THEN ${value} END`;
  const plain = `TRY_CAST(${text} AS ${to})`;
  // The engine accepts a year 0.
  const dated = ` AND left(${text}, 4) <> '0000'`;
  switch (to) {
    case 'VARCHAR':
      return text;
    case 'JSON':
      return `to_json(${text})`;
    case 'BOOLEAN':
      return when('true|false', plain);
    case 'BIGINT':
    case 'HUGEINT':
      return castDigits(text, `${WHOLE}([.]0+)?`, to);
    case 'DOUBLE': {
      // A double holds a number exactly if it formats back to the same text or has at most fifteen digits.
      const isHeld = `${spellDouble(plain)} = ${withoutZeros(text)}`;
      return `CASE WHEN ${isNumber(text)} AND ${isHeld} OR ${isShort(text)} THEN ${plain} END`;
    }
    case 'DATE':
      return when(DAY, plain, dated);
    case 'TIMESTAMP':
      return when(DAY + TIME, `TRY_CAST(${normalizeTime(text)} AS ${to})`, dated);
    case 'TIMESTAMPTZ':
      return when(DAY + TIME + ZONE, `TRY_CAST(${normalizeTime(text)} AS ${to})`, dated);
    default: {
      const scale = Number(/,(\d+)\)$/.exec(to)?.[1] ?? 0);
      const digits = scale === 0 ? `${WHOLE}([.]0+)?` : `${WHOLE}([.][0-9]{1,${scale}}0*)?`;
      return castDigits(text, digits, to);
    }
  }
}

/** A number with an exponent is converted to its digits. */
function castDigits(text: string, pattern: string, to: ForcedType): string {
  const digits = `CASE WHEN ${isShort(text)} THEN ${spellDigits(`TRY_CAST(${text} AS DOUBLE)`)} ELSE ${text} END`;
  return `CASE WHEN regexp_full_match(${digits}, ${quoteLiteral(pattern)}) THEN TRY_CAST(${digits} AS ${to}) END`;
}

function isNumber(text: string): string {
  return `regexp_full_match(${text}, '${WHOLE}([.][0-9]+)?')`;
}

/** SQL: whether a text is a number with an exponent that a double holds exactly. */
function isShort(text: string): string {
  return `(regexp_full_match(${text}, '${WHOLE}([.][0-9]+)?[eE][+-]?[0-9]{1,2}')
    AND length(regexp_replace(${text}, '[eE].*|[-.]', '', 'g')) <= 15)`;
}

/** SQL for the one timestamp format that the engine reads, as a projection writes it. */
function normalizeTime(text: string): string {
  const point = `replace(${text}, ',', '.')`;
  const seconds = `regexp_replace(${point}, '^(.{11}[0-9]{2}:[0-9]{2})([Zz+-]|$)', '\\1:00\\2')`;
  const utc = `regexp_replace(${seconds}, '[Zz]$', '+00:00')`;
  const zone = `regexp_replace(${utc}, '([+-][0-9]{2}):?([0-9]{2})$', '\\1:\\2')`;
  // After the date, whose dashes do not belong to an offset.
  return `left(${text}, 10) || ' ' || regexp_replace(substr(${zone}, 12), '([+-][0-9]{2})$', '\\1:00')`;
}
