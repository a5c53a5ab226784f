import { isJsonNumber } from '../json/exact-number.ts';
import { isWhole } from './exact-arithmetic.ts';

/** What a JSON value is, as JSON Schema tells values apart. */
export type ValueKind = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';

export const valueKinds: readonly ValueKind[] = ['null', 'boolean', 'number', 'string', 'array', 'object'];

export function kindOfValue(value: unknown): ValueKind {
  if (value === null || value === undefined) return 'null';
  if (isJsonNumber(value)) return 'number';
  if (Array.isArray(value)) return 'array';
  return typeof value as ValueKind;
}

/** The same for messages, where a whole number is worth telling from others. */
export function describeKind(value: unknown): string {
  return isJsonNumber(value) && isWhole(value) ? 'integer' : kindOfValue(value);
}
