import { readStage } from '../stage/stage-store.ts';
import type { RunContext } from '../run/run-context.ts';
import type { ScanPlan } from '../plan/scan-plan.ts';
import type { PlannedScan } from '../run/turn.ts';
import { isCommitted } from '../run/staged-scan.ts';
import { walkOf } from './page-walks.ts';
import { hashQuestion, STAGE_LIFETIME_MS, stageFolder } from '../storage/state-folder.ts';

/**
 * Resumes an unfinished full scan of an earlier run instead of the planned incremental one. Otherwise its pages would
 * be lost, and the reason for the full scan would recur. A full scan that was read to its end and rejected is not
 * resumed, nor one of a different day.
 */
export async function preferStagedFullScan(
  { source, settings, options, clock }: RunContext,
  { stream, plan, checkpoint }: PlannedScan,
): Promise<ScanPlan> {
  if (plan.mode === 'full' || options.from !== undefined || options.limit !== undefined) return plan;
  const staged = await readStage(stageFolder(settings.stateDir, stream, options));
  if (staged === undefined || walkOf(source.connector.paging).isReadToEnd(staged.pages)) return plan;
  const ageMs = clock.now() - staged.scan.startedAtMs;
  const isFull = staged.scan.question === hashQuestion(settings, stream, undefined, undefined);
  if (!isFull || ageMs < 0 || ageMs > STAGE_LIFETIME_MS || isCommitted(staged.scan, checkpoint)) return plan;
  const reason = 'an earlier run started a full scan';
  return { mode: 'full', from: undefined, trial: false, reason, warnings: [], goesOn: true };
}
