import { isRunUnderWay } from '../../state/lock.ts';
import { readRunFile } from '../../state/run-file.ts';
import { findTryLater, listErrors } from '../model/outage.ts';
import { isSync, isUnfinished } from '../model/run-report.ts';
import type { CronSchedule } from './cron-schedule.ts';

/**
 * Whether a run is due at the start: a scheduled time passed since the last sync began, or that sync was cut
 * off, as by a restart, or it has to be retried. A folder without any sync owes none. A rebuild, a retry or a
 * change of the state is not a sync.
 */
export function owesRun(schedule: CronSchedule, stateDir: string, nowMs: number): boolean {
  const last = readRunFile(stateDir).find(isSync);
  if (last === undefined || isRunUnderWay(stateDir)) return false;
  if (isUnfinished(last.status) || last.status === 'interrupted') return true;
  if (findTryLater(last.exitCode, listErrors(last)) !== undefined) return true;
  const startedAtMs = Date.parse(last.startedAt);
  // A clock that was ahead says nothing of the times since.
  if (startedAtMs > nowMs) return true;
  const missedMs = Number.isNaN(startedAtMs) ? undefined : schedule.next(startedAtMs);
  return missedMs !== undefined && missedMs <= nowMs;
}
