import type { z } from 'zod';
import { formatPath, valueAt, type ConfigPath } from './config-path.ts';
import { findKeyElsewhere, listKnownKeys } from './known-keys.ts';
import type { Problem } from './problem.ts';
import { findNearestName, suggestName } from '../text/suggest-name.ts';

type Issue = z.core.$ZodIssue;

/** Turns the schema's issues into problems, each with the path of its key. */
export function describeIssues(
  issues: readonly Issue[],
  config: unknown,
  allows: AllowsKey,
): readonly Problem[] {
  return issues.flatMap((issue) => describeIssue(issue, [], { config, allows }));
}

/** Whether a key of the schema could be written where an unknown one stands: an account may not say everything. */
export type AllowsKey = (unknown: ConfigPath, known: ConfigPath) => boolean;

interface Scope {
  readonly config: unknown;
  readonly allows: AllowsKey;
}

/** Messages for issues without one in the schema. They never quote values, since any may be a secret. */
export function phraseIssue(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return phraseType(issue.expected, issue.input);
    case 'invalid_value':
      return phraseChoice(issue.values);
    case 'too_small':
      return issue.origin === 'number' || issue.origin === 'int'
        ? `must be at least ${issue.minimum}`
        : 'must not be empty';
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    case 'custom':
    case 'invalid_element':
    case 'invalid_format':
    case 'invalid_key':
    case 'invalid_union':
    case 'not_multiple_of':
    case 'unrecognized_keys':
      return 'is not valid';
  }
}

function phraseChoice(values: readonly unknown[]): string {
  return `must be one of ${values.map(String).join(', ')}`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a map of settings',
  record: 'a map of settings',
  array: 'a list',
};

function phraseType(expected: string, input: unknown): string {
  if (input === undefined) return 'is required';
  const wanted = typeNames[expected] ?? expected;
  const quotes = expected === 'string' && typeof input !== 'object' ? '; put it in quotes' : '';
  if (expected === 'number' && typeof input === 'number') return 'must be a finite number';
  if (expected === 'int' && typeof input === 'number') return `must be ${wanted}`;
  const space =
    wanted === typeNames['object'] && isUnspacedKey(input) ? '; is a space missing after a ":"?' : '';
  return `must be ${wanted}, not ${nameType(input)}${quotes}${space}`;
}

/** Whether a text looks like a key and its value: without a space after the colon they are one text. */
function isUnspacedKey(input: unknown): boolean {
  return typeof input === 'string' && /^[A-Za-z]\w*:[^\s/]/.test(input);
}

function nameType(input: unknown): string {
  if (input === null) return 'empty';
  if (Array.isArray(input)) return 'a list';
  return typeNames[typeof input] ?? typeof input;
}

function describeIssue(issue: Issue, prefix: ConfigPath, scope: Scope): readonly Problem[] {
  const path = [...prefix, ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path: [...path, key], message: phraseUnknownKey(path, key, scope) }));
    case 'invalid_key':
      return [{ path, message: issue.issues[0]?.message ?? issue.message }];
    case 'invalid_union':
      return describeUnion(issue, path, scope);
    case 'invalid_value':
      return [{ path, message: `${issue.message}${suggestValue(issue, valueAt(scope.config, path))}` }];
    case 'custom':
    case 'invalid_element':
    case 'invalid_format':
    case 'invalid_type':
    case 'not_multiple_of':
    case 'too_big':
    case 'too_small':
      return [{ path, message: issue.message }];
  }
}

// A branch that fails only below its root is the one the user meant.
function describeUnion(
  issue: Extract<Issue, { readonly code: 'invalid_union' }>,
  path: ConfigPath,
  scope: Scope,
): readonly Problem[] {
  const meant = issue.errors.find(
    (branch) =>
      branch.length > 0 &&
      branch.every((inner) => inner.path.length > 0 || inner.code === 'unrecognized_keys'),
  );
  if (meant === undefined) return [{ path, message: issue.message }];
  return meant.flatMap((inner) => describeIssue(inner, path, scope));
}

function suggestValue(issue: Extract<Issue, { readonly code: 'invalid_value' }>, input: unknown): string {
  // A custom message of the schema may say that some of these values are not available.
  if (typeof input !== 'string' || issue.message !== phraseChoice(issue.values)) return '';
  return suggestName(
    input,
    issue.values.filter((value) => typeof value === 'string'),
  );
}

function phraseUnknownKey(parent: ConfigPath, key: string, { allows }: Scope): string {
  const isAllowed = (path: ConfigPath) => allows([...parent, key], path);
  const known = listKnownKeys(parent).filter((name) => isAllowed([...parent, name]));
  if (isUnspacedKey(key) && known.includes(key.split(':', 1)[0] ?? ''))
    return 'unknown key; is a space missing after its ":"?';
  const misspelt = findNearestName(key, known, 0.75);
  if (misspelt !== undefined) return `unknown key; did you mean "${misspelt}"?`;
  const places = findKeyElsewhere(key).map((path) => placeStream(path, parent));
  const place = places.find((path) => path[0] === parent[0]) ?? places[0];
  if (place !== undefined) {
    const where = isAllowed(place) ? '' : ' at the top of the config, for all accounts together';
    return `unknown key here; it belongs at "${formatPath(place)}"${where}`;
  }
  const nearest = findNearestName(key, known);
  return nearest === undefined
    ? `unknown key; known here: ${known.join(', ')}`
    : `unknown key; did you mean "${nearest}"?`;
}

// Inside a stream, `streams.*` means this stream.
function placeStream(path: readonly string[], parent: ConfigPath): ConfigPath {
  const stream = parent[0] === 'streams' ? parent[1] : undefined;
  return path.map((part, at) => {
    if (part !== '*') return part;
    return path[at - 1] === 'columns' ? 'FIELD' : (stream ?? 'NAME');
  });
}
