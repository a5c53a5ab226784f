import { type ArchivedScan, isWhole } from './archived-scan.ts';

/** The scans from which a table can be rebuilt, oldest first; or why it cannot be. */
export type Chain =
  | { readonly kind: 'whole'; readonly scans: readonly ArchivedScan[] }
  | { readonly kind: 'broken'; readonly reason: string };

/**
 * Finds the longest unbroken chain of scans that starts with a scan of the whole stream and ends with its last
 * commit. `lastRunId` is the run of the checkpoint; without it, the chain ends with the newest scan.
 */
export function findChain(scans: readonly ArchivedScan[], lastRunId: string | undefined): Chain {
  const byRun = new Map(scans.map((scan) => [scan.runId, scan]));
  const last = lastRunId === undefined ? scans.at(-1) : byRun.get(lastRunId);
  if (last === undefined) {
    return broken(
      scans.length === 0
        ? 'nothing of it is archived'
        : `the scan of run ${lastRunId ?? ''}, the last one committed, is not archived`,
    );
  }
  const { walked, missing } = walkBack(byRun, last);
  const start = walked.findLastIndex(isWhole);
  if (start === -1) {
    return broken(
      missing === undefined
        ? 'no scan of the whole stream is archived'
        : `the scan of run ${missing} is not archived, and none after it read the whole stream`,
    );
  }
  return { kind: 'whole', scans: walked.slice(0, start + 1).toReversed() };
}

/** The scans that a rebuild needs: the newest scan of the whole stream, and those committed after it. */
export function findNeeded(
  scans: readonly ArchivedScan[],
  lastRunId: string | undefined,
): ReadonlySet<ArchivedScan> {
  const chain = findChain(scans, lastRunId);
  if (chain.kind === 'broken') return new Set();
  return new Set(chain.scans.slice(chain.scans.findLastIndex(isWhole)));
}

/** Walks back from the last scan while each previous scan is archived and made the same request. */
function walkBack(
  byRun: ReadonlyMap<string, ArchivedScan>,
  last: ArchivedScan,
): { readonly walked: readonly ArchivedScan[]; readonly missing: string | undefined } {
  const walked: ArchivedScan[] = [];
  const seen = new Set<string>();
  let scan: ArchivedScan | undefined = last;
  while (scan !== undefined && scan.address === last.address && !seen.has(scan.runId)) {
    walked.push(scan);
    seen.add(scan.runId);
    if (scan.previousRunId === undefined) return { walked, missing: undefined };
    const previous: ArchivedScan | undefined = byRun.get(scan.previousRunId);
    if (previous === undefined) return { walked, missing: scan.previousRunId };
    scan = previous;
  }
  return { walked, missing: undefined };
}

function broken(reason: string): Chain {
  return { kind: 'broken', reason };
}
