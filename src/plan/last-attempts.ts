import { readRunFile } from '../../state/run-file.ts';
import type { UnsettledAttempt } from '../model/reports.ts';
import { isOfSync, type RunReport } from '../model/run-report.ts';
import { type Checkpoint, nameScan } from '../model/stream.ts';

/** Last attempts that failed, by `nameScan`: an earlier verified scan does not make their streams fresh. */
export function listUnsettled(stateDir: string): ReadonlyMap<string, UnsettledAttempt> {
  const decided = new Set<string>();
  const unsettled = new Map<string, UnsettledAttempt>();
  // Newest first.
  for (const { runId, streams } of readRunFile(stateDir)) {
    for (const report of streams) {
      const { stream, slice, status, startedAt, error } = report;
      const name = nameScan(stream, slice);
      if (decided.has(name) || !isOfSync(report)) continue;
      if (status === 'complete' || status === 'failed' || status === 'stopped') decided.add(name);
      if (status === 'failed' || status === 'stopped')
        unsettled.set(name, { runId, startedAt, status, error });
    }
  }
  return unsettled;
}

/** The checkpoint of a stream that must be read again, however recently it was verified. */
export function withoutFreshness<T extends Checkpoint | undefined>(
  checkpoint: T,
  unsettled: Pick<ReadonlyMap<string, unknown>, 'has'>,
): T {
  return checkpoint !== undefined && unsettled.has(nameScan(checkpoint.stream, checkpoint.slice))
    ? { ...checkpoint, lastVerdict: undefined }
    : checkpoint;
}

/** Streams whose last attempt found no endpoint in the API, by `nameScan`. */
export function listUnavailable(runs: readonly RunReport[]): ReadonlySet<string> {
  const last = new Map<string, string>();
  // Newest first.
  for (const report of runs.flatMap(({ streams }) => streams)) {
    const name = nameScan(report.stream, report.slice);
    if (ATTEMPTS.includes(report.status) && isOfSync(report) && !last.has(name))
      last.set(name, report.status);
  }
  return new Set([...last].filter(([, status]) => status === 'unavailable').map(([name]) => name));
}

const ATTEMPTS: readonly string[] = ['complete', 'failed', 'stopped', 'unavailable'];
