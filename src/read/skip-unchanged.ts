import { hashPage } from '../json/fingerprint.ts';
import { toDate } from '../model/dates.ts';
import type { Page } from '../model/page.ts';
import type { StreamReport } from '../model/run-report.ts';
import { readsFresh } from '../model/settings.ts';
import { sliceIdOf } from '../model/stream.ts';
import { countLiveRows } from '../warehouse/live-rows.ts';
import { discardStage, readStage } from '../stage/stage-store.ts';
import { haveRulesChanged } from '../plan/plan-scan.ts';
import { reportStream, type Started } from '../run/report-stream.ts';
import type { RunContext } from '../run/run-context.ts';
import type { Unchanged } from '../run/step.ts';
import type { PlannedScan, Turn } from '../run/turn.ts';
import { stageFolder } from '../storage/state-folder.ts';

/**
 * Ends a scan after its first page (`skipUnchanged`) if the request, the first page, the total and the server's day
 * are those of the last verified scan. Otherwise the page is used as the scan's first one. Undefined if all pages
 * must be read anyway.
 */
export async function watchHead(
  { options, clock }: RunContext,
  { stream, plan, checkpoint, stage, question }: Turn,
): Promise<((page: Page) => Unchanged | undefined) | undefined> {
  const head = checkpoint?.head;
  if (!stream.skipUnchanged || plan.readsAll === true || readsFresh(options) || head?.total === undefined)
    return undefined;
  // Since then an unverified scan was committed, or the rules changed.
  if (checkpoint?.lastVerdict !== 'verified' || checkpoint.fingerprint !== stream.fingerprint)
    return undefined;
  if (haveRulesChanged(stream, checkpoint)) return undefined;
  const staged = await readStage(stage);
  // Staged pages are worth more than a skipped scan.
  if (head.question !== question || staged?.scan.question === question) return undefined;
  return (page) => {
    const day = toDate(page.serverDateMs ?? clock.now());
    if (page.total !== head.total || day !== head.day || hashPage(page) !== head.page) return undefined;
    return {
      kind: 'unchanged',
      because: `nothing changed since run ${checkpoint.runId}: the first page, the total (${head.total}) and the day (${day}) are the same`,
    };
  };
}

/** Reports a skipped scan: the checkpoint is unchanged, as nothing was read. */
export async function reportUnmoved(
  context: RunContext,
  { stream, plan, checkpoint }: PlannedScan,
  started: Started,
  because: string,
): Promise<StreamReport> {
  await discardStage(stageFolder(context.settings.stateDir, stream, context.options));
  return reportStream(context, stream, started, {
    status: 'complete',
    mode: plan.mode,
    verdict: checkpoint?.lastVerdict as StreamReport['verdict'],
    reasons: [because],
    staged: { pages: 1, total: checkpoint?.head?.total },
    rowsInTable: await countLiveRows(context.database, stream.table, sliceIdOf(stream)),
    checkpoint,
  });
}
