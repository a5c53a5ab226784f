import type { ColumnType } from '../model/schema.ts';
import type { LearnedColumn } from '../model/stream.ts';
import { companionSource, toFieldName } from '../schema/field-paths.ts';
import { holdsValue } from '../schema/project-record.ts';
import { isRecordObject } from '../schema/observe-fields.ts';
import type { FieldShape } from './field-shape.ts';
import { describeKind, kindOfValue } from './value-kinds.ts';
import type { Violation } from './violation.ts';

/** What earlier scans learned of a stream's fields, as a tree of their names. */
export interface LearnedField {
  readonly type: ColumnType | undefined;
  readonly members: ReadonlyMap<string, LearnedField>;
}

interface GrowingField {
  type: ColumnType | undefined;
  readonly members: Map<string, GrowingField>;
}

/** The tree of a stream's learned columns; companions are not fields. */
export function buildLearnedFields(columns: readonly LearnedColumn[]): LearnedField {
  const root: GrowingField = { type: undefined, members: new Map() };
  for (const { path, type } of columns) {
    if (companionSource(path) !== undefined) continue;
    let field = root;
    for (const name of path.map(toFieldName)) {
      const next = field.members.get(name) ?? { type: undefined, members: new Map<string, GrowingField>() };
      field.members.set(name, next);
      field = next;
    }
    field.type = type;
  }
  return root;
}

/** Knows of one field what the walk needs: where it is looked up in the file, and in what was learned. */
interface Place {
  readonly shape: FieldShape | undefined;
  readonly learned: LearnedField | undefined;
}

/** Fields whose values are not looked at, by their path. */
export type IsExempt = (path: readonly string[]) => boolean;

/**
 * Fields of a record that nobody described, and values that the columns learned for them do not hold. A file
 * decides which fields are known, and the type of a field it gives one; the learned columns decide the rest.
 */
export function findUnlearned(
  record: Readonly<Record<string, unknown>>,
  place: Place,
  isExempt: IsExempt,
): readonly Violation[] {
  return new UnlearnedSearch(isExempt).run(record, place);
}

/** Looks through one record. */
class UnlearnedSearch {
  readonly #found: Violation[] = [];
  readonly #isExempt: IsExempt;

  constructor(isExempt: IsExempt) {
    this.#isExempt = isExempt;
  }

  run(record: Readonly<Record<string, unknown>>, place: Place): readonly Violation[] {
    this.#visitMembers(record, place, []);
    return this.#found;
  }

  #visitMembers(
    object: Readonly<Record<string, unknown>>,
    { shape, learned }: Place,
    above: readonly string[],
  ): void {
    for (const name of Object.keys(object)) {
      const path = [...above, name];
      if (this.#isExempt(path)) continue;
      const described = shape?.properties?.get(name);
      const known = learned?.members.get(name);
      if (!isKnown(shape, described !== undefined, known)) {
        this.#found.push({ path, kind: 'unknown', reason: 'is not a field of the contract' });
        continue;
      }
      // What a file lets in without a description may hold anything.
      const isLetIn = shape?.properties !== undefined && described === undefined;
      this.#visitValue(object[name], { shape: isLetIn ? ANYTHING : described?.(), learned: known }, path);
    }
  }

  #visitValue(value: unknown, place: Place, path: readonly string[]): void {
    if (value === null) return;
    const { shape, learned } = place;
    if (shape?.isTyped !== true && learned !== undefined && !isHeld(value, learned)) {
      const expected = learned.type ?? 'an object';
      this.#found.push({ path, kind: 'type', reason: `expected ${expected}, got ${describeKind(value)}` });
      return;
    }
    if (!isRecordObject(value)) return;
    // An object of which nothing is known but that it is there may hold anything.
    const isTold = shape?.properties !== undefined || (shape === undefined && hasMembers(learned));
    if (isTold) this.#visitMembers(value, place, path);
  }
}

const ANYTHING: FieldShape = { properties: undefined, isOpen: true, isTyped: false };

function isKnown(
  shape: FieldShape | undefined,
  isDescribed: boolean,
  known: LearnedField | undefined,
): boolean {
  if (shape?.properties !== undefined) return isDescribed || shape.isOpen;
  return known !== undefined;
}

function hasMembers(learned: LearnedField | undefined): boolean {
  return learned !== undefined && learned.members.size > 0;
}

function isHeld(value: unknown, learned: LearnedField): boolean {
  const { type } = learned;
  if (kindOfValue(value) === 'object')
    return hasMembers(learned) || type === undefined || type === 'NULL' || type === 'JSON';
  // A field without a type of its own was only ever an object, or null.
  if (type === undefined) return false;
  return type === 'NULL' || holdsValue(type, value);
}
