import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { ACCOUNT_NAME } from '../model/account.ts';

/** A kind of place, and its path for an account of any name. */
export interface PlacePattern {
  readonly kind: string;
  /** Files of which a folder of ours has one; undefined for a place that is a file. */
  readonly marks: readonly string[] | undefined;
  readonly pathOf: (account: string) => string;
}

/** What is left of an account that the config no longer has. */
export interface Leftover {
  readonly account: string;
  readonly places: readonly { readonly kind: string; readonly path: string }[];
}

const ANY_NAME = '\0';
/** Finds what lies in the places of accounts whose names are not among `names`, in the order of their names. */
export function findLeftovers(
  patterns: readonly PlacePattern[],
  names: readonly string[],
): readonly Leftover[] {
  const known = new Set(names);
  const found = new Map<string, Leftover['places']>();
  for (const { kind, marks, pathOf } of patterns) {
    for (const account of listNames(pathOf(ANY_NAME))) {
      const place = pathOf(account);
      if (known.has(account) || !isOurs(place, marks)) continue;
      found.set(account, [...(found.get(account) ?? []), { kind, path: place }]);
    }
  }
  return [...found]
    .map(([account, places]) => ({ account, places }))
    .toSorted((a, b) => (a.account < b.account ? -1 : 1));
}

/** The names that stand for an account in the first part of a path that holds one. */
function listNames(pattern: string): readonly string[] {
  const parts = pattern.split(path.sep);
  const at = parts.findIndex((part) => part.includes(ANY_NAME));
  const [before = '', after = ''] = (parts[at] ?? '').split(ANY_NAME);
  const folder = parts.slice(0, at).join(path.sep) || path.sep;
  return listFolder(folder).flatMap((entry) => {
    const isLike =
      entry.length > before.length + after.length && entry.startsWith(before) && entry.endsWith(after);
    const name = isLike ? entry.slice(before.length, entry.length - after.length) : '';
    return ACCOUNT_NAME.test(name) ? [name] : [];
  });
}

function listFolder(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isOurs(place: string, marks: readonly string[] | undefined): boolean {
  if (marks === undefined) return existsSync(place);
  return marks.some((name) => existsSync(path.join(place, name)));
}
