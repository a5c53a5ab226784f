import { readRunFile } from '../../../state/run-file.ts';
import type { StreamReport } from '../../model/run-report.ts';
import { type Checkpoint, nameScan } from '../../model/stream.ts';

/** Streams and slices, by `nameScan`, whose last attempt did not end well: what was verified before it says nothing of them. */
export function listUnsettled(stateDir: string): ReadonlySet<string> {
  const decided = new Set<string>();
  const unsettled = new Set<string>();
  // Newest first.
  for (const report of readRunFile(stateDir).flatMap(({ streams }) => streams)) {
    const { stream, slice, status } = report;
    const name = nameScan(stream, slice);
    if (decided.has(name) || !isAttempt(report)) continue;
    decided.add(name);
    if (status !== 'complete') unsettled.add(name);
  }
  return unsettled;
}

// A rebuild or a retry asks the API nothing, so it settles nothing.
function isAttempt({ mode, status }: StreamReport): boolean {
  const isScan = mode === 'full' || mode === 'incremental';
  return isScan && ['complete', 'failed', 'stopped'].includes(status);
}

/** The checkpoint of a stream that is to be asked again, however lately it was verified. */
export function withoutFreshness<T extends Checkpoint | undefined>(
  checkpoint: T,
  unsettled: ReadonlySet<string>,
): T {
  return checkpoint !== undefined && unsettled.has(nameScan(checkpoint.stream, checkpoint.slice))
    ? { ...checkpoint, lastVerdict: undefined }
    : checkpoint;
}
