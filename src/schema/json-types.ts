import type { JsonType } from '../model/schema.ts';
import { integerKinds, Kind, numberKinds, stringKinds } from './field-kinds.ts';

const NAMES: readonly (readonly [name: JsonType, isAmong: (kinds: number) => boolean])[] = [
  ['boolean', (kinds) => (kinds & Kind.boolean) !== 0],
  ['integer', (kinds) => (kinds & integerKinds) !== 0 && (kinds & numberKinds & ~integerKinds) === 0],
  ['number', (kinds) => (kinds & numberKinds & ~integerKinds) !== 0],
  ['string', (kinds) => (kinds & stringKinds) !== 0],
  ['array', (kinds) => (kinds & Kind.array) !== 0],
  ['object', (kinds) => (kinds & Kind.object) !== 0],
];

/** The JSON types of the values that a field was seen to hold, as `Kind` bits; null is none. */
export function listJsonTypes(kinds: number): readonly JsonType[] {
  return NAMES.flatMap(([name, isAmong]) => (isAmong(kinds) ? [name] : []));
}

/** All of two lists of types, in one order. */
export function uniteJsonTypes(some: readonly JsonType[], others: readonly JsonType[]): readonly JsonType[] {
  const all = new Set([...some, ...others]);
  if (all.has('number')) all.delete('integer');
  return NAMES.flatMap(([name]) => (all.has(name) ? [name] : []));
}
