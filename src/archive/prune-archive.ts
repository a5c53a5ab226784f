import { rm } from 'node:fs/promises';
import { hasOlderScan, listArchive, removeDamaged, removeScans } from './archive-folder.ts';
import { type ArchivedScan, isWhole } from './archived-scan.ts';
import { findNeeded } from './find-chain.ts';

export interface PruneRules {
  /** Scans loaded before this time are removed, except those that a rebuild needs; epoch ms. */
  readonly beforeMs: number;
  /** The run of the stream's checkpoint. */
  readonly lastRunId: string | undefined;
  /** The current masks. Once the whole stream was read with them, pages with different masks are removed at any age. */
  readonly masks: ArchivedScan['masks'];
}

/**
 * Removes scans past their retention. Reads the headers only if `thorough` is set or a file name shows an older scan.
 */
export async function pruneArchive(
  folder: string,
  rules: PruneRules & { readonly thorough: boolean },
): Promise<void> {
  if (!rules.thorough && !(await hasOlderScan(folder, rules.beforeMs))) return;
  const { scans, damaged } = await listArchive(folder, rules.lastRunId);
  const gone = findPrunable(scans, rules);
  // No rebuild reads what is older than the chain: a header there that nobody can read is of no use.
  const [first] = findNeeded(scans, rules.lastRunId);
  await removeDamaged(damaged, Math.max(first?.loadedAtMs ?? 0, rules.beforeMs));
  // Runs even if the list is empty: a scan that was committed again may have left records that no header refers to.
  await removeScans(folder, gone);
}

/** Selects the scans to remove; pure. */
export function findPrunable(
  scans: readonly ArchivedScan[],
  { beforeMs, lastRunId, masks }: PruneRules,
): readonly ArchivedScan[] {
  const needed = findNeeded(scans, lastRunId);
  const now = describe(masks);
  const maskedSince = scans.findLast((scan) => isWhole(scan) && describe(scan.masks) === now)?.loadedAtMs;
  return scans.filter((scan) => {
    // A field that must not be in the tables must not stay in the archive either.
    const isRaw = maskedSince !== undefined && scan.loadedAtMs <= maskedSince && describe(scan.masks) !== now;
    return isRaw || (scan.loadedAtMs < beforeMs && !needed.has(scan));
  });
}

/** Removes the whole folder, for a retention of 0. */
export async function emptyArchive(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}

function describe(masks: ArchivedScan['masks']): string {
  return JSON.stringify(Object.entries(masks).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
