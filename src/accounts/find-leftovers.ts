import { existsSync, lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { isRecorded, recallDestinations } from '../../state/destination-record.ts';
import { readRefusedFile } from '../../state/refused-file.ts';
import { readRunFile } from '../../state/run-file.ts';
import { isInside, resolveLinks } from '../files/real-paths.ts';
import { ACCOUNT_NAME } from '../model/account.ts';

/** A kind of place, and its path for an account of any name. */
export interface PlacePattern {
  readonly kind: string;
  readonly pathOf: (account: string) => string;
}

/** Paths that the config names: they are not leftovers. */
export interface InConfig {
  readonly names: readonly string[];
  /** Absolute paths. */
  readonly places: readonly string[];
}

/** A path that stays, and why. */
export interface KeptPath {
  readonly path: string;
  readonly why: string;
}

/** Leftovers of an account that the config no longer has. */
export interface Leftover {
  readonly account: string;
  /** Known to belong to the account: its state folder, and what it published. */
  readonly places: readonly { readonly kind: string; readonly path: string }[];
}

/** The same, with what may belong to others. */
export interface FoundLeftover extends Leftover {
  /** Found in such places, but not known to belong to the account. */
  readonly kept: readonly KeptPath[];
}

const ANY_NAME = '\0';
const STATE = 'stateDir';

/** Finds leftovers of accounts that the config does not have, by their state folders; sorted by name. */
export function findLeftovers(patterns: readonly PlacePattern[], inConfig: InConfig): readonly Leftover[] {
  const state = patterns.find(({ kind }) => kind === STATE);
  const names = state === undefined ? [] : listNames(state.pathOf(ANY_NAME));
  return names
    .filter((name) => !inConfig.names.includes(name))
    .flatMap((name) => findLeftover(patterns, inConfig, name) ?? [])
    .filter(({ places }) => places.length > 0)
    .map(({ account, places }) => ({ account, places }))
    .toSorted((a, b) => (a.account < b.account ? -1 : 1));
}

/** Leftovers of one account; undefined if there are none. */
export function findLeftover(
  patterns: readonly PlacePattern[],
  inConfig: InConfig,
  account: string,
): FoundLeftover | undefined {
  const taken = inConfig.places.map((place) => resolveLinks(place));
  const present = patterns
    .map(({ kind, pathOf }) => ({ kind, path: pathOf(account) }))
    .filter((place) => isThere(place.path) && !isTaken(nameOf(place.path), taken));
  if (present.length === 0) return undefined;
  const destinations = patterns
    .filter(({ kind }) => kind !== STATE)
    .map(({ pathOf }) => resolveLinks(pathOf(account)));
  const state = present.find(({ kind }) => kind === STATE);
  const doubt = state === undefined ? undefined : findDoubt(state.path, destinations);
  if (state !== undefined && doubt === undefined) return { account, places: present, kept: [] };
  const kept = present.map((place) => {
    const link = findLink(place.path);
    const own = place === state ? doubt : NO_STATE;
    return { path: place.path, why: link ?? own ?? NO_STATE };
  });
  return { account, places: [], kept };
}

const NO_STATE = 'no state folder of the account says that it was published from there';
const IS_LINK = "it is a link, and what it points to may not be the account's";

/** Why a link is left alone; undefined for anything else. */
export function findLink(place: string): string | undefined {
  return lstatSync(place).isSymbolicLink() ? IS_LINK : undefined;
}

/** Why a folder may not be the state folder of the account that publishes to these destinations. */
function findDoubt(folder: string, destinations: readonly string[]): string | undefined {
  const link = findLink(folder);
  if (link !== undefined) return link;
  const record = recallDestinations(folder);
  if (record === undefined) {
    const isState = readRunFile(folder).length > 0 || readRefusedFile(folder) !== undefined;
    return isState ? undefined : 'nothing in it shows that it is a state folder';
  }
  // If each account has a destination of its own in the config, nothing says where this one was.
  if (destinations.length === 0 || isRecorded(record, folder, destinations)) return undefined;
  return `it is the state folder of another destination (${Object.values(record.places).join(', ')})`;
}

function isThere(place: string): boolean {
  return lstatSync(place, { throwIfNoEntry: false }) !== undefined;
}

/** A link is not what it points to. */
function nameOf(place: string): string {
  return path.join(resolveLinks(path.dirname(place)), path.basename(place));
}

function isTaken(place: string, taken: readonly string[]): boolean {
  return taken.some((one) => isInside(place, one) || (isInside(one, place) && existsSync(one)));
}

/** Names found where a path has `${account}`, up to the first such part. */
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
