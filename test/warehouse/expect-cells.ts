import { expect } from 'vitest';
import type { ColumnType } from '../../src/model/schema.ts';
import type { ColumnPlan } from '../../src/schema/resolve-columns.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { quoteIdentifier } from '../../src/warehouse/identifiers.ts';
import {
  isSameJson,
  isSameNumber,
  type PlainJson,
  readPlainJson,
  toStoredJson,
} from '../support/plain-json.ts';

/** A row as text: each stored column by its name, times as microseconds, nulls left out. */
export type CellTexts = ReadonlyMap<string, string>;

/** Reads the table `rows`; the text of a cell is exact, whatever its type. */
export async function readCells(
  database: Database,
  columns: readonly ColumnPlan[],
  orderBy: string,
): Promise<readonly CellTexts[]> {
  const stored = columns.filter(({ type }) => type !== 'NULL');
  const cells = stored.map(({ name, type }, at) => `${cellSql(quoteIdentifier(name), type)} AS cell${at}`);
  const rows = await database.all(`SELECT ${cells.join(', ')} FROM main.rows ORDER BY ${orderBy}`);
  return rows.map((row) => {
    const texts = new Map<string, string>();
    for (const [at, { name }] of stored.entries()) {
      const text = row[`cell${at}`];
      if (typeof text === 'string') texts.set(name, text.slice(MARK.length));
    }
    return texts;
  });
}

// Before each text, since the binding takes a U+FEFF at the start of one for a byte order mark.
const MARK = '=';

function cellSql(name: string, type: ColumnType): string {
  const value = type === 'TIMESTAMP' || type === 'TIMESTAMPTZ' ? `epoch_us(${name})` : name;
  return `'${MARK}' || CAST(${value} AS VARCHAR)`;
}

/**
 * Compares a row with its record's own text, by the documented rules: every value is in exactly one cell,
 * unchanged, and no cell holds anything else. Nulls, missing fields and empty objects whose members have
 * columns are alike; half characters are U+FFFD; numbers count by value. Members of an object that is kept
 * whole may be in columns of their own as well, from the time when it was not.
 */
export function expectRowOf(record: string, cells: CellTexts, columns: readonly ColumnPlan[]): void {
  const left = new Map(cells);
  expectValue(readPlainJson(record), [], false, left, columns);
  expect([...left], `cells that nothing in ${record} explains`).toEqual([]);
}

function expectValue(
  value: PlainJson,
  path: readonly string[],
  keptAbove: boolean,
  left: Map<string, string>,
  columns: readonly ColumnPlan[],
): void {
  if (value.kind === 'null') return;
  const holders = columns.filter((column) => left.has(column.name) && isColumnOf(column, path));
  const [holder] = holders;
  const kept = keptAbove || holder !== undefined;
  if (value.kind !== 'object' || holder !== undefined) {
    expect(holders.length, `cells for ${JSON.stringify(path)}`).toBe(keptAbove && !holder ? 0 : 1);
  }
  if (holder !== undefined) {
    const text = left.get(holder.name) ?? '';
    left.delete(holder.name);
    const shown = `${JSON.stringify(path)} in ${holder.name} ${holder.type}: ${describe(value)} became ${text}`;
    expect(isHeldBy(value, text, holder.type), shown).toBe(true);
  }
  if (value.kind !== 'object') return;
  for (const [name, member] of value.members) expectValue(member, [...path, name], kept, left, columns);
}

// A companion is marked at the end of its path; a NUL that a field's name has comes with a point.
function isColumnOf({ path }: ColumnPlan, field: readonly string[]): boolean {
  const own = path.map((part) => part.replace(/\u0000_text$/, '').replaceAll('\u0000.', '\u0000'));
  return JSON.stringify(own) === JSON.stringify(field);
}

function describe(value: PlainJson): string {
  return JSON.stringify(value, (_, part: unknown) => (part instanceof Map ? [...part] : part));
}

function isHeldBy(value: PlainJson, text: string, type: ColumnType): boolean {
  switch (type) {
    case 'JSON':
      return isSameJson(readPlainJson(text), toStoredJson(value));
    case 'VARCHAR':
      return isHeldAsText(value, text);
    case 'BOOLEAN':
      return value.kind === 'boolean' && String(value.value) === text;
    case 'DATE':
      return value.kind === 'string' && value.value === text;
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return value.kind === 'string' && readMicroseconds(value.value) === BigInt(text);
    case 'DOUBLE':
      return (
        value.kind === 'number' &&
        spellings(Number(text)).some((spelling) => isSameNumber(value.text, spelling)) &&
        Object.is(Number(value.text), Number(text))
      );
    default:
      return value.kind === 'number' && isSameNumber(value.text, text);
  }
}

/** A double's shortest spelling, and the exact one where it is a whole number: -2^63 ends in 808, not in 000. */
function spellings(value: number): readonly string[] {
  return Number.isInteger(value) ? [String(value), BigInt(value).toString()] : [String(value)];
}

function isHeldAsText(value: PlainJson, text: string): boolean {
  switch (value.kind) {
    case 'string':
      return value.value.toWellFormed() === text;
    case 'number':
      return isSameNumber(value.text, text);
    case 'boolean':
      return String(value.value) === text;
    default:
      return isSameJson(readPlainJson(text), toStoredJson(value));
  }
}

/** The instant of an ISO timestamp in microseconds, by arithmetic alone; without an offset it counts as UTC. */
export function readMicroseconds(text: string): bigint | undefined {
  const match =
    /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?(?:[Zz]|([+-])(\d{2}):?(\d{2})?)?$/.exec(
      text,
    );
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second = '0', fraction = '', sign, hours = '0', minutes = '0'] =
    match;
  const midnight = countDays(Number(year), Number(month), Number(day)) * 86_400;
  const offset = (Number(hours) * 60 + Number(minutes)) * 60 * (sign === '-' ? -1 : 1);
  const seconds = midnight + Number(hour) * 3_600 + Number(minute) * 60 + Number(second) - offset;
  return BigInt(seconds) * 1_000_000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
}

// Days from 1970-01-01 in the calendar that has no gaps.
function countDays(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}
