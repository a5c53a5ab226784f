import { rm } from 'node:fs/promises';
import { hasOlderScan, listArchive, removeScans } from './archive-folder.ts';
import { type ArchivedScan, isWhole } from './archived-scan.ts';
import { findNeeded } from './find-chain.ts';

export interface PruneRules {
  /** Scans loaded before this moment go, but for those a rebuild needs; epoch ms. */
  readonly beforeMs: number;
  /** The run of the stream's checkpoint. */
  readonly lastRunId: string | undefined;
  /** What is masked now: once everything was read so, pages masked otherwise go at any age. */
  readonly masks: ArchivedScan['masks'];
}

/**
 * Removes what the retention no longer covers. Looks into the headers only where there may be something:
 * `thorough`, or a name that tells of an older scan.
 */
export async function pruneArchive(
  folder: string,
  rules: PruneRules & { readonly thorough: boolean },
): Promise<void> {
  if (!rules.thorough && !(await hasOlderScan(folder, rules.beforeMs))) return;
  const { scans } = await listArchive(folder, rules.lastRunId);
  const gone = findPrunable(scans, rules);
  // Also without any: a scan that was committed anew may have left records that no header names.
  await removeScans(folder, gone);
}

/** The scans that may go; pure. */
export function findPrunable(
  scans: readonly ArchivedScan[],
  { beforeMs, lastRunId, masks }: PruneRules,
): readonly ArchivedScan[] {
  const needed = findNeeded(scans, lastRunId);
  const now = describe(masks);
  const maskedSince = scans.findLast((scan) => isWhole(scan) && describe(scan.masks) === now)?.loadedAtMs;
  return scans.filter((scan) => {
    // A field that is to be kept out of the tables must not live on in the archive.
    const isRaw = maskedSince !== undefined && scan.loadedAtMs <= maskedSince && describe(scan.masks) !== now;
    return isRaw || (scan.loadedAtMs < beforeMs && !needed.has(scan));
  });
}

/** Removes everything a folder holds, for a retention of 0. */
export async function emptyArchive(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}

function describe(masks: ArchivedScan['masks']): string {
  return JSON.stringify(Object.entries(masks).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
