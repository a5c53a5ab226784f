import { isOfSync, type RunReport } from '../model/run-report.ts';
import { nameScan } from '../model/stream.ts';

/**
 * Streams that were committed after the last publish, by `nameScan`, with the run that committed them. A run that was
 * killed may have published while it waited: what is published then has the same run.
 *
 * @param runs newest first
 */
export function listUnpublished(runs: readonly RunReport[]): ReadonlyMap<string, string> {
  const unpublished = new Map<string, string>();
  for (const { runId, published, streams } of runs) {
    if (published !== undefined) return unpublished;
    for (const report of streams) {
      const name = nameScan(report.stream, report.slice);
      if (report.status === 'complete' && isOfSync(report) && !unpublished.has(name))
        unpublished.set(name, runId);
    }
  }
  return unpublished;
}
