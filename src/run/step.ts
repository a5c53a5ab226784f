import { BugError } from '../model/errors.ts';
import type { Page } from '../model/page.ts';
import type { Checkpoint } from '../model/stream.ts';

/**
 * The result of a step of a scan: its value, or why something else must take its place. That is a decision, so it
 * is a value; what failed is thrown.
 */
export type Step<T> = { readonly done: T } | { readonly instead: Instead };

/** What takes the place of an attempt at a scan. */
export type Instead = Unchanged | StageOutdated | Moved | FullRefresh;

/** Nothing: the source is unchanged since the last verified scan. */
export interface Unchanged {
  readonly kind: 'unchanged';
  readonly because: string;
}

/** The planned scan, as the staged pages to continue from are outdated. */
export interface StageOutdated {
  readonly kind: 'stage-outdated';
}

/** The same scan from the start, as the data moved while its pages were read. */
export interface Moved {
  readonly kind: 'moved';
  readonly because: string;
}

/** How many times a scan is restarted because its data moved. */
export const MAX_RESCANS = 2;

/** A full scan, as an incremental one cannot fix what it found. */
export interface FullRefresh {
  readonly kind: 'full-refresh';
  readonly because: string;
  /** What must be learned again. */
  readonly forget: Partial<Checkpoint>;
  /** Rows may differ repeatedly: one such full scan per day is enough. */
  readonly isBroughtForward: boolean;
}

/** Looks at a scan's first page before it is staged: what must take the scan's place, if anything. */
export type JudgeFirstPage = (page: Page) => Instead | undefined;

/** The result of a commit. */
export type CommitStep<T> = { readonly done: T } | NotCommitted;

/** Nothing was written: another attempt is needed, or a new count, from days (ISO) on as well. */
export type NotCommitted = { readonly instead: Instead } | { readonly recount: readonly string[] };

/** A full scan in place of an incremental one; says so. */
export function readInFull(
  reason: string,
  { forget = {}, isBroughtForward = false }: Partial<Pick<FullRefresh, 'forget' | 'isBroughtForward'>> = {},
): FullRefresh {
  return {
    kind: 'full-refresh',
    because: `${reason}; reading the stream in full`,
    forget,
    isBroughtForward,
  };
}

/** The value of a step that nothing can take the place of. */
export function doneOf<T>(step: CommitStep<T>): T {
  if ('done' in step) return step.done;
  const because = 'instead' in step && 'because' in step.instead ? step.instead.because : 'it is not done';
  throw new BugError(`a step with no other way has to be replaced: ${because}`, {
    code: 'bug',
    hint: 'Please report it. Nothing was changed.',
  });
}
