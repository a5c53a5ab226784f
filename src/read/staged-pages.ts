import type { Page } from '../model/page.ts';
import type { Checkpoint, Stream } from '../model/stream.ts';
import { readStage, type StagedPageEntry, type StagedScan } from '../stage/stage-store.ts';
import { countRequests, requestsPerDay } from '../plan/estimate.ts';
import type { Reading } from '../run/run-context.ts';
import { isCommitted } from '../run/staged-scan.ts';
import type { Turn } from '../run/turn.ts';
import { describeMasks } from '../schema/mask-records.ts';
import { nameKey } from '../model/hash-key.ts';
import { STAGE_LIFETIME_MS } from '../storage/state-folder.ts';
import { Coverage } from './coverage.ts';
import { mayFollow, type PageTime } from './page-span.ts';
import { countReadable, type Limits } from './requests-left.ts';
import { toStagedPage } from '../stage/scan-stage.ts';
import type { StagedHead } from '../stage/scanned-page.ts';

/** Pages of an earlier run that a scan may continue from. */
export interface StagedPages {
  readonly scan: StagedScan;
  readonly pages: readonly StagedPageEntry[];
  readonly head: StagedPageEntry;
  /** Of a scan that needs more than a day's quota: valid at any age, whatever the head is. */
  readonly servesOn: boolean;
}

/** Where to look for staged pages, and their request. */
export interface StagedQuestion {
  readonly folder: string;
  readonly question: string;
  readonly checkpoint: Checkpoint | undefined;
}

/** A scan whose pages are to be staged. */
interface AskedScan extends Pick<Turn, 'stream' | 'plan' | 'question'> {
  readonly startedAtMs: number;
}

/** What is kept with the pages of a scan that begins. */
export function describeScan(
  { settings, runId }: Reading,
  { stream, plan, question, startedAtMs }: AskedScan,
): StagedScan {
  return {
    version: 1,
    stream: stream.name,
    question,
    startedAtMs,
    runId,
    key: nameKey(settings),
    masks: describeMasks(stream, settings.hashKey),
    ...(plan.readsAll === true && { readsAll: true }),
  };
}

/** What an earlier run staged for the same request and did not commit; undefined if none of it is usable. */
export async function findStagedPages(
  context: Reading,
  { folder, question, checkpoint }: StagedQuestion,
): Promise<StagedPages | undefined> {
  const staged = await readStage(folder, { isProved: true });
  const head = staged?.pages.find((page) => page.pageHash !== undefined);
  if (staged === undefined || head === undefined || staged.scan.question !== question) return undefined;
  const ageMs = context.clock.now() - staged.scan.startedAtMs;
  // Extra pages of a last attempt cannot be used in a resumed scan.
  const isMixed = staged.pages.some(({ besides }) => besides === true);
  if (ageMs < 0 || isMixed || isCommitted(staged.scan, checkpoint)) return undefined;
  const servesOn = countPages(head) > requestsPerDay(context);
  if (ageMs > STAGE_LIFETIME_MS && !servesOn) return undefined;
  return { ...staged, head, servesOn };
}

/**
 * Why staged pages are reread, after the head was requested: the source may have been refreshed since, and the whole
 * scan can be read before the next refresh.
 */
export function findOutdated(
  context: Reading,
  { scan, pages, head }: StagedPages,
  { serverDateMs }: Page,
): string | undefined {
  const now = { readAtMs: context.clock.now(), serverDateMs };
  if (pages.every((page) => mayFollow(timeOf(scan, page), now))) return undefined;
  return canReadWhole(context, countPages(head))
    ? 'the data may have been refreshed since its pages were staged'
    : undefined;
}

/** Whether staged pages were read with the current key: otherwise the head must show that they are of the same data. */
export function isOfKey({ settings }: Reading, { scan }: StagedPages): boolean {
  return scan.key === undefined || scan.key === nameKey(settings);
}

/** Whether the run can still read a scan of this many pages completely as one version of the data. */
export function canReadWhole(context: Limits, pages: number): boolean {
  return pages + 1 <= countReadable(context);
}

/** When a staged page was read; for older stages only the start of the scan is known. */
export function timeOf({ startedAtMs }: StagedScan, { readAtMs, serverDateMs }: StagedPageEntry): PageTime {
  return { readAtMs: readAtMs ?? startedAtMs, serverDateMs };
}

/** Whether all pages of a scan are staged, except for the final comparison of its head. */
export function isWhole({ pageSize }: Stream, { head, pages }: StagedPages): boolean {
  const coverage = new Coverage(pageSize);
  coverage.resumeUnseen(head, pages.map(toStagedPage));
  return coverage.complete;
}

function countPages({ total, rows }: StagedHead): number {
  return countRequests(total ?? 0, Math.max(2, rows)).pages;
}
