import type { Page } from '../../model/page.ts';
import type { Checkpoint, Stream } from '../../model/stream.ts';
import { readStage, type StagedPageEntry, type StagedScan } from '../../warehouse/stage-store.ts';
import { countRequests, requestsPerDay } from '../plan/estimate.ts';
import type { RunContext } from '../run-context.ts';
import { isCommitted } from '../staged-scan.ts';
import { nameKey, STAGE_LIFETIME_MS } from '../state-folder.ts';
import { Coverage } from './coverage.ts';
import { mayFollow, type PageTime } from './page-span.ts';
import { countReadable, type Limits } from './requests-left.ts';
import { toStagedPage } from './scan-stage.ts';
import type { StagedHead } from './scanned-page.ts';

/** Pages of an earlier run that a scan may continue from. */
export interface StagedPages {
  readonly scan: StagedScan;
  readonly pages: readonly StagedPageEntry[];
  readonly head: StagedPageEntry;
  /** Of a scan that no day's quota is enough for: they are of use however old, and whatever the head says. */
  readonly servesOn: boolean;
}

/** Where staged pages are looked for, and what they have to answer. */
export interface StagedQuestion {
  readonly folder: string;
  readonly question: string;
  readonly checkpoint: Checkpoint | undefined;
}

/** What an earlier run staged for the same question and did not commit; undefined where none of it is of use. */
export async function findStagedPages(
  context: RunContext,
  { folder, question, checkpoint }: StagedQuestion,
): Promise<StagedPages | undefined> {
  const staged = await readStage(folder, { isProved: true });
  const head = staged?.pages.find((page) => page.pageHash !== undefined);
  if (staged === undefined || head === undefined || staged.scan.question !== question) return undefined;
  const ageMs = context.clock.now() - staged.scan.startedAtMs;
  // What a last attempt kept beside its pages has no place in a scan that continues.
  const isMixed = staged.pages.some(({ besides }) => besides === true);
  if (ageMs < 0 || isMixed || isCommitted(staged.scan, checkpoint)) return undefined;
  const servesOn = countPages(head) > requestsPerDay(context);
  if (ageMs > STAGE_LIFETIME_MS && !servesOn) return undefined;
  return { ...staged, head, servesOn };
}

/**
 * Why staged pages are read again, now that the head was asked for: a refresh may lie between them and what is read
 * now, and the whole scan can be read before the next one.
 */
export function findOutdated(
  context: RunContext,
  { scan, pages, head }: StagedPages,
  { serverDateMs }: Page,
): string | undefined {
  const now = { readAtMs: context.clock.now(), serverDateMs };
  if (pages.every((page) => mayFollow(timeOf(scan, page), now))) return undefined;
  return canReadWhole(context, countPages(head))
    ? 'the data may have been refreshed since its pages were staged'
    : undefined;
}

/** Whether staged pages were read with the key of now: with another one the head has to show that they are of the same data. */
export function isOfKey({ settings }: RunContext, { scan }: StagedPages): boolean {
  return scan.key === undefined || scan.key === nameKey(settings);
}

/** Whether the run may still read a scan of so many pages from its start to its end as one version of the data. */
export function canReadWhole(context: Limits, pages: number): boolean {
  return pages + 1 <= countReadable(context);
}

/** When a staged page was read; of an older stage only the start of its scan is known. */
export function timeOf({ startedAtMs }: StagedScan, { readAtMs, serverDateMs }: StagedPageEntry): PageTime {
  return { readAtMs: readAtMs ?? startedAtMs, serverDateMs };
}

/** Whether staged pages are all there is to a scan, but for the look at its head. */
export function isWhole({ pageSize }: Stream, { head, pages }: StagedPages): boolean {
  const coverage = new Coverage(pageSize);
  coverage.resumeUnseen(head, pages.map(toStagedPage));
  return coverage.complete;
}

function countPages({ total, rows }: StagedHead): number {
  return countRequests(total ?? 0, Math.max(2, rows)).pages;
}
