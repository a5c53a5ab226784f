import { isRunUnderWay } from '../../state/lock.ts';
import { readRunFile } from '../../state/run-file.ts';
import { findTryLater, listErrors } from '../model/outage.ts';
import { isSync, isUnfinished } from '../model/run-report.ts';
import type { CronSchedule } from './cron-schedule.ts';

/**
 * Whether a run is owed at the start: a time passed since the last sync began, or that sync was ended before its
 * end, as a restart does, or it was to be tried again. A folder without a sync owes none, and a rebuild, a retry or a change of the state is none.
 */
export function owesRun(schedule: CronSchedule, stateDir: string, nowMs: number): boolean {
  const last = readRunFile(stateDir).find(isSync);
  if (last === undefined || isRunUnderWay(stateDir)) return false;
  if (isUnfinished(last.status) || last.status === 'interrupted') return true;
  if (findTryLater(last.exitCode, listErrors(last)) !== undefined) return true;
  const startedAtMs = Date.parse(last.startedAt);
  const missedMs = Number.isNaN(startedAtMs) ? undefined : schedule.next(startedAtMs);
  return missedMs !== undefined && missedMs <= nowMs;
}
