/**
 * What a value did to its contract: `object` is not a record at all, `unknown` a field nobody described, `closed`
 * the same where the file allows no others, `type` a value of another type, `forced` one that cannot be converted
 * to the type that config gives its column, `required` a field that is missing, `rule` anything else (enum, range,
 * length, pattern).
 */
export type ViolationKind = 'object' | 'unknown' | 'closed' | 'type' | 'forced' | 'required' | 'rule';

/** One thing about a record that its contract does not allow. */
export interface Violation {
  /** Members' names and places in lists, from the record's root. */
  readonly path: readonly (string | number)[];
  readonly kind: ViolationKind;
  /** What is wrong with the value, for people; never the value itself. */
  readonly reason: string;
}

/** A path as people write it: names joined by dots; empty for the record as a whole. */
export function formatPath(path: Violation['path']): string {
  return path.map(String).join('.');
}

/** Why a record was rejected, in a line: the first reason, and how many more there are. */
export function describeViolations(violations: readonly Violation[]): string {
  const [first] = violations;
  const more = violations.length - 1;
  return `${first?.reason ?? ''}${more > 0 ? ` (and ${more} more)` : ''}`;
}
