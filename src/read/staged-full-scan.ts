import { readStage } from '../stage/stage-store.ts';
import type { RunContext } from '../run/run-context.ts';
import type { ScanPlan } from '../plan/scan-plan.ts';
import type { PlannedScan } from '../run/turn.ts';
import { isCommitted } from '../run/staged-scan.ts';
import { walkOf } from './page-walks.ts';
import { hashQuestion, STAGE_LIFETIME_MS, stageFolder } from '../storage/state-folder.ts';

/**
 * Resumes a full scan that an earlier run did not load instead of the planned incremental one. Otherwise its pages would
 * be lost, and the reason for the full scan would recur. One that was read to its end and refused is resumed only if the
 * table was found to need it: one that a person asked for must not stand in the way of the next run. One of a different
 * day is not resumed.
 */
export async function preferStagedFullScan(
  { source, settings, options, clock }: RunContext,
  { stream, plan, checkpoint }: PlannedScan,
): Promise<ScanPlan> {
  if (plan.mode === 'full' || options.from !== undefined || options.limit !== undefined) return plan;
  const staged = await readStage(stageFolder(settings.stateDir, stream, options));
  if (staged === undefined) return plan;
  const isReadToEnd = walkOf(source.connector.paging).isReadToEnd(staged.pages);
  if (isReadToEnd && staged.scan.readsAll !== true) return plan;
  const ageMs = clock.now() - staged.scan.startedAtMs;
  const isFull = staged.scan.question === hashQuestion(settings, stream, undefined, undefined);
  if (!isFull || ageMs < 0 || ageMs > STAGE_LIFETIME_MS || isCommitted(staged.scan, checkpoint)) return plan;
  const reason = 'an earlier run started a full scan';
  return {
    mode: 'full',
    from: undefined,
    trial: false,
    reason,
    warnings: [],
    goesOn: true,
    ...(staged.scan.readsAll === true && { readsAll: true }),
  };
}
