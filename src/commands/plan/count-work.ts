import { formatCountOf, verbOf } from '../../text/format-count.ts';
import type { PlannedStream } from '../../model/plan-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { Stream } from '../../model/stream.ts';
import { readStage, type StagedScan, type StagedPageEntry } from '../../stage/stage-store.ts';
import { mayFollow } from '../../read/page-span.ts';
import type { Limits } from '../../read/requests-left.ts';
import { canReadWhole, timeOf } from '../../read/staged-pages.ts';
import type { ScanPlan } from '../../plan/scan-plan.ts';
import { hashQuestion, STAGE_LIFETIME_MS, stageFolder } from '../../storage/state-folder.ts';
import { countRequests, requestsPerDay } from '../../plan/estimate.ts';

/** The input of a plan: settings, options of the sync, and how many requests it may send. */
export interface PlanLimits extends Limits {
  readonly settings: OfflineSettings;
}

/** A planned scan and the rows it would read; undefined if unknown. */
export interface ScanSize {
  readonly stream: Stream;
  readonly scan: ScanPlan;
  readonly rows: number | undefined;
}

interface Staged {
  readonly scan: StagedScan;
  readonly pages: readonly StagedPageEntry[];
}

/** Pages and requests of a scan, without usable pages staged by an earlier run. */
export async function countWork(
  limits: PlanLimits,
  size: ScanSize,
  nowMs: number,
): Promise<Partial<PlannedStream>> {
  const { stream, scan, rows } = size;
  const { limit = Infinity } = limits.options;
  if (!stream.paginated) return { rows: rows && Math.min(rows, limit), pages: 1, requests: 1 };
  const staged = await findStaged(limits, size, nowMs);
  const known = rows ?? staged?.pages[0]?.total;
  if (known === undefined) return { rows: known };
  const read = Math.min(known, limit);
  const work = countRequests(read, stream.pageSize);
  // Once its days are read, an incremental scan counts the rows of the whole stream.
  const counts = scan.mode === 'incremental' && stream.audit && limit === Infinity ? 1 : 0;
  if (staged === undefined || isReadAgain(limits, staged, work.pages, nowMs))
    return { rows: read, pages: work.pages, requests: work.requests + counts };
  const held = staged.pages.length;
  return {
    action: 'resume',
    rows: read,
    pages: work.pages,
    requests: Math.max(2, work.requests - held + 1) + counts,
    note: `${formatCountOf(held, 'page')} ${verbOf(held, 'is', 'are')} staged already`,
  };
}

/** Pages that an earlier run staged for the same request, if they are usable. */
async function findStaged(
  { settings, options }: PlanLimits,
  { stream, scan }: ScanSize,
  nowMs: number,
): Promise<Staged | undefined> {
  const staged = await readStage(stageFolder(settings.stateDir, stream, options));
  const question = hashQuestion(settings, stream, scan.from, options.limit);
  if (staged === undefined || staged.pages.length === 0 || staged.scan.question !== question)
    return undefined;
  const { pages } = countRequests(staged.pages[0]?.total ?? 0, stream.pageSize);
  const servesOn = pages > requestsPerDay({ settings });
  return nowMs - staged.scan.startedAtMs > STAGE_LIFETIME_MS && !servesOn ? undefined : staged;
}

/** Whether the sync would reread staged pages, as the source may have been refreshed since. */
function isReadAgain(limits: PlanLimits, { scan, pages }: Staged, planned: number, nowMs: number): boolean {
  const now = { readAtMs: nowMs, serverDateMs: nowMs };
  if (pages.every((page) => mayFollow(timeOf(scan, page), now))) return false;
  return canReadWhole(limits, planned);
}
