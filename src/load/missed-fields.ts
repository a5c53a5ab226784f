import { listNames } from '../text/list-names.ts';
import { findNearestName } from '../text/suggest-name.ts';
import { StreamConfigError } from '../model/errors.ts';
import { escapeForTerminal } from '../text/redact.ts';
import type { LearnedColumn, Stream } from '../model/stream.ts';
import { companionSource, toFieldName } from '../schema/field-paths.ts';
import type { FieldNode, FieldTree } from '../schema/observe-fields.ts';
import type { CheckedScan } from './check-contract.ts';
import type { Loading } from '../run/run-context.ts';
import type { FetchedScan } from '../run/scan.ts';
import type { RejectedRecords } from '../warehouse/rejected-records.ts';

const MOST_NAMED = 10;

/** Learned columns without a record that has their field. */
export interface AbsentFields {
  /** Run that first noticed, by column name. */
  readonly since: ReadonlyMap<string, string>;
  /** Notes about fields that this scan noticed. */
  readonly notes: readonly string[];
}

interface FieldFacts {
  readonly tree: FieldTree;
  readonly rejected: Pick<RejectedRecords, 'count'>;
  readonly learned: readonly LearnedColumn[];
}

/**
 * Finds fields that no record has any more. Reported once; later scans show whether they come back. Records in quarantine
 * may have them.
 */
export function findAbsentFields(
  { runId, options }: Loading,
  stream: Stream,
  scan: FetchedScan,
  { tree, rejected, learned }: FieldFacts,
): AbsentFields {
  const isJudge = isWholeScan(scan, options.limit) && stream.slice === undefined && rejected.count === 0;
  const since = new Map<string, string>();
  const fresh: string[] = [];
  for (const { path, name, type, absentSince } of learned) {
    if (companionSource(path) !== undefined || type === 'NULL' || hasField(tree.root, path)) continue;
    if (absentSince !== undefined) since.set(name, absentSince);
    if (absentSince !== undefined || !isJudge) continue;
    since.set(name, runId);
    fresh.push(path.map(toFieldName).join('.'));
  }
  return { since, notes: fresh.length === 0 ? [] : [`no record has ${nameFields(fresh)} any more`] };
}

/** Names under `columns` for which a complete scan found no field: most likely they are misspelled. */
export function findUnmatchedRules(
  { options }: Loading,
  stream: Stream,
  scan: FetchedScan,
  { unmatched }: CheckedScan,
): readonly string[] {
  // Masks are applied when a page is read: excluded fields are not in the tree.
  const { masked } = scan;
  const unmasked = masked === undefined ? [] : listMasked(stream).filter((field) => !masked.has(field));
  const missing = [...unmatched, ...unmasked];
  if (missing.length === 0 || !isWholeScan(scan, options.limit)) return [];
  return [`streams.${stream.name}.columns names ${nameFields(missing)}, which no record has`];
}

/**
 * Stops the first load of a stream if the config excludes or hashes a misspelled field: it would be published. A name
 * unlike any field only gives a warning, since some fields are rare.
 */
export function refuseUnmatchedMasks(
  { options }: Loading,
  stream: Stream,
  scan: FetchedScan,
  { tree }: CheckedScan,
): void {
  const { masked } = scan;
  if (masked === undefined || !isWholeScan(scan, options.limit)) return;
  const known = [...listFieldNames(tree.root)];
  for (const field of listMasked(stream).filter((name) => !masked.has(name))) {
    const nearest = findNearestName(field, known, 0.7);
    if (nearest === undefined) continue;
    throw new StreamConfigError(
      `streams.${stream.name}.columns names ${nameFields([field])}, which no record has; the records have ${nameFields([nearest])}`,
      {
        code: 'config_invalid',
        hint: `Nothing of this stream was loaded: its table would contain what that line keeps out. Correct the name, or remove the line if ${nameFields([nearest])} is meant to be there.`,
        context: { stream: stream.name },
      },
    );
  }
}

function* listFieldNames(node: FieldNode): Generator<string> {
  if (node.path.length > 0) yield node.path.map(toFieldName).join('.');
  for (const child of node.children.values()) yield* listFieldNames(child);
}

function listMasked({ columns }: Stream): readonly string[] {
  return Object.entries(columns).flatMap(([field, { kind }]) => (kind === 'type' ? [] : [field]));
}

/** Only a full scan can show that something is missing. */
export function isWholeScan({ plan, verdict, rows }: FetchedScan, limit: number | undefined): boolean {
  const isTrusted = verdict === 'verified' || verdict === 'unverified';
  return plan.mode === 'full' && isTrusted && rows > 0 && limit === undefined;
}

function hasField(root: FieldNode, path: readonly string[]): boolean {
  let node: FieldNode | undefined = root;
  for (const name of path) {
    node = node.children.get(name);
    // The members of an object stored as a whole are not all known.
    if (node === undefined) return false;
    if (node.folded) return true;
  }
  return true;
}

function nameFields(fields: readonly string[]): string {
  const shown = fields.map((field) => escapeForTerminal(field.slice(0, 100)));
  return listNames(shown, MOST_NAMED);
}
