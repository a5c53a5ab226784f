import { ExactNumber, normalizeDecimal } from '../json/exact-number.ts';
import type { ForcedType } from '../model/schema.ts';
import type { LearnedColumn } from '../model/stream.ts';
import { decimalRoom } from './column-types.ts';
import { toPlainText } from './convert-value.ts';
import { Kind, numberKinds } from './field-kinds.ts';
import { companionSource, toFieldName } from './field-paths.ts';
import type { ForcedField } from './force-types.ts';
import { pathKey } from './name-columns.ts';
import { type FieldNode, isRecordObject } from './observe-fields.ts';

/** Digits that a decimal of the engine has in all. */
const MOST_DIGITS = 38;
const FRACTIONS = Kind.double | Kind.decimal | Kind.hugeNumber;

/** A field of numbers, some with decimals, and what its values need. */
interface MeasuredField {
  readonly path: readonly string[];
  readonly names: readonly string[];
  readonly learned: LearnedColumn | undefined;
  whole: number;
  scale: number;
}

/**
 * Chooses exact types for fields of numbers with decimals: a DECIMAL with room for every value, or text where 38 digits
 * are too few. What was a DECIMAL keeps at least its decimals. Where decimals need not be exact, it does so only for
 * columns that are DECIMAL already: they hold a double whose digits fit, and these are not counted elsewhere.
 */
export class DecimalFields {
  readonly #fields: readonly MeasuredField[];

  constructor(root: FieldNode, learned: readonly LearnedColumn[], decimals: 'double' | 'exact') {
    const known = new Map(learned.map((column) => [pathKey(column.path), column]));
    this.#fields = listNodes(root).flatMap(({ path, kinds, children }) => {
      const column = known.get(pathKey(path));
      const type = column?.type ?? 'NULL';
      // Other values go next to a column of numbers, and leave it as it is.
      const isDecimal = decimalRoom(type) !== undefined || type === 'DOUBLE';
      const isOnlyNumbers = (kinds & ~(numberKinds | Kind.null)) === 0 && children.size === 0;
      const isNew = (kinds & FRACTIONS) !== 0 && ['NULL', 'BIGINT', 'HUGEINT'].includes(type);
      const isWanted =
        decimals === 'exact'
          ? isDecimal || (isOnlyNumbers && isNew)
          : decimalRoom(type) !== undefined && (kinds & Kind.double) !== 0;
      if ((kinds & numberKinds) === 0 || !isWanted || companionSource(path) !== undefined) return [];
      return [{ path, names: path.map(toFieldName), learned: column, whole: 0, scale: 0 }];
    });
  }

  get isEmpty(): boolean {
    return this.#fields.length === 0;
  }

  /** Adds a record's values. */
  measure(record: unknown): void {
    for (const field of this.#fields) {
      let value = record;
      for (const name of field.names)
        value = isRecordObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
      if (typeof value !== 'number' && !(value instanceof ExactNumber)) continue;
      const { whole, scale } = countDigits(toPlainText(value));
      field.whole = Math.max(field.whole, whole);
      field.scale = Math.max(field.scale, scale);
    }
  }

  /** The types, once all records were measured. */
  choose(): readonly ForcedField[] {
    return this.#fields.map(({ path, learned, whole, scale }) => ({
      path,
      type: chooseExact(learned, whole, scale),
      isExact: true,
    }));
  }
}

function chooseExact(learned: LearnedColumn | undefined, whole: number, scale: number): ForcedType {
  const room = learned && decimalRoom(learned.type);
  const wanted = Math.max(scale, room?.scale ?? 0);
  if (whole + wanted <= MOST_DIGITS) return `DECIMAL(${MOST_DIGITS},${wanted})`;
  // Rows have decimals already; only the values without room go next to them, as text.
  return room === undefined ? 'VARCHAR' : (learned?.type as ForcedType);
}

/** A type with more decimals, for values that a table has; text where they have no room. */
export function addDecimals(type: ForcedType, whole: number, scale: number): ForcedType {
  const room = decimalRoom(type);
  if (room === undefined || scale <= room.scale) return type;
  return whole + scale <= MOST_DIGITS ? `DECIMAL(${MOST_DIGITS},${scale})` : 'VARCHAR';
}

/** Digits before and behind the point, once a number is written without an exponent; without end for very large ones. */
export function countDigits(text: string): { readonly whole: number; readonly scale: number } {
  const [, digits = '0', exponent = '0'] = /^-?(\d+)(?:e(-?\d+))?$/.exec(normalizeDecimal(text)) ?? [];
  if (digits === '0') return { whole: 0, scale: 0 };
  const power = Number(exponent);
  return { whole: Math.max(0, digits.length + power), scale: Math.max(0, -power) };
}

function listNodes(node: FieldNode): readonly FieldNode[] {
  return [...node.children.values()].flatMap((child) => [child, ...listNodes(child)]);
}
