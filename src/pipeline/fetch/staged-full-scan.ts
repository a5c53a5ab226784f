import type { PagingDescription } from '../../model/connector.ts';
import type { Checkpoint, Stream } from '../../model/stream.ts';
import { readStage, type StagedPageEntry } from '../../warehouse/stage-store.ts';
import type { RunContext } from '../run-context.ts';
import type { ScanPlan } from '../scan-plan.ts';
import { isCommitted } from '../staged-scan.ts';
import { hashQuestion, STAGE_LIFETIME_MS, stageFolder } from '../state-folder.ts';

/** Thrown before a page is staged where a scan was to go on from pages that do not hold any more. */
export class StagedPagesOutdated extends Error {}

/**
 * The plan of a full scan that an earlier run began and could not end, where an incremental one is planned: beginning
 * that would throw away the pages that were paid for, and what made the earlier run read everything would come again.
 * One that was read to its end and refused says no more, and the data of another day would have it begun anew.
 */
export async function preferStagedFullScan(
  { settings, options, clock }: RunContext,
  stream: Stream,
  plan: ScanPlan,
  checkpoint: Checkpoint | undefined,
): Promise<ScanPlan> {
  if (plan.mode === 'full' || options.from !== undefined || options.limit !== undefined) return plan;
  const staged = await readStage(stageFolder(settings.stateDir, stream, options));
  if (staged === undefined || isReadToEnd(settings.connector.paging, staged.pages)) return plan;
  const ageMs = clock.now() - staged.scan.startedAtMs;
  const isFull = staged.scan.question === hashQuestion(settings, stream, undefined, undefined);
  if (!isFull || ageMs < 0 || ageMs > STAGE_LIFETIME_MS || isCommitted(staged.scan, checkpoint)) return plan;
  const reason = 'an earlier run began to read it in full';
  return { mode: 'full', from: undefined, trial: false, reason, warnings: [], goesOn: true };
}

function isReadToEnd({ kind }: PagingDescription, pages: readonly StagedPageEntry[]): boolean {
  if (kind === 'cursor') return pages.at(-1)?.next === undefined;
  const total = pages.find(({ pageHash }) => pageHash !== undefined)?.total;
  return total === undefined || pages.reduce((sum, { rows }) => sum + rows, 0) >= total;
}
