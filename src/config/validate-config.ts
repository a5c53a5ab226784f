import type { z } from 'zod';
import { configSchema, type Config } from '../model/config.ts';
import { isAtOrBelow, pathKey, valueAt, type ConfigPath } from './config-path.ts';
import { type AllowsKey, describeIssues, phraseIssue } from './describe-issues.ts';
import type { Problem } from './problem.ts';

/** A valid config, or everything that is wrong with it. */
export type Validation = { readonly config: Config } | { readonly problems: readonly Problem[] };

/** Validates plain values; text from a placeholder may stand for a number, true or false. */
export function validateConfig(
  raw: unknown,
  placeholderPaths: readonly ConfigPath[],
  allows: AllowsKey = () => true,
): Validation {
  const reserved = findReserved(raw);
  if (reserved.length > 0) return { problems: reserved };
  const value = fillEmptySections(raw);
  const result = configSchema.safeParse(value, { error: phraseIssue });
  if (result.success) return { config: result.data };
  const replaceable = new Set(placeholderPaths.map(pathKey));
  const converted = result.error.issues.reduce<unknown>((current, issue) => {
    const path = issue.path.filter((part) => typeof part !== 'symbol');
    const expected = expectedBy(issue);
    const scalar = replaceable.has(pathKey(path)) ? readScalar(valueAt(current, path), expected) : undefined;
    return scalar === undefined ? current : replaceAt(current, path, scalar);
  }, value);
  const second = converted === value ? result : configSchema.safeParse(converted, { error: phraseIssue });
  if (second.success) return { config: second.data };
  return { problems: describeIssues(second.error.issues, converted, allows) };
}

/** Problems that do not merely follow from another problem at the same place. */
export function withoutFollowing(
  problems: readonly Problem[],
  causes: readonly Problem[],
): readonly Problem[] {
  return problems.filter((problem) => !causes.some((cause) => isAtOrBelow(problem.path, cause.path)));
}

// Objects of JavaScript have it from the start, so the schema would leave out whatever is called so.
const RESERVED = '__proto__';

function findReserved(
  value: unknown,
  path: ConfigPath = [],
  seen: Set<object> = new Set(),
): readonly Problem[] {
  // An object that a program gives may be in itself.
  if (typeof value !== 'object' || value === null || seen.has(value)) return [];
  seen.add(value);
  const found = Object.hasOwn(value, RESERVED)
    ? [{ path: [...path, RESERVED], message: 'cannot be used as a name: rename it' }]
    : [];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [
    ...found,
    ...entries.flatMap(([key, child]: [string | number, unknown]) =>
      findReserved(child, [...path, key], seen),
    ),
  ];
}

// A section with all lines commented out is null in YAML and means: nothing set here.
function fillEmptySections(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const sections = ['source', 'destination', 'engine', 'defaults', 'retention', 'notify', 'streams'];
  const filled = mapValues(value, (child, key) => (child === null && sections.includes(key) ? {} : child));
  return mapValues(filled, (child, key) => {
    if (!isRecord(child)) return child;
    if (key === 'streams') return mapValues(child, (stream) => stream ?? {});
    if (key === 'source') return mapValues(child, (part, name) => (name === 'quota' ? (part ?? {}) : part));
    return child;
  });
}

// A choice may have true or false among its values, as `cursor` and `exclude` do.
function expectedBy(issue: z.core.$ZodIssue): string | undefined {
  if (issue.code === 'invalid_type') return issue.expected;
  return issue.code === 'invalid_union' || issue.code === 'invalid_value' ? 'boolean' : undefined;
}

function readScalar(text: unknown, expected: string | undefined): number | boolean | undefined {
  if (typeof text !== 'string') return undefined;
  if (expected === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined;
  if (expected !== 'number' && expected !== 'int') return undefined;
  return /^-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : undefined;
}

function replaceAt(value: unknown, path: ConfigPath, replacement: unknown): unknown {
  const [part, ...rest] = path;
  if (part === undefined) return replacement;
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (index === part ? replaceAt(item, rest, replacement) : item));
  if (!isRecord(value)) return value;
  return mapValues(value, (child, key) => (key === part ? replaceAt(child, rest, replacement) : child));
}

function mapValues(
  record: Readonly<Record<string, unknown>>,
  change: (value: unknown, key: string) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
