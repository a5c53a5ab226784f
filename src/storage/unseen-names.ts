import { findNearestName, suggestName } from '../text/suggest-name.ts';
import { StreamConfigError } from '../model/errors.ts';
import type { Page, PageRecord } from '../model/page.ts';
import { escapeForTerminal } from '../text/redact.ts';
import type { Stream } from '../model/stream.ts';
import { toFieldName } from '../schema/field-paths.ts';
import { namesField } from '../schema/field-rules.ts';
import { createFieldTree, isRecordObject, observeRecord, type FieldNode } from '../schema/observe-fields.ts';

/**
 * Fields that config names as key, cursor, column or partition and that no record of a sample has, each as a sentence. A
 * misspelled name costs a whole first scan, and one under `exclude` or `hash` lets through what it should keep out.
 */
export function findUnseenNames(
  stream: Stream,
  records: readonly PageRecord[],
  masked: ReadonlySet<string> = new Set(),
): readonly string[] {
  return listUnseen(stream, records, masked).map(({ sentence }) => sentence);
}

/** The first records of a stream, and those of its masked fields that they had. */
export interface Sample extends Pick<Page, 'records'> {
  readonly masked?: ReadonlySet<string> | undefined;
}

/** Throws if a field of a configured key is in no record of a scan's first page: every record needs it. */
export function refuseUnseenKey(stream: Stream, sample: Sample): void {
  refuseUnseen(stream, sample, ['key']);
}

/**
 * The same for a first scan, also for a cursor that is nearly the name of a field there. Some fields are rare, but most
 * likely it is misspelled, and the scan would be read for nothing.
 */
export function refuseMisspelledNames(stream: Stream, sample: Sample): void {
  refuseUnseen(stream, sample, ['key', 'misspelled cursor']);
}

/** The same for all records of a stream: one of them must also have the field of a configured cursor. */
export function refuseAbsentNames(stream: Stream, sample: Sample): void {
  refuseUnseen(stream, sample, ['key', 'cursor']);
}

function refuseUnseen(
  stream: Stream,
  { records, masked }: Sample,
  needed: readonly ('key' | 'cursor' | 'misspelled cursor')[],
): void {
  const unseen = listUnseen(stream, records, masked ?? new Set());
  for (const need of needed) {
    const what = need === 'key' ? 'key' : 'cursor';
    const found = unseen.find(({ where }) => where === what);
    if (found === undefined) continue;
    if (need === 'misspelled cursor' && !isMisspelled(found)) continue;
    // An object with fields of its own is neither a key nor a cursor.
    const fields = found.known
      .filter((path) => !found.known.some((other) => other.startsWith(`${path}.`)))
      .slice(0, MOST_NAMED)
      .map(escapeForTerminal)
      .join(', ');
    throw new StreamConfigError(found.sentence, {
      code: 'config_invalid',
      hint: `The table is unchanged. ${ADVICE[what]} streams.${stream.name}.${what}, or set it to auto. Fields of this stream: ${fields}.`,
      context: { stream: stream.name },
    });
  }
}

const ADVICE = {
  key: 'Name fields that every record has as',
  cursor: 'Name a field of the records as',
} as const;

const MOST_NAMED = 30;

/** A name that begins as another is a different one, unless it is nearly as long. */
function isMisspelled({ field, known }: UnseenName): boolean {
  const nearest = findNearestName(field, known, 0.7);
  return nearest !== undefined && Math.abs(nearest.length - field.length) <= 2;
}

interface UnseenName {
  readonly where: string;
  readonly field: string;
  readonly sentence: string;
  /** Paths of all existing fields. */
  readonly known: readonly string[];
}

function listUnseen(
  stream: Stream,
  records: readonly PageRecord[],
  masked: ReadonlySet<string>,
): readonly UnseenName[] {
  const tree = createFieldTree();
  for (const { value } of records) if (isRecordObject(value)) observeRecord(tree, value);
  if (tree.records === 0) return [];
  const { paths, hasMaps } = listFields(tree.root);
  const isSeen = (field: string) =>
    masked.has(field) ||
    Object.hasOwn(stream.slice?.values ?? {}, field) ||
    paths.some((path) => namesField(field, path));
  const known = paths.map((path) => path.join('.'));
  return listNames(stream)
    .filter(({ field }) => !isSeen(field) && !(hasMaps && field.includes('.')))
    .map(({ where, field }) => {
      const hint = escapeForTerminal(suggestName(field, known));
      const sentence = `streams.${stream.name}.${where} names ${field}, which no record of the first page has${hint}`;
      return { where, field, sentence, known };
    });
}

interface ConfiguredName {
  readonly where: string;
  readonly field: string;
}

function listNames({ key, cursor, columns, partitionBy }: Stream): readonly ConfiguredName[] {
  return [
    ...(key.kind === 'fields' ? key.fields.map((field) => ({ where: 'key', field })) : []),
    ...(cursor.kind === 'field' ? [{ where: 'cursor', field: cursor.field }] : []),
    ...Object.keys(columns).map((field) => ({ where: 'columns', field })),
    ...(partitionBy ?? []).map(({ column }) => ({ where: 'partitionBy', field: column })),
  ];
}

function listFields(root: FieldNode): { readonly paths: readonly string[][]; readonly hasMaps: boolean } {
  const paths: string[][] = [];
  let hasMaps = false;
  const visit = (node: FieldNode) => {
    if (node.path.length > 0) paths.push(node.path.map(toFieldName));
    // The members of an object stored as a whole are not all known.
    hasMaps ||= node.folded;
    for (const child of node.children.values()) visit(child);
  };
  visit(root);
  return { paths, hasMaps };
}
