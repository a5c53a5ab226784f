import { isUnfinished, type ReportedError, type RunReport } from './run-report.ts';

/** A sync that ended before it could keep a record of itself, as with a config that is broken or a disk that is full. */
export interface RefusedRun {
  readonly startedAt: string;
  readonly error: ReportedError;
  /** So many in a row, this one included, and when the first of them began. */
  readonly times: number;
  readonly since: string;
}

/** Whether a sync was only turned away because another run held the state folder. */
export function isTurnedAway({ error }: Pick<RefusedRun, 'error'>): boolean {
  return error.code === 'state_locked';
}

/**
 * Whether the last sync on record tells more than the refused one does: it began later, or it is the neighbour that
 * turned the other away, and has ended.
 */
export function isOutdated(
  refused: RefusedRun,
  { status, startedAt, finishedAt }: Pick<RunReport, 'status' | 'startedAt' | 'finishedAt'>,
): boolean {
  const atMs = Date.parse(refused.startedAt);
  if (Date.parse(startedAt) >= atMs) return true;
  return isTurnedAway(refused) && !isUnfinished(status) && Date.parse(finishedAt) >= atMs;
}

/** The refused sync to keep, after one more; undefined where what is kept tells more than it. */
export function countRefusal(
  before: RefusedRun | undefined,
  { startedAt, error }: Pick<RefusedRun, 'startedAt' | 'error'>,
): RefusedRun | undefined {
  if (before === undefined) return { startedAt, error, times: 1, since: startedAt };
  // A neighbour explains no more than that there is one: it must not hide a config that is broken.
  if (isTurnedAway({ error }) && !isTurnedAway(before)) return undefined;
  return { startedAt, error, times: before.times + 1, since: before.since };
}
