import { ConfigError, type ErrorCode } from '../model/errors.ts';
import { escapeText, formatPath, type ConfigPath } from './config-path.ts';

/** A place in the config file, both counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
  /** Path of the value as written there, where it differs from the one that the problem names. */
  readonly writtenAs?: ConfigPath;
  /** As messages show it, where it is not the config file itself. */
  readonly fileName?: string;
}

/** One thing that is wrong with the config. */
export interface Problem {
  readonly path: ConfigPath;
  /** Never holds a value that may be a secret. */
  readonly message: string;
  /** Known for problems of the file's text; otherwise found through the path. */
  readonly position?: Position;
  readonly code?: ErrorCode;
  /** What to do about this one; used as the hint if it is the only problem. */
  readonly hint?: string;
}

/** Where problems were found, so that a message can say `sluice.yaml:12:3`. */
export interface ProblemSource {
  /** As messages show it; undefined when the config is an object of the library's user. */
  readonly fileName: string | undefined;
  readonly locate: (path: ConfigPath) => Position | undefined;
}

/** What each error lists; messages of several problems cannot be compared as a whole. */
const listed = new WeakMap<object, readonly Problem[]>();

/** The problems that an error of `buildConfigError` lists; none for any other error. */
export function listProblems(error: object): readonly Problem[] {
  return listed.get(error) ?? [];
}

/** One error that lists every problem in the order of the file, so that one edit can fix them all. */
export function buildConfigError(problems: readonly Problem[], source: ProblemSource): ConfigError {
  const found = problems
    .map((problem) => ({ problem, position: problem.position ?? source.locate(problem.path) }))
    .sort((a, b) => comparePositions(a.position, b.position));
  const lines = found.map(({ problem, position }) => formatProblem(problem, position, source.fileName));
  const files = found.map(({ position }) => position?.fileName ?? source.fileName ?? 'the config');
  const name = [...new Set(files)].map(escapeText).join(' and ');
  const message =
    lines.length === 1 ? (lines[0] ?? '') : [`${lines.length} problems in ${name}:`, ...lines].join('\n  ');
  const codes = new Set(problems.map((problem) => problem.code ?? 'config_invalid'));
  const hints = new Set(problems.map((problem) => problem.hint));
  const [onlyCode] = codes;
  const [onlyHint] = hints;
  const error = new ConfigError(message, {
    code: codes.size === 1 && onlyCode !== undefined ? onlyCode : 'config_invalid',
    hint:
      hints.size === 1 && onlyHint !== undefined
        ? onlyHint
        : `Correct ${name} and run again; nothing was requested.`,
    ...(source.fileName === undefined ? {} : { context: { path: source.fileName } }),
  });
  listed.set(error, problems);
  return error;
}

function formatProblem(
  problem: Problem,
  position: Position | undefined,
  fileName: string | undefined,
): string {
  const name = position?.fileName ?? fileName;
  const file = name === undefined ? undefined : escapeText(name);
  const place =
    file === undefined || position === undefined ? file : `${file}:${position.line}:${position.column}`;
  const path = formatPath(position?.writtenAs ?? problem.path);
  const start =
    path === '' ? (place ?? 'config') : [place, path].filter((part) => part !== undefined).join(' ');
  return `${start}: ${problem.message}`;
}

function comparePositions(a: Position | undefined, b: Position | undefined): number {
  return (a?.line ?? 0) - (b?.line ?? 0) || (a?.column ?? 0) - (b?.column ?? 0);
}
