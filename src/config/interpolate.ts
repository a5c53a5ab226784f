import { pathKey, type ConfigPath } from './config-path.ts';
import type { Problem } from './problem.ts';
import { isSecretPath } from './secret-paths.ts';
import { expandText } from './expand-text.ts';
import type { PlaceholderOrigin, PlaceholderScope } from './read-placeholder.ts';

/** A value that is neither a map nor a list. */
export type Scalar = string | number | boolean | null;

/** One value the config holds, and where its text came from. */
export interface ConfigLeaf {
  readonly path: ConfigPath;
  /** Undefined when its variable is unset and nothing needs it. */
  readonly value: Scalar | undefined;
  /** Placeholders in this value; empty if it is written out. */
  readonly placeholders: readonly PlaceholderOrigin[];
}

/** A config whose placeholders are replaced. */
export interface Interpolated {
  readonly value: unknown;
  readonly leaves: readonly ConfigLeaf[];
  readonly problems: readonly Problem[];
}

/** Options of an interpolation. */
export interface InterpolateOptions extends PlaceholderScope {
  /** Paths whose value is left out, not reported, when its variable or file is missing. */
  readonly optional: readonly ConfigPath[];
}

/**
 * Replaces the placeholders in text values, never in keys. This happens after the YAML is parsed, and results
 * are not parsed again: the value of a variable cannot add a setting.
 */
export function interpolate(value: unknown, options: InterpolateOptions): Interpolated {
  const optional = new Set(options.optional.map(pathKey));
  return interpolateAt(value, [], { ...options, isOptional: (path) => optional.has(pathKey(path)) });
}

/** The leaves of a config given as an object, where placeholders have no meaning. */
export function listLeaves(value: unknown, path: ConfigPath = []): readonly ConfigLeaf[] {
  if (typeof value === 'string') return [{ path, value, placeholders: [] }];
  if (typeof value !== 'object' || value === null)
    return [{ path, value: toScalar(value), placeholders: [] }];
  return listEntries(value).flatMap(([key, child]) => listLeaves(child, [...path, key]));
}

interface Scope extends PlaceholderScope {
  readonly isOptional: (path: ConfigPath) => boolean;
}

function interpolateAt(value: unknown, path: ConfigPath, scope: Scope): Interpolated {
  if (typeof value === 'string') return interpolateText(value, path, scope);
  if (typeof value !== 'object' || value === null)
    return { value, leaves: [{ path, value: toScalar(value), placeholders: [] }], problems: [] };
  const children = listEntries(value).map(
    ([key, child]) => [key, interpolateAt(child, [...path, key], scope)] as const,
  );
  const kept = children.filter(([, child]) => child.value !== undefined);
  return {
    value: Array.isArray(value)
      ? kept.map(([, child]) => child.value)
      : Object.fromEntries(kept.map(([key, child]) => [key, child.value])),
    leaves: children.flatMap(([, child]) => child.leaves),
    problems: children.flatMap(([, child]) => child.problems),
  };
}

function listEntries(value: object): readonly (readonly [string | number, unknown])[] {
  return Array.isArray(value) ? value.map((item, index) => [index, item]) : Object.entries(value);
}

function interpolateText(text: string, path: ConfigPath, scope: Scope): Interpolated {
  const isSecret = isSecretPath(path);
  const { text: value, origins, missing } = expandText(text, scope, isSecret);
  const placeholders = [...origins, ...missing.flatMap(({ wanted }) => wanted ?? [])];
  const leaf = (found: string | undefined, problems: readonly Problem[]): Interpolated => ({
    value: found,
    leaves: [{ path, value: found, placeholders }],
    problems,
  });
  if (missing.length === 0) return leaf(value, []);
  if (scope.isOptional(path) && missing.every((item) => item.wanted !== undefined))
    return leaf(undefined, []);
  return leaf(
    text,
    missing.map(({ problem, hint, wanted }) => ({
      path,
      message: problem,
      hint,
      code: isSecret && wanted !== undefined ? 'key_missing' : 'config_invalid',
    })),
  );
}

function toScalar(value: unknown): Scalar | undefined {
  return typeof value === 'number' || typeof value === 'boolean' || value === null ? value : undefined;
}
