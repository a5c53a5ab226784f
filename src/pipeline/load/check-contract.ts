import { type AcceptRecord, compileAcceptance, type ContractInForce } from '../../contract/accept-record.ts';
import { compileSchema } from '../../contract/compile-schema.ts';
import { readFieldShape } from '../../contract/field-shape.ts';
import { buildLearnedFields } from '../../contract/learned-fields.ts';
import { ViolationCounts } from '../../contract/violation-counts.ts';
import { describeViolations, formatPath, type Violation } from '../../contract/violation.ts';
import type { Checkpoint, LearnedColumn, Stream } from '../../model/stream.ts';
import { toFieldName, toPathPart } from '../../schema/field-paths.ts';
import { compileNames } from '../../schema/match-names.ts';
import { findForcedTypes, type ForcedField } from '../../schema/force-types.ts';
import { pathKey } from '../../schema/name-columns.ts';
import {
  createFieldTree,
  type FieldTree,
  observeConstant,
  observeRecord,
} from '../../schema/observe-fields.ts';
import type { ForcedColumn } from '../../schema/resolve-columns.ts';
import type { HeldRecord } from '../../warehouse/project-stage.ts';
import { readStagedRecords } from '../../warehouse/staged-records.ts';
import { listSliceValues } from '../fetch/mask-records.ts';
import { findKeyPaths, isFilledEverywhere } from './key-paths.ts';
import { findNode } from './seen-types.ts';

/** A scan's records held against the stream's contract: what is known before rows are made of them. */
export interface CheckedScan {
  /** The fields of the records that were accepted, as they were accepted. */
  readonly tree: FieldTree;
  /** Decides about each record; undefined where every object is accepted as it is. */
  readonly hold: ((value: unknown) => HeldRecord) | undefined;
  /** All that `hold` does, where it only gives every object fields that no record has. */
  readonly constants: Readonly<Record<string, unknown>> | undefined;
  /** Fields whose type config decides. */
  readonly forced: readonly (ForcedField & Pick<ForcedColumn, 'converts'>)[];
  /** Names under `columns` with a type that no field goes by. */
  readonly unmatched: readonly string[];
  readonly findings: ContractFindings;
}

/** What a pass over the records found; nothing where none was needed. */
export interface ContractFindings {
  /** Records that go to quarantine. */
  readonly rejected: ViolationCounts;
  /** Records that fail the stream. */
  readonly failing: ViolationCounts;
  /** Values that were left out. */
  readonly discarded: ViolationCounts;
  /** Of these, values of fields that are known: a row is poorer without them. */
  readonly lost: ViolationCounts;
}

/** What a stream's records are held against. */
export interface ContractQuestion {
  readonly stream: Stream;
  readonly hashKey: string | undefined;
  readonly checkpoint: Checkpoint | undefined;
  /** Learned columns of the table; none where there is no table. */
  readonly learned: readonly LearnedColumn[];
}

/**
 * Holds a scan against its contract. Where the contract can change nothing, the records are not read again: the
 * fields that were seen while they came are the answer.
 */
export async function checkContract(
  question: ContractQuestion,
  scan: { readonly recordsFile: string; readonly tree: FieldTree },
  signal: AbortSignal | undefined,
): Promise<CheckedScan> {
  const { fields, unmatched } = findForcedTypes(question.stream.columns, scan.tree.root, question.learned);
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

/** Whether the contract lets every record of these fields pass as it is, and adds nothing to any. */
export function acceptsAll(question: ContractQuestion, tree: FieldTree): boolean {
  const { fields } = findForcedTypes(question.stream.columns, tree.root, question.learned);
  const key = findKeyPaths(question.stream, tree, question.learned);
  const contract = buildContract(question, fields, key);
  const isFilled = Object.keys(contract.fill).length === 0 && areFilledEverywhere(tree, key, contract.fill);
  return isPermissive(contract) && isFilled;
}

/** The contract of a stream as it is in force for one scan. */
export function buildContract(
  { stream, hashKey, checkpoint, learned }: ContractQuestion,
  forced: readonly ForcedField[],
  key: readonly (readonly string[])[],
): ContractInForce {
  const { schema } = stream.contract;
  // Until a whole scan was trusted once, what comes is what there is to learn.
  const isLearning = learned.length === 0 || checkpoint?.lastFullScanAt === undefined;
  return {
    modes: stream.contract,
    schema: schema && { validate: compileSchema(schema.json), shape: readFieldShape(schema.json) },
    learned: isLearning ? undefined : buildLearnedFields(learned),
    forced: forced.map(({ path, type }) => ({ path: path.map(toFieldName), type })),
    key: key.map((path) => path.map(toFieldName)),
    fill: stream.slice === undefined ? {} : listSliceValues(stream, hashKey),
    isMasked: compileNames(
      Object.entries(stream.columns).flatMap(([field, { kind }]) => (kind === 'type' ? [] : [field])),
    ),
  };
}

/** Whether a contract lets every record pass as it is, but for what it lacks. */
function isPermissive({ modes, schema, learned, forced }: ContractInForce): boolean {
  const mayChange = modes.columns === 'evolve' && modes.types === 'evolve';
  return schema === undefined && forced.length === 0 && (mayChange || learned === undefined);
}

/** Whether no record lacks a value of its key, with what its slice gives it. */
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
  /** Fields with a type of config's that some value does not have, by `pathKey`. */
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
