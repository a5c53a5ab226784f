import { type FindEdit, editMembers, type MemberEdit } from '../json/edit-members.ts';
import { parseExact } from '../json/exact-number.ts';
import { canonicalText } from '../json/fingerprint.ts';
import { BugError } from '../model/errors.ts';
import { fingerprintHashKey, hashWithKey } from '../model/hash-key.ts';
import type { PageRecord } from '../model/page.ts';
import type { ParamValue, Stream } from '../model/stream.ts';
import { foldConfiguredName, foldSegment } from './field-rules.ts';

/** Removes personal data from records before anything else sees them; tracks which rules matched a field. */
export interface RecordMask {
  readonly mask: (record: PageRecord) => PageRecord;
  /** Rules, as config names them, that a field was found for so far. */
  readonly matched: ReadonlySet<string>;
}

/** What is masked, and how: `exclude`, or `hash:` and a fingerprint of the key. By the field's name in config. */
export type MaskedFields = Readonly<Record<string, string>>;

type MaskedStream = Pick<Stream, 'columns'>;

// Caches member names, with a limit: records with maps bring new names without end.
const MOST_KNOWN_NAMES = 1_000;

/**
 * Compiles a stream's `exclude` and `hash` rules; undefined where it has none. Fields that `done` lists are skipped:
 * the records are already masked by them.
 */
export function compileMask(
  stream: MaskedStream,
  hashKey: string | undefined,
  done: MaskedFields = {},
): RecordMask | undefined {
  const wanted = Object.entries(describeMasks(stream, hashKey)).filter(([field, how]) => done[field] !== how);
  if (wanted.length === 0) return undefined;
  const matched = new Set<string>();
  const rules = wanted.map(([field, how]) => ({
    field,
    exact: field,
    folded: foldConfiguredName(field),
    edit: how === 'exclude' ? DROP : replaceByHash(hashKey),
  }));
  // If rules for two spellings of one field disagree, it is excluded.
  rules.sort((a, b) => Number(b.edit === DROP) - Number(a.edit === DROP));
  const find = compileLevel(rules, { exact: '', folded: '' }, matched);
  return { matched, mask: (record) => maskRecord(record, find) };
}

/** Describes a stream's masks, to distinguish pages masked by them from pages masked differently or not at all. */
export function describeMasks(stream: MaskedStream, hashKey: string | undefined): MaskedFields {
  const rules = Object.entries(stream.columns).filter(([, { kind }]) => kind !== 'type');
  if (rules.length === 0) return {};
  const key = hashKey === undefined ? 'unknown' : fingerprintHashKey(hashKey);
  return Object.fromEntries(
    rules.map(([field, { kind }]) => [field, kind === 'exclude' ? kind : `hash:${key}`]),
  );
}

/** Whether records of the stream are changed before anything is kept or shown of them. */
export function isMasked(stream: MaskedStream): boolean {
  return Object.values(stream.columns).some(({ kind }) => kind !== 'type');
}

/** The slice's values that fill what records lack, under the same rules: filling must not undo a mask. */
export function listSliceValues(
  stream: Pick<Stream, 'columns' | 'slice'>,
  hashKey: string | undefined,
): Readonly<Record<string, ParamValue>> {
  const text = JSON.stringify(stream.slice?.values ?? {});
  const masked = compileMask(stream, hashKey)?.mask({ text, value: undefined, exact: false }).text ?? text;
  return JSON.parse(masked) as Record<string, ParamValue>;
}

interface Rule {
  readonly field: string;
  readonly exact: string;
  readonly folded: string;
  readonly edit: MemberEdit;
}

interface Prefix {
  readonly exact: string;
  readonly folded: string;
}

const DROP: MemberEdit = { kind: 'drop' };

function replaceByHash(hashKey: string | undefined): MemberEdit {
  if (hashKey === undefined)
    throw new BugError('a column is to be hashed and there is no key', {
      code: 'bug',
      hint: 'Please report this.',
    });
  return { kind: 'replace', replace: (text) => hashValue(text, hashKey) };
}

function compileLevel(rules: readonly Rule[], above: Prefix, matched: Set<string>): FindEdit {
  const known = new Map<string, readonly [Rule | undefined, MemberEdit | undefined]>();
  return (name) => {
    let found = known.get(name);
    if (found === undefined) {
      found = findEdit(rules, above, name, matched);
      if (known.size >= MOST_KNOWN_NAMES) known.clear();
      known.set(name, found);
    }
    const [rule, edit] = found;
    if (rule !== undefined) matched.add(rule.field);
    return edit;
  };
}

function findEdit(
  rules: readonly Rule[],
  above: Prefix,
  name: string,
  matched: Set<string>,
): readonly [Rule | undefined, MemberEdit | undefined] {
  const exact = above.exact + name;
  const folded = above.folded + foldSegment(name);
  const rule = rules.find((one) => one.exact === exact || one.folded === folded);
  if (rule !== undefined) return [rule, rule.edit];
  const inside = { exact: `${exact}.`, folded: `${folded}__` };
  const below = rules.filter(
    (one) => one.exact.startsWith(inside.exact) || one.folded.startsWith(inside.folded),
  );
  return [
    undefined,
    below.length === 0 ? undefined : { kind: 'enter', find: compileLevel(below, inside, matched) },
  ];
}

function maskRecord(record: PageRecord, find: FindEdit): PageRecord {
  const text = editMembers(record.text, find);
  if (text === record.text) return record;
  return { ...record, text, value: record.exact ? parseExact(text) : (JSON.parse(text) as unknown) };
}

/** JSON text of the hash that stands for a value; null stays null. */
function hashValue(text: string, hashKey: string): string {
  const value = parseExact(text);
  if (value === null) return text;
  return `"${hashWithKey(hashKey, typeof value === 'string' ? value : canonicalText(value))}"`;
}
