import { ExactNumber } from '../json/exact-number.ts';
import type { ColumnType } from '../model/schema.ts';
import { decimalScale } from './column-types.ts';
import { classifyExactNumber, classifyString, Kind } from './field-kinds.ts';
import { companionSource, toFieldName } from './field-paths.ts';
import { pathKey } from './name-columns.ts';
import { isRecordObject } from './observe-fields.ts';
import type { ColumnPlan } from './resolve-columns.ts';

/** Writes one record as a flat JSON line, or throws when the record is not an object. */
export type ProjectRecord = (position: number, record: Readonly<Record<string, unknown>>) => string;

/**
 * Compiles columns into a function that turns a record into the line the engine reads: `i` is the
 * record's position in its scan, `c0`, `c1`, … its cells. The engine would round some numbers and
 * timestamps, so whatever is not safe with it goes as a string that SQL casts (see `cellReader`).
 */
export function compileProjection(columns: readonly ColumnPlan[]): ProjectRecord {
  const mains = new Map(
    columns.filter(({ companion }) => !companion).map((column) => [pathKey(column.path), column]),
  );
  const cells = columns.map((column, at) => {
    const path = companionSource(column.path) ?? column.path;
    return {
      prefix: `,"c${at}":`,
      path: path.map(toFieldName),
      type: column.type,
      accepts: column.companion ? acceptLeftOver(column, mains.get(pathKey(path))) : acceptOwn(column),
    };
  });
  return (position, record) => {
    let line = `{"i":${position}`;
    for (const { prefix, path, type, accepts } of cells) {
      const value = readPath(record, path);
      if (value === null || value === undefined) continue;
      if (accepts !== undefined && !accepts(value)) continue;
      line += prefix + cellText(value, type);
    }
    return `${line}}\n`;
  };
}

type Accepts = (value: unknown) => boolean;

// A column that takes every kind need not look at each value's.
function acceptOwn({ takes, type }: ColumnPlan): Accepts | undefined {
  const scale = decimalScale(type);
  if (scale !== undefined) return (value) => (kindOf(value) & takes) !== 0 && fitsDecimal(value, scale);
  return (takes & Kind.object) === 0 ? (value) => (kindOf(value) & takes) !== 0 : undefined;
}

function acceptLeftOver({ takes }: ColumnPlan, main: ColumnPlan | undefined): Accepts {
  const scale = main && decimalScale(main.type);
  return (value) =>
    (kindOf(value) & takes) !== 0 || (scale !== undefined && isNumber(value) && !fitsDecimal(value, scale));
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || value instanceof ExactNumber;
}

// The engine would round more decimals than a column has, and fail on more digits before the point.
function fitsDecimal(value: unknown, scale: number): boolean {
  if (typeof value === 'number') return String(Math.abs(value)).length <= 38 - scale;
  if (!(value instanceof ExactNumber)) return false;
  const digits = classifyExactNumber(value.text);
  return digits.scale <= scale && digits.whole <= 38 - scale;
}

/** The type `cellText` writes for a column, and the SQL that makes the column of it. */
export function cellReader(
  cell: string,
  type: ColumnType,
): { readonly readAs: string; readonly sql: string } {
  switch (type) {
    case 'BOOLEAN':
    case 'BIGINT':
    case 'HUGEINT':
    case 'DOUBLE':
    case 'VARCHAR':
      return { readAs: type, sql: cell };
    case 'NULL':
      return { readAs: 'VARCHAR', sql: cell };
    default:
      return { readAs: 'VARCHAR', sql: `CAST(${cell} AS ${type})` };
  }
}

function readPath(record: Readonly<Record<string, unknown>>, path: readonly string[]): unknown {
  let value: unknown = record;
  for (const name of path) {
    // Own members of objects only: a field may be called `constructor`, and an array has a `length`.
    if (!isRecordObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

function kindOf(value: unknown): number {
  switch (typeof value) {
    case 'string':
      return classifyString(value);
    case 'number':
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? Kind.safeInteger : Kind.double;
    case 'boolean':
      return Kind.boolean;
    default:
      if (value instanceof ExactNumber) return classifyExactNumber(value.text).kind;
      return Array.isArray(value) ? Kind.array : Kind.object;
  }
}

function cellText(value: unknown, type: ColumnType): string {
  switch (type) {
    case 'BOOLEAN':
    case 'BIGINT':
    case 'HUGEINT':
      return plainText(value);
    case 'DOUBLE':
      return Object.is(value, -0) ? '-0.0' : plainText(value);
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return quote(normalizeTimestamp(plainText(value)));
    case 'JSON':
      return quote(toJsonText(value));
    default:
      return quote(
        typeof value === 'object' && !(value instanceof ExactNumber) ? toJsonText(value) : plainText(value),
      );
  }
}

function plainText(value: unknown): string {
  if (value instanceof ExactNumber) return value.text;
  return Object.is(value, -0) ? '-0' : String(value);
}

// A lone surrogate has no UTF-8 form; the engine refuses a whole file for one.
function quote(text: string): string {
  return JSON.stringify(text.toWellFormed());
}

const LONE_SURROGATE_ESCAPE = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

function toJsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('\\ud') ? text.replace(LONE_SURROGATE_ESCAPE, '$1\\ufffd') : text;
}

/** One ISO spelling of the timestamps `classifyString` accepts; the engine does not read them all. */
function normalizeTimestamp(text: string): string {
  const day = text.slice(0, 10);
  const rest = text.slice(11).replace(',', '.');
  const zoneAt = rest.search(/[Zz+-]/);
  const time = zoneAt === -1 ? rest : rest.slice(0, zoneAt);
  const zone = zoneAt === -1 ? '' : rest.slice(zoneAt);
  const offset =
    zone === '' || zone === 'Z' || zone === 'z'
      ? zone && '+00:00'
      : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
  return `${day} ${time.length === 5 ? `${time}:00` : time}${offset}`;
}
