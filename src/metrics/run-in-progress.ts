import type { ProgressEvent } from '../model/progress.ts';

/** What a run that goes on has told so far. */
export interface RunInProgress {
  readonly startedAtMs: number;
  /** What it waits for, the quota above all, ends then; undefined while it works. */
  readonly waitingUntilMs: number | undefined;
  /** As the last answer told it. */
  readonly quota:
    { readonly remaining: number; readonly limit: number; readonly resetAtMs: number } | undefined;
}

export function beginRun(startedAtMs: number): RunInProgress {
  return { startedAtMs, waitingUntilMs: undefined, quota: undefined };
}

/** The same after an event; most events change nothing. */
export function followRun(run: RunInProgress, event: ProgressEvent): RunInProgress {
  if (event.type === 'waiting') return { ...run, waitingUntilMs: event.untilMs };
  if (event.type === 'resumed') return { ...run, waitingUntilMs: undefined };
  if (event.type !== 'quota') return run;
  const { remaining, limit, resetAtMs } = event;
  return { ...run, quota: { remaining, limit, resetAtMs } };
}
