import path from 'node:path';
import { isInside, resolveLinks } from '../files/real-paths.ts';
import type { AccountData } from '../model/account.ts';
import { LAKE_CATALOG } from '../model/lake.ts';
import { type ConfigAccount, layerAccount } from './accounts.ts';
import type { ConfigFile } from './config-file.ts';
import { type ConfigPath, valueAt } from './config-path.ts';
import { findCombinedProblem } from './combined-place.ts';
import { expandText } from './expand-text.ts';
import { findHome } from './ledger-dir.ts';
import type { PlaceholderScope } from './read-placeholder.ts';
import { buildConfigError, type Problem } from './problem.ts';
import { findSharedLakehouse, hasLakehouse } from './lakehouse-destinations.ts';
import {
  defaultStateDir,
  findReaders,
  READERS_FILE,
  placeRules,
  type PlaceRule,
  resolvePath,
} from './storage-paths.ts';

/** A place of one account, or of all of them together. */
export interface AccountPlace {
  /** Undefined for what belongs to all accounts. */
  readonly account: string | undefined;
  readonly kind: PlaceRule['kind'] | 'combined' | 'catalog';
  /** Absolute. */
  readonly path: string;
}

/** A place as the config writes it for any account. */
export interface PlacePattern extends Pick<PlaceRule, 'kind'> {
  /** The absolute path for an account of this name. */
  readonly pathOf: (account: string) => string;
}

/** Where the data of all accounts lies. */
export interface AccountPlaces {
  readonly places: readonly AccountPlace[];
  /** Where readers find what accounts publish; those whose destination the config does not say are missing. */
  readonly data: readonly AccountData[];
  /** Those that hold `${account}`: names that the config no longer has are found by them. */
  readonly patterns: readonly PlacePattern[];
  /** Absolute path of the one file with the tables of all accounts; undefined where the config names none. */
  readonly combined: string | undefined;
  /** Absolute path of the file with views over the lakes of all accounts; undefined without a folder they share. */
  readonly catalog: string | undefined;
  /** What tells this config from others: its path or, for one given as an object, that of its state folders. */
  readonly config: string | undefined;
}

/** What the places depend on outside the config. */
export interface PlaceScope extends Pick<PlaceholderScope, 'env'> {
  readonly platform?: NodeJS.Platform;
}

/** No path holds a NUL, so that this stands for a name in a path. */
const ANY_NAME = '\0';

/**
 * Finds where each account's data lies. Throws a ConfigError where two of them share a place: one would replace
 * what the other wrote. Paths that cannot be read are left to the check of their own account.
 */
export function findPlaces(accounts: readonly ConfigAccount[], scope: PlaceScope): AccountPlaces {
  const [first] = accounts;
  if (first === undefined)
    return { places: [], data: [], patterns: [], combined: undefined, catalog: undefined, config: undefined };
  const { shared } = first;
  const resolve = (text: string | undefined, account: string | undefined) => {
    if (text === undefined) return undefined;
    const home = findHome(scope.env, scope.platform ?? process.platform);
    const expanded = hasPlaceholders(shared)
      ? expandText(text, { ...scope, baseDir: shared.baseDir, account }, false)
      : { text, missing: [] };
    return expanded.missing.length > 0 ? undefined : resolvePath(expanded.text, shared.baseDir, home);
  };
  const incomplete = new Set<string>();
  const own = accounts.flatMap((account) => {
    const { value } = layerAccount(account);
    return placeRules.flatMap((rule): readonly AccountPlace[] => {
      const written = readPath(value, rule, account.name);
      const found = resolve(written, account.name);
      if (found === undefined && isSet(value, rule.at)) incomplete.add(account.name);
      return found === undefined ? [] : [{ account: account.name, kind: rule.kind, path: found }];
    });
  });
  const patterns = placeRules.flatMap((rule): readonly PlacePattern[] => {
    const found = resolve(readPath(shared.value, rule, ANY_NAME), ANY_NAME);
    if (found?.includes(ANY_NAME) !== true) return [];
    return [{ kind: rule.kind, pathOf: (account) => found.replaceAll(ANY_NAME, account) }];
  });
  const data = accounts.flatMap((one): readonly AccountData[] => {
    const { name } = one;
    const places = own.filter(({ account }) => account === name);
    const stateDir = places.find(({ kind }) => kind === 'stateDir')?.path;
    const readers = findReaders(places) ?? findOwnCopy(one, stateDir);
    if (readers === undefined || incomplete.has(name)) return [];
    return [{ account: name, ...readers, stateDir }];
  });
  const written = textAt(shared.value, COMBINED);
  const combined = resolve(written, undefined);
  const refused = findCombinedProblem(written, combined, accounts);
  if (refused !== undefined) throw buildConfigError([{ path: COMBINED, ...refused }], shared);
  const catalog = findCatalog(patterns);
  const all: readonly AccountPlace[] = [
    ...own,
    ...(combined === undefined ? [] : [{ account: undefined, kind: 'combined' as const, path: combined }]),
    ...(catalog === undefined ? [] : [{ account: undefined, kind: 'catalog' as const, path: catalog }]),
  ];
  const problem = findShared(all, accounts, scope.platform ?? process.platform);
  const found = problem ?? findSharedLakehouse(accounts);
  if (found !== undefined) throw buildConfigError([found], shared);
  const config = shared.path ?? patterns.find(({ kind }) => kind === 'stateDir')?.pathOf('*');
  return { places: own, data, patterns, combined, catalog, config };
}

const COMBINED: ConfigPath = ['destination', 'combined'];

/** The copy for commands, where an account publishes to a lakehouse alone. */
function findOwnCopy(account: ConfigAccount, stateDir: string | undefined): ReturnType<typeof findReaders> {
  if (stateDir === undefined || !hasLakehouse(layerAccount(account).value)) return undefined;
  return { readersFile: path.join(stateDir, READERS_FILE), lake: undefined };
}

/** Also true for a value that is not a text: the account says something that cannot be used. */
function isSet(value: unknown, at: ConfigPath): boolean {
  return (valueAt(value, at) ?? null) !== null;
}

/** In a config given as an object they have no meaning. */
function hasPlaceholders(shared: ConfigFile | undefined): boolean {
  return shared?.path !== undefined;
}

function readPath(value: unknown, { kind, at }: PlaceRule, account: string): string | undefined {
  const written = textAt(value, at);
  return written ?? (kind === 'stateDir' ? defaultStateDir(account) : undefined);
}

function textAt(value: unknown, at: ConfigPath): string | undefined {
  const found = valueAt(value, at);
  return typeof found === 'string' && found.trim() !== '' ? found : undefined;
}

/** Views over all lakes lie beside them, where the name is in the last part of the path: `lake/account=acme`. */
function findCatalog(patterns: readonly PlacePattern[]): string | undefined {
  const any = patterns.map(({ kind, pathOf }) => ({ kind, path: pathOf(ANY_NAME) }));
  const lake = findReaders(any)?.lake;
  if (lake === undefined || path.dirname(lake).includes(ANY_NAME)) return undefined;
  return path.join(path.dirname(lake), LAKE_CATALOG);
}

/** A place with its links followed. */
interface RealPlace {
  readonly place: AccountPlace;
  readonly path: string;
  readonly order: string;
}

/** The first two places of different accounts that are the same, or one inside the other. */
function findShared(
  places: readonly AccountPlace[],
  accounts: readonly ConfigAccount[],
  platform: NodeJS.Platform,
): Problem | undefined {
  const real = places
    .map((place) => ({ place, path: resolveLinks(place.path) }))
    .map((found): RealPlace => ({ ...found, order: orderOf(found.path, platform) }))
    .sort((a, b) => (a.order < b.order ? -1 : 1));
  const open: RealPlace[] = [];
  for (const next of real) {
    while (open.length > 0 && !isInside(next.path, open.at(-1)?.path ?? '', platform)) open.pop();
    const outer = open.find(
      ({ place }) => place.account !== next.place.account || place.account === undefined,
    );
    if (outer !== undefined) return describeShared(outer, next, accounts);
    open.push(next);
  }
  return undefined;
}

/** Sorts what lies inside a folder directly behind it. */
function orderOf(target: string, platform: NodeJS.Platform): string {
  const folded =
    platform === 'darwin' || platform === 'win32' ? target.normalize('NFC').toLowerCase() : target;
  return folded.replaceAll(path.sep, '\u0001');
}

function describeShared(outer: RealPlace, inner: RealPlace, accounts: readonly ConfigAccount[]): Problem {
  const shared = accounts[0]?.shared;
  const isSame = outer.order === inner.order;
  const [first, second] = [outer.place, inner.place];
  // The one that an account says for itself is the one to change; a default stands nowhere.
  const [wrong = second] = [second, first].toSorted((a, b) => rankOf(a, accounts) - rankOf(b, accounts));
  const at = keyOf(wrong);
  const own = accounts.find(({ name, own: said }) => name === wrong.account && isSet(said, at));
  const position = own && layerAccount(own).locate(at);
  // In a config given as an object there are no positions, and the path has to say whose it is.
  const found = position === undefined ? { path: [...(own?.ownPath ?? []), ...at] } : { path: at, position };
  const rule = placeRules.find(({ kind }) => kind === wrong.kind);
  const link = isSame && first.path !== second.path ? ` (${first.path} is the same place)` : '';
  if (isSame && rule !== undefined && first.kind === second.kind) {
    const names = `${first.account ?? ''} and ${second.account ?? ''}`;
    return {
      ...found,
      message: `${names} would share ${second.path}${link}, and each account needs its own`,
      hint:
        own === undefined || !hasPlaceholders(shared)
          ? suggestPlace(shared, wrong, rule)
          : suggestOther(own, rule),
    };
  }
  const how = isSame ? 'is the same as' : 'lies inside';
  return {
    ...found,
    message: `the ${nameOf(second)} (${second.path}) ${how} the ${nameOf(first)} (${first.path})`,
    hint:
      own !== undefined && rule !== undefined
        ? suggestOther(own, rule)
        : hasPlaceholders(shared)
          ? 'Give each account places of its own, e.g. "./lake/account=${account}" and "./accounts/${account}.duckdb".'
          : 'Give each account places of its own, e.g. "./lake/account=acme" and "./accounts/acme.duckdb".',
  };
}

function rankOf(place: AccountPlace, accounts: readonly ConfigAccount[]): number {
  const at = keyOf(place);
  const account = accounts.find(({ name }) => name === place.account);
  if (account !== undefined && isSet(account.own, at)) return 0;
  return isSet(accounts[0]?.shared.value, at) ? 1 : 2;
}

/** What to do about a path that an account has written for itself. */
function suggestOther({ name, shared }: ConfigAccount, { at }: PlaceRule): string {
  const key = String(at.at(-1));
  const written = textAt(shared.value, at);
  if (written?.includes('${account}') !== true) return `Write another ${key} for ${name}.`;
  return `Remove the ${key} of ${name}, so that it has "${written}" as the others do, or write another one for it.`;
}

function keyOf({ kind }: AccountPlace): ConfigPath {
  if (kind === 'combined') return COMBINED;
  // The folder of the views follows from that of the lakes.
  return kind === 'catalog' ? ['destination'] : ruleOf(kind).at;
}

function nameOf({ account, kind }: AccountPlace): string {
  if (kind === 'combined') return 'file of all accounts';
  if (kind === 'catalog') return 'file with views over all lakes';
  return `${ruleOf(kind).title} of ${account ?? ''}`;
}

function ruleOf(kind: PlaceRule['kind']): PlaceRule {
  const rule = placeRules.find((one) => one.kind === kind);
  if (rule === undefined) throw new TypeError(`no rule for ${kind}`);
  return rule;
}

/** What to write in place of a path that is the same for all. */
function suggestPlace(shared: ConfigFile | undefined, place: AccountPlace, { at, own }: PlaceRule): string {
  const { account = '', path: found } = place;
  const written = textAt(shared?.value, at) ?? found;
  if (hasPlaceholders(shared)) return `Write ${String(at.at(-1))}: "${own(written)}"`;
  const hasName = written.includes('${account}');
  const path = (hasName ? written : own(written)).replaceAll('${account}', account);
  const why = hasName ? ' Placeholders have no meaning in a config given as an object.' : '';
  return `Write it for each account, e.g. accounts.${account}.${at.join('.')}: "${path}".${why}`;
}
