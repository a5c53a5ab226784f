import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Checkpoint } from '../model/stream.ts';
import type { StagedScan } from '../stage/stage-store.ts';

/** A kill right after a commit leaves its pages behind: they must not pass for those of a later scan. */
export function isCommitted(
  { startedAtMs, runId }: Pick<StagedScan, 'startedAtMs' | 'runId'>,
  checkpoint: Checkpoint | undefined,
): boolean {
  const startedAt = new Date(startedAtMs).toISOString();
  const { lastFullScanAt, lastVerifiedAt, runId: committedBy } = checkpoint ?? {};
  return runId === committedBy || startedAt === lastFullScanAt || startedAt === lastVerifiedAt;
}

/** Whether a stage folder has a scan that was not committed; reads only a small file. */
export function hasUncommitted(folder: string, checkpoint: Checkpoint | undefined): boolean {
  try {
    const { startedAtMs, runId } = JSON.parse(readFileSync(join(folder, 'scan.json'), 'utf8')) as StagedScan;
    return !isCommitted({ startedAtMs, runId }, checkpoint);
  } catch {
    // None, or one that cannot be resumed.
    return false;
  }
}
