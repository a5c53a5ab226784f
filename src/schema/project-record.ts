import { ExactNumber, isJsonNumber } from '../json/exact-number.ts';
import type { ColumnType, ForcedType } from '../model/schema.ts';
import { decimalRoom, kindsHeldBy } from './column-types.ts';
import { convertExact, convertValue, toPlainText } from './convert-value.ts';
import { classifyString } from './classify-time.ts';
import { classifyExactNumber, Kind } from './field-kinds.ts';
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
      write: compileCell(column, column.companion ? mains.get(pathKey(path)) : undefined),
    };
  });
  return (position, record) => {
    let line = `{"i":${position}`;
    for (const { prefix, path, write } of cells) {
      const value = readPath(record, path);
      if (value === null || value === undefined) continue;
      const cell = write(value);
      if (cell !== undefined) line += prefix + cell;
    }
    return `${line}}\n`;
  };
}

/** The JSON text of a value's cell, or undefined where the value belongs elsewhere. */
type WriteCell = (value: unknown) => string | undefined;

/** `main` is the column a companion belongs to. */
function compileCell(column: ColumnPlan, main: ColumnPlan | undefined): WriteCell {
  const { type, takes } = column;
  const { forcedType = main?.forcedType } = column;
  const convert = (main ?? column).isExact === true ? convertExact : convertValue;
  // Anything can be text or JSON.
  if (forcedType !== undefined && forcedType !== 'VARCHAR' && forcedType !== 'JSON') {
    return (value) => {
      const text = convert(value, forcedType);
      if (column.companion) return text === undefined ? cellText(value, type) : undefined;
      return text === undefined ? undefined : cellOfText(text, forcedType);
    };
  }
  if (forcedType !== undefined) return (value) => (column.companion ? undefined : cellText(value, type));
  if (column.companion) {
    const room = main && decimalRoom(main.type);
    return (value) =>
      (kindOf(value) & takes) !== 0 ||
      (room !== undefined && isJsonNumber(value) && !fitsDecimal(value, room))
        ? cellText(value, type)
        : undefined;
  }
  const room = decimalRoom(type);
  if (room !== undefined)
    return (value) =>
      (kindOf(value) & takes) !== 0 && fitsDecimal(value, room) ? cellText(value, type) : undefined;
  // A column that takes every kind need not look at each value's.
  return (takes & Kind.object) === 0
    ? (value) => ((kindOf(value) & takes) !== 0 ? cellText(value, type) : undefined)
    : (value) => cellText(value, type);
}

/** Whether a column of a learned type holds a value that is neither null nor an object, without loss. */
export function holdsValue(type: ColumnType, value: unknown): boolean {
  if ((kindOf(value) & kindsHeldBy(type)) === 0) return false;
  const room = decimalRoom(type);
  return room === undefined || fitsDecimal(value, room);
}

// The engine would round more decimals than a column has, and fail on more digits before the point.
function fitsDecimal(value: unknown, room: { readonly whole: number; readonly scale: number }): boolean {
  if (typeof value === 'number') return String(Math.abs(value)).length <= room.whole;
  if (!(value instanceof ExactNumber)) return false;
  const digits = classifyExactNumber(value.text);
  return digits.scale <= room.scale && digits.whole <= room.whole;
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
      return toPlainText(value);
    case 'DOUBLE':
      return Object.is(value, -0) ? '-0.0' : toPlainText(value);
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return quote(normalizeTimestamp(toPlainText(value)));
    case 'JSON':
      return quote(toJsonText(value));
    default:
      return quote(
        typeof value === 'object' && !(value instanceof ExactNumber) ? toJsonText(value) : toPlainText(value),
      );
  }
}

/** The cell of a text that `convertValue` made for the column's type. */
function cellOfText(text: string, type: ForcedType): string {
  switch (type) {
    case 'BOOLEAN':
    case 'BIGINT':
    case 'HUGEINT':
    case 'DOUBLE':
      return text;
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return quote(normalizeTimestamp(text));
    default:
      return quote(text);
  }
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
