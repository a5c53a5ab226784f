import { isUnfinished, type ReportedError, type RunReport } from './run-report.ts';

/** A sync that ended before it could record itself, e.g. because of a broken config or a full disk. */
export interface RefusedRun {
  readonly startedAt: string;
  readonly error: ReportedError;
  /** How many in a row, including this one, and when the first of them began. */
  readonly times: number;
  readonly since: string;
}

/** Whether a sync was only turned away because another run or program held what it needs. */
export function isTurnedAway({ error }: Pick<RefusedRun, 'error'>): boolean {
  return error.code === 'state_locked';
}

/** What held it, as a sentence goes on after a colon. */
export function describeHolder({ error: { wasHeld, message } }: Pick<RefusedRun, 'error'>): string {
  return wasHeld ?? message;
}

/**
 * Whether the last sync on record supersedes the refused one: it began later, or it is the other run that
 * held the folder, and has ended.
 */
export function isOutdated(
  refused: RefusedRun,
  { status, startedAt, finishedAt }: Pick<RunReport, 'status' | 'startedAt' | 'finishedAt'>,
): boolean {
  const atMs = Date.parse(refused.startedAt);
  if (Date.parse(startedAt) >= atMs) return true;
  return isTurnedAway(refused) && !isUnfinished(status) && Date.parse(finishedAt) >= atMs;
}

/** The refused sync to record after another one; undefined if the recorded one says more. */
export function countRefusal(
  before: RefusedRun | undefined,
  { startedAt, error }: Pick<RefusedRun, 'startedAt' | 'error'>,
): RefusedRun | undefined {
  if (before === undefined) return { startedAt, error, times: 1, since: startedAt };
  // A state folder in use must not hide an earlier refusal such as a broken config.
  if (isTurnedAway({ error }) && !isTurnedAway(before)) return undefined;
  return { startedAt, error, times: before.times + 1, since: before.since };
}
