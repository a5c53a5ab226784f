import { createHash } from 'node:crypto';
import type { CronSchedule } from '../../schedule/cron-schedule.ts';
import type { NextRun, RunEnd } from '../database/end-run.ts';

/** Runs must not follow each other without a pause. */
const LEAST_DELAY_MS = 1_000;
/** After the first failure that may go away by itself; then twice as long each time. */
const FIRST_RETRY_MS = 15_000;
const LONGEST_RETRY_MS = 15 * 60_000;

/** When accounts are due. */
export interface FleetSchedule {
  /** Undefined: when somebody asks for it. */
  readonly cron: CronSchedule | undefined;
  /** Accounts are spread over this long after each time of it. */
  readonly jitterMs: number;
}

/** When an account is due next after a time (both epoch ms), by its own minute of the schedule; undefined if never. */
export function nextTime(
  { cron, jitterMs }: FleetSchedule,
  account: string,
  afterMs: number,
): number | undefined {
  const offsetMs = spread(account, jitterMs);
  const atMs = cron?.next(afterMs - offsetMs);
  return atMs === undefined ? undefined : atMs + offsetMs;
}

/** The same for an account each time, and even over all accounts. */
function spread(account: string, jitterMs: number): number {
  if (jitterMs < 1) return 0;
  const hash = createHash('sha256').update(account).digest();
  return hash.readUInt32BE(0) % Math.floor(jitterMs);
}

/**
 * What follows a run: the next time of the schedule; sooner if it only has to wait (75), was stopped with its worker, or
 * failed at something that may go away by itself: a network, a disk, a store (6).
 */
export function planNext(
  { exitCode, resumeInMs, status }: Pick<RunEnd, 'exitCode' | 'resumeInMs' | 'status'>,
  before: { readonly failures: number; readonly nowMs: number },
  atMs: number | undefined,
): NextRun {
  const { failures, nowMs } = before;
  const scheduledMs = atMs === undefined ? undefined : atMs - nowMs;
  // The worker was stopped: another one continues at once.
  if (exitCode === 130 || exitCode === 143) return { delayMs: 0, failures };
  if (resumeInMs !== undefined && (exitCode === 75 || exitCode === 5))
    return { delayMs: Math.max(LEAST_DELAY_MS, resumeInMs), failures: 0 };
  const mayPass = exitCode === 75 || exitCode === 6 || status === 'failed';
  if (!mayPass) return { delayMs: scheduledMs, failures: 0 };
  const retryMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10));
  return { delayMs: Math.min(retryMs, scheduledMs ?? Infinity), failures: failures + 1 };
}
