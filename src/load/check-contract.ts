import { type AcceptRecord, compileAcceptance, type ContractInForce } from '../contract/accept-record.ts';
import { compileSchema } from '../contract/compile-schema.ts';
import { readFieldShape } from '../contract/field-shape.ts';
import { buildLearnedFields } from '../contract/learned-fields.ts';
import { ViolationCounts } from '../contract/violation-counts.ts';
import { describeViolations, formatPath, type Violation } from '../contract/violation.ts';
import type { Checkpoint, LearnedColumn, Stream } from '../model/stream.ts';
import { toFieldName, toPathPart } from '../schema/field-paths.ts';
import { compileNames } from '../schema/match-names.ts';
import { DecimalFields } from '../schema/exact-decimals.ts';
import { findForcedTypes, type ForcedField } from '../schema/force-types.ts';
import { pathKey } from '../schema/name-columns.ts';
import {
  createFieldTree,
  type FieldTree,
  observeConstant,
  observeRecord,
  findNode,
  isRecordObject,
} from '../schema/observe-fields.ts';
import type { ForcedColumn } from '../schema/resolve-columns.ts';
import type { HeldRecord } from '../warehouse/project-stage.ts';
import { readStagedRecords } from '../stage/staged-records.ts';
import { listSliceValues } from '../schema/mask-records.ts';
import { findKeyPaths, isFilledEverywhere } from './key-paths.ts';

/** A scan's records after the check against the stream's contract, before they become rows. */
export interface CheckedScan {
  /** The fields of the accepted records, in their accepted form. */
  readonly tree: FieldTree;
  /** Decides about each record; undefined if every object is accepted unchanged. */
  readonly hold: ((value: unknown) => HeldRecord) | undefined;
  /** The only effect of `hold`, if it only adds fields that no record has. */
  readonly constants: Readonly<Record<string, unknown>> | undefined;
  /** Fields whose type is set by config. */
  readonly forced: readonly (ForcedField & Pick<ForcedColumn, 'converts'>)[];
  /** Names under `columns` with a type that match no field. */
  readonly unmatched: readonly string[];
  readonly findings: ContractFindings;
}

/** Findings of a pass over the records; empty if none was needed. */
export interface ContractFindings {
  /** Records that go to quarantine. */
  readonly rejected: ViolationCounts;
  /** Records that fail the stream. */
  readonly failing: ViolationCounts;
  /** Values that were left out. */
  readonly discarded: ViolationCounts;
  /** Of these, values of known fields, which rows lose. */
  readonly lost: ViolationCounts;
}

/** What a stream's records are checked against. */
export interface ContractQuestion {
  readonly stream: Stream;
  readonly hashKey: string | undefined;
  readonly checkpoint: Checkpoint | undefined;
  /** Learned columns of the table; empty if there is no table. */
  readonly learned: readonly LearnedColumn[];
}

/**
 * Checks a scan against its contract. If the contract cannot change anything, the records are not read again: the
 * fields seen during the scan are the result.
 */
export async function checkContract(
  question: ContractQuestion,
  scan: { readonly recordsFile: string; readonly tree: FieldTree },
  signal: AbortSignal | undefined,
): Promise<CheckedScan> {
  const { fields: typed, unmatched } = findForcedTypes(
    question.stream.columns,
    scan.tree.root,
    question.learned,
  );
  const fields = [...typed, ...(await chooseDecimals(question, scan, typed, signal))];
  const key = findKeyPaths(question.stream, scan.tree, question.learned);
  const contract = buildContract(question, fields, key);
  const pass = new ContractPass(compileAcceptance(contract));
  const fill = Object.entries(contract.fill).filter(([name]) => !isEverywhere(scan.tree, name));
  const isKeyed = areFilledEverywhere(scan.tree, key, contract.fill);
  const isTrivial =
    isPermissive(contract) && isKeyed && fill.every(([name]) => !scan.tree.root.children.has(name));
  if (isTrivial) {
    for (const [name, value] of fill) observeConstant(scan.tree, name, value);
  } else {
    for await (const records of readStagedRecords(scan.recordsFile, signal)) {
      for (const { position, value } of records) pass.take(position, value);
    }
  }
  return {
    tree: isTrivial ? scan.tree : pass.tree,
    hold: isTrivial && fill.length === 0 ? undefined : pass.hold,
    constants: isTrivial && fill.length > 0 ? Object.fromEntries(fill) : undefined,
    forced: fields.map((field) => ({ ...field, converts: !pass.misfits.has(pathKey(field.path)) })),
    unmatched,
    findings: pass.findings,
  };
}

/** What the contract of a stream finds in some of its records; nothing that was learned counts. */
export function checkSample(
  { stream, hashKey }: Pick<ContractQuestion, 'stream' | 'hashKey'>,
  values: readonly unknown[],
): ContractFindings {
  const tree = createFieldTree();
  for (const value of values) if (isRecordObject(value)) observeRecord(tree, value);
  const { fields } = findForcedTypes(stream.columns, tree.root, []);
  const question = { stream, hashKey, checkpoint: undefined, learned: [] };
  const pass = new ContractPass(
    compileAcceptance(buildContract(question, fields, findKeyPaths(stream, tree, []))),
  );
  for (const [position, value] of values.entries()) pass.take(position, value);
  return pass.findings;
}

/** The types of fields with decimals, where these are or have to be exact: that takes the digits of every value. */
async function chooseDecimals(
  { stream, learned }: ContractQuestion,
  scan: { readonly recordsFile: string; readonly tree: FieldTree },
  typed: readonly ForcedField[],
  signal: AbortSignal | undefined,
): Promise<readonly ForcedField[]> {
  const decimals = new DecimalFields(scan.tree.root, learned, stream.decimals);
  if (decimals.isEmpty) return [];
  for await (const records of readStagedRecords(scan.recordsFile, signal))
    for (const { value } of records) decimals.measure(value);
  const isTyped = new Set(typed.map(({ path }) => pathKey(path)));
  return decimals.choose().filter(({ path }) => !isTyped.has(pathKey(path)));
}

/** Whether the contract accepts every record with these fields unchanged. */
export function acceptsAll(question: ContractQuestion, tree: FieldTree): boolean {
  const decimals = new DecimalFields(tree.root, question.learned, question.stream.decimals);
  if (!decimals.isEmpty) return false;
  const { fields } = findForcedTypes(question.stream.columns, tree.root, question.learned);
  const key = findKeyPaths(question.stream, tree, question.learned);
  const contract = buildContract(question, fields, key);
  const isFilled = Object.keys(contract.fill).length === 0 && areFilledEverywhere(tree, key, contract.fill);
  return isPermissive(contract) && isFilled;
}

/** The contract of a stream that applies to one scan. */
function buildContract(
  { stream, hashKey, checkpoint, learned }: ContractQuestion,
  forced: readonly ForcedField[],
  key: readonly (readonly string[])[],
): ContractInForce {
  const { schema } = stream.contract;
  // Until one complete scan was trusted, all fields are learned.
  const isLearning = learned.length === 0 || checkpoint?.lastFullScanAt === undefined;
  return {
    modes: stream.contract,
    schema: schema && { validate: compileSchema(schema.json), shape: readFieldShape(schema.json) },
    learned: isLearning ? undefined : buildLearnedFields(learned),
    forced: forced.map(({ path, type, isExact }) => ({ path: path.map(toFieldName), type, isExact })),
    key: key.map((path) => path.map(toFieldName)),
    fill: stream.slice === undefined ? {} : listSliceValues(stream, hashKey),
    isMasked: compileNames(
      Object.entries(stream.columns).flatMap(([field, { kind }]) => (kind === 'type' ? [] : [field])),
    ),
  };
}

/** Whether a contract accepts every record unchanged, except for missing fields. */
function isPermissive({ modes, schema, learned, forced }: ContractInForce): boolean {
  const mayChange = modes.columns === 'evolve' && modes.types === 'evolve';
  return schema === undefined && forced.length === 0 && (mayChange || learned === undefined);
}

/** Whether every record has a value for its key, including values from its slice. */
function areFilledEverywhere(
  tree: FieldTree,
  key: readonly (readonly string[])[],
  fill: ContractInForce['fill'],
): boolean {
  return key.every(
    (path) =>
      isFilledEverywhere(tree, path) ||
      (path.length === 1 &&
        Object.hasOwn(fill, toFieldName(path[0] ?? '')) &&
        findNode(tree.root, path) === undefined),
  );
}

function isEverywhere({ root, records }: FieldTree, name: string): boolean {
  return records > 0 && root.children.get(name)?.filled === records;
}

/** One pass over a scan's records. */
class ContractPass {
  readonly tree = createFieldTree();
  /** Fields with a configured type that some value does not fit, by `pathKey`. */
  readonly misfits = new Set<string>();
  readonly findings: ContractFindings = {
    rejected: new ViolationCounts(),
    failing: new ViolationCounts(),
    discarded: new ViolationCounts(),
    lost: new ViolationCounts(),
  };
  readonly #accept: AcceptRecord;

  constructor(accept: AcceptRecord) {
    this.#accept = accept;
  }

  take(position: number, given: unknown): void {
    const { value, rejectedFor, failing, discarded, misfits } = this.#accept(given);
    this.findings.rejected.add(position, rejectedFor);
    this.findings.failing.add(position, failing);
    this.findings.discarded.add(position, discarded);
    const isKnown = ({ kind }: Violation) => kind !== 'unknown' && kind !== 'closed';
    this.findings.lost.add(position, discarded.filter(isKnown));
    if (value === undefined) return;
    observeRecord(this.tree, value);
    for (const { path } of misfits) this.misfits.add(pathKey(path.map(String).map(toPathPart)));
  }

  readonly hold = (given: unknown): HeldRecord => {
    const { value, rejectedFor } = this.#accept(given);
    if (value !== undefined) return { value };
    return {
      value,
      reason: describeViolations(rejectedFor),
      path: formatPath(rejectedFor[0]?.path ?? []),
    };
  };
}
