import type { Contract, ContractMode, ForcedType } from '../model/schema.ts';
import { convertExact, convertValue } from '../schema/convert-value.ts';
import { isRecordObject } from '../schema/observe-fields.ts';
import type { ValidateRecord } from './compile-schema.ts';
import type { FieldShape } from './field-shape.ts';
import { findUnlearned, type IsExempt, type LearnedField } from './learned-fields.ts';
import { describeKind } from './value-kinds.ts';
import type { Violation } from './violation.ts';

export type RecordObject = Readonly<Record<string, unknown>>;

/** What a stream's records are checked against. */
export interface ContractInForce {
  readonly modes: Pick<Contract, 'columns' | 'types'>;
  /** The contract file, compiled; undefined where there is none. */
  readonly schema: { readonly validate: ValidateRecord; readonly shape: FieldShape } | undefined;
  /** What earlier scans learned; undefined as long as everything is new. */
  readonly learned: LearnedField | undefined;
  /** Fields whose type config decides, by their names from the record's root. */
  readonly forced: readonly {
    readonly path: readonly string[];
    readonly type: ForcedType;
    readonly isExact?: boolean | undefined;
  }[];
  /** Fields that tell records apart, by their names from the record's root: without them a record cannot become a row. */
  readonly key?: readonly (readonly string[])[];
  /** Top-level fields that a record is given where it lacks them. */
  readonly fill: Readonly<Record<string, unknown>>;
  /** Fields that are masked: what is left of them is not the API's value. */
  readonly isMasked: IsExempt;
}

/** What becomes of one record. */
export interface Acceptance {
  /** The record as it becomes a row; undefined when it goes to quarantine. */
  readonly value: RecordObject | undefined;
  /** Why it goes to quarantine. */
  readonly rejectedFor: readonly Violation[];
  /** What fails the stream. */
  readonly failing: readonly Violation[];
  /** What was left out of it. */
  readonly discarded: readonly Violation[];
  /** Values that stay although config's type does not hold them: they belong into a companion. */
  readonly misfits: readonly Violation[];
}

/** Decides about one record, from the record and the contract alone. */
export type AcceptRecord = (value: unknown) => Acceptance;

type Action = 'accept' | 'fail' | 'reject' | 'discard';

const NO_OBJECT: Violation = { path: [], kind: 'object', reason: 'the record is not a JSON object' };
const NONE: readonly Violation[] = [];

/** Compiles a contract into the one place where a record is accepted. */
export function compileAcceptance(contract: ContractInForce): AcceptRecord {
  const fill = Object.entries(contract.fill);
  const findViolations = compileFindings(contract);
  return (given) => {
    if (!isRecordObject(given)) return reject([NO_OBJECT]);
    const record = fillIn(given, fill);
    const violations = findViolations(record);
    if (violations.length === 0) return accept(record);
    return settle(record, violations, contract, findViolations);
  };
}

type FindViolations = (record: RecordObject) => readonly Violation[];

function compileFindings({
  modes,
  schema,
  learned,
  forced,
  key = [],
  isMasked,
}: ContractInForce): FindViolations {
  const isForced = compileIsForced(forced);
  const hasDescription = schema?.shape.properties !== undefined || learned !== undefined;
  // Where everything may change there is nothing to look for.
  const looksForNew = hasDescription && (modes.columns !== 'evolve' || modes.types !== 'evolve');
  const isExempt: IsExempt = (path) => isMasked(path) || isForced(path);
  return (record) => {
    const bySchema = schema?.validate(record).filter(({ path, kind }) => {
      const names = path.map(String);
      // A masked field that is required still has to be there.
      return !isMasked(names) || kind === 'required';
    });
    const byLearned = looksForNew
      ? findUnlearned(record, { shape: schema?.shape, learned }, isExempt)
      : undefined;
    const byForce = forced.length === 0 ? undefined : findUnconvertible(record, forced);
    const byKey = key.length === 0 ? NONE : findKeyless(record, key);
    return [...(bySchema ?? NONE), ...(byLearned ?? NONE), ...(byForce ?? NONE), ...byKey];
  };
}

/** Why a record without a value in a field of its key goes to quarantine. */
export const KEYLESS = 'is null, and the key';

function findKeyless(record: RecordObject, key: readonly (readonly string[])[]): readonly Violation[] {
  return key
    .filter((path) => (readMember(record, path) ?? null) === null)
    .map((path) => ({ path, kind: 'required', reason: KEYLESS }));
}

function compileIsForced(forced: ContractInForce['forced']): IsExempt {
  const paths = new Set(forced.map(({ path }) => path.join('\u0000')));
  return paths.size === 0 ? () => false : (path) => paths.has(path.join('\u0000'));
}

function findUnconvertible(record: RecordObject, forced: ContractInForce['forced']): readonly Violation[] {
  return forced.flatMap(({ path, type, isExact }): readonly Violation[] => {
    const value = readMember(record, path);
    const convert = isExact === true ? convertExact : convertValue;
    if (value === undefined || value === null || convert(value, type) !== undefined) return [];
    return [{ path, kind: 'forced', reason: `is no ${type}: ${describeKind(value)}` }];
  });
}

function readMember(record: RecordObject, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, name) => (isRecordObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    record,
  );
}

function fillIn(record: RecordObject, fill: readonly (readonly [string, unknown])[]): RecordObject {
  const missing = fill.filter(([name]) => !Object.hasOwn(record, name));
  return missing.length === 0 ? record : Object.fromEntries([...Object.entries(record), ...missing]);
}

function settle(
  record: RecordObject,
  violations: readonly Violation[],
  { modes }: ContractInForce,
  findViolations: FindViolations,
): Acceptance {
  const by = (wanted: Action) =>
    violations.filter((violation) => chooseAction(violation, record, modes) === wanted);
  const rejectedFor = by('reject');
  if (rejectedFor.length > 0) return reject(rejectedFor);
  const failing = by('fail');
  const misfits = by('accept').filter(({ kind }) => kind === 'forced');
  const toDiscard = by('discard');
  if (toDiscard.length === 0) return { ...accept(record), failing, misfits };
  const reduced = toDiscard.reduce((value, { path }) => withoutMember(value, path), record);
  // What was left out may have been required.
  const stillWrong = findViolations(reduced).filter(
    (violation) => !['accept', 'fail'].includes(chooseAction(violation, reduced, modes)),
  );
  if (stillWrong.length > 0) return reject(toDiscard);
  return { ...accept(reduced), failing, misfits, discarded: toDiscard.filter(isTold(record)) };
}

/**
 * A record without the value at a path; the given one is left as it is. A value inside a list takes the list
 * with it, since its neighbours would change their places.
 */
function withoutMember(record: RecordObject, path: Violation['path']): RecordObject {
  const [name, ...rest] = path;
  if (name === undefined || !Object.hasOwn(record, name)) return record;
  const value = record[name];
  const isLast = rest.length === 0 || typeof rest[0] === 'number' || !isRecordObject(value);
  // By entries, as a field may be called `__proto__`.
  return Object.fromEntries(
    Object.entries(record).flatMap(([member, held]) => {
      if (member !== String(name)) return [[member, held]];
      return isLast ? [] : [[member, withoutMember(value, rest)]];
    }),
  );
}

/** A null in a field that nobody described is left out without a word: there is nothing to lose. */
function isTold(record: RecordObject): (violation: Violation) => boolean {
  return ({ path, kind }) => kind !== 'unknown' || readMember(record, path.map(String)) !== null;
}

function chooseAction(
  { path, kind }: Violation,
  record: RecordObject,
  { columns, types }: ContractInForce['modes'],
): Action {
  switch (kind) {
    case 'object':
      return 'reject';
    case 'unknown':
      if (columns !== 'evolve' && readMember(record, path.map(String)) === null) return 'discard';
      return actionOf(columns, 'accept', 'discard');
    case 'closed':
      return actionOf(columns, 'reject', 'discard');
    case 'type':
    case 'forced':
      return actionOf(types, 'accept', canDiscard(path) ? 'discard' : 'reject');
    case 'required':
      return actionOf(types, 'reject', 'reject');
    case 'rule':
      return actionOf(types, 'reject', canDiscard(path) ? 'discard' : 'reject');
  }
}

function actionOf(mode: ContractMode, whenEvolving: Action, whenDiscarding: Action): Action {
  switch (mode) {
    case 'evolve':
      return whenEvolving;
    case 'freeze':
      return 'fail';
    case 'discard_row':
      return 'reject';
    case 'discard_value':
      return whenDiscarding;
  }
}

// The record as a whole cannot be left out of itself.
function canDiscard(path: Violation['path']): boolean {
  return path.length > 0;
}

function accept(value: RecordObject): Acceptance {
  return { value, rejectedFor: NONE, failing: NONE, discarded: NONE, misfits: NONE };
}

function reject(rejectedFor: readonly Violation[]): Acceptance {
  return { value: undefined, rejectedFor, failing: NONE, discarded: NONE, misfits: NONE };
}
