import type { StreamReport } from '../model/run-report.ts';
import { type Checkpoint, sliceIdOf, type Stream } from '../model/stream.ts';
import { countLiveRows } from '../warehouse/live-rows.ts';
import { countReadable } from '../read/requests-left.ts';
import { planStream } from '../plan/plan-scan.ts';
import { reportStream, type SaveRun } from '../run/report-stream.ts';
import type { RunContext } from '../run/run-context.ts';
import { hasUncommitted } from '../run/staged-scan.ts';
import { stageFolder } from '../storage/state-folder.ts';
import type { StreamOutcome } from './sync-stream.ts';

/** Syncs a stream unless it is fresh. Never throws. */
export async function syncIfDue(
  context: RunContext,
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  saveRun: SaveRun,
): Promise<StreamOutcome> {
  const started = { atMs: context.recordClock.now(), requests: context.source.client.usage.requests };
  // Other processes may have used the quota since.
  await context.source.readQuota();
  const facts = { nowMs: context.clock.now(), readable: countReadable(context) };
  const due = planStream(stream, checkpoint, context.options, facts);
  const folder = stageFolder(context.settings.stateDir, stream, context.options);
  // A killed run left pages to resume from, even if the last commit is fresh.
  const plan =
    due.action === 'skip' && hasUncommitted(folder, checkpoint)
      ? planStream(stream, checkpoint && { ...checkpoint, lastVerdict: undefined }, context.options, facts)
      : due;
  if (plan.action === 'scan') {
    // Loaded lazily: it is much of the code, and not needed if all streams are fresh.
    const { syncStream } = await import('./sync-stream.ts');
    return syncStream(context, { stream, plan: plan.scan, checkpoint }, started, saveRun);
  }
  const report = reportStream(context, stream, started, {
    status: 'fresh',
    verdict: checkpoint?.lastVerdict as StreamReport['verdict'],
    reasons: [plan.reason],
    rowsInTable: await countLiveRows(context.database, stream.table, sliceIdOf(stream)).catch(
      () => undefined,
    ),
    checkpoint,
  });
  context.emit({ type: 'stream-finished', report });
  return { report, error: undefined, committed: false };
}
