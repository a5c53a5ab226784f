import { createHash } from 'node:crypto';

const LONGEST_NAME = 120;
const HASH_LENGTH = 6;

/** Columns of ours and the engine's; a field of the same name gets another one. */
export const reservedColumns: readonly string[] = [
  // The engine's number of a row, which a column of the name would hide.
  'rowid',
  '_slice',
  '_run_id',
  '_synced_at',
  '_deleted_at',
  // Those of a history table.
  '_valid_from',
  '_valid_to',
];
/** Working columns while rows are merged and published begin so; a field's own name never does. */
const WORKING_PREFIX = '_sluice_';

/** snake_case of one field name: `topicId` becomes `topic_id`, `HTTPStatus` becomes `http_status`. */
export function toSnakeCase(field: string): string {
  const words = field
    .normalize('NFC')
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1_$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .replace(/[^\p{L}\p{N}_]+/gu, '_')
    .toLowerCase();
  const trimmed = words
    .replace(/^_+(?=.*[^_])/u, (lead) => (field.startsWith('_') ? lead : ''))
    .replace(/(?<=[^_])_+$/u, '');
  if (trimmed.replaceAll('_', '') === '') return 'field';
  return /^\p{N}/u.test(trimmed) ? `_${trimmed}` : trimmed;
}

// What a cut through a character beyond 16 bits leaves.
const HALF_PAIR = /[\ud800-\udbff]$/;

/** The name a path would have if nothing else wanted it: nested names joined by two underscores. */
export function plainColumnName(path: readonly string[]): string {
  const name = path.map(toSnakeCase).join('__');
  return name.length <= LONGEST_NAME
    ? name
    : `${name.slice(0, LONGEST_NAME - HASH_LENGTH - 1).replace(HALF_PAIR, '')}_${shortHash(path)}`;
}

/**
 * A column name for each path: names given before stay, and of new paths that want one name the one
 * spelt exactly so gets it, else the first in code-point order; the others carry a hash of their path.
 * Depends on the set of paths only, never on their order, and ignores case as the engine does.
 */
export function nameColumns(
  paths: readonly (readonly string[])[],
  existing: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const taken = new Set(reservedColumns);
  for (const [key, name] of existing) {
    names.set(key, name);
    taken.add(foldCase(name));
  }
  const fresh = paths.filter((path) => !existing.has(pathKey(path)));
  for (const path of fresh.toSorted(comparePreference)) {
    const plain = plainColumnName(path);
    let name = plain;
    const isOurs = foldCase(plain).startsWith(WORKING_PREFIX);
    for (let attempt = 0; (isOurs && attempt === 0) || taken.has(foldCase(name)); attempt += 1) {
      name = `${plain}_${shortHash(path, attempt)}`;
    }
    taken.add(foldCase(name));
    names.set(pathKey(path), name);
  }
  return names;
}

/** One string for a path, usable as a map key. */
export function pathKey(path: readonly string[]): string {
  return JSON.stringify(path);
}

function comparePreference(a: readonly string[], b: readonly string[]): number {
  const exactA = plainColumnName(a) === a.join('__') ? 0 : 1;
  const exactB = plainColumnName(b) === b.join('__') ? 0 : 1;
  if (exactA !== exactB) return exactA - exactB;
  const [keyA, keyB] = [pathKey(a), pathKey(b)];
  return keyA < keyB ? -1 : keyA > keyB ? 1 : 0;
}

// Identifiers are compared without case; both foldings, since some letters change under one of them only.
function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}

// Another attempt gives another hash, should a field be named like the first one.
function shortHash(path: readonly string[], attempt = 0): string {
  const text = `${pathKey(path)}${attempt === 0 ? '' : attempt}`;
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);
}
