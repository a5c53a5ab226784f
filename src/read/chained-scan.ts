import { hashPage, hashPageText } from '../json/fingerprint.ts';
import { toDate } from '../model/dates.ts';
import type { Page } from '../model/page.ts';
import { orderOf } from '../orders/orders.ts';
import type { Checkpoint, Stream } from '../model/stream.ts';
import type { StagedPageEntry } from '../stage/stage-store.ts';
import type { Reading } from '../run/run-context.ts';
import type { FetchedScan } from '../run/scan.ts';
import type { ScanPlan } from '../plan/scan-plan.ts';
import { type Instead, type JudgeFirstPage, MAX_RESCANS, type Step } from '../run/step.ts';
import type { Turn } from '../run/turn.ts';
import { requestsPerDay } from '../plan/estimate.ts';
import { nameKey } from '../model/hash-key.ts';
import { STAGE_LIFETIME_MS } from '../storage/state-folder.ts';
import { ChainCheck } from './chain-check.ts';
import { decideVerdict } from './decide-verdict.ts';
import { PageSpan, type PageTime } from './page-span.ts';
import { requestPage } from './request-page.ts';
import { countRequestsLeft } from './requests-left.ts';
import {
  canReadWhole,
  findOutdated,
  describeScan,
  findStagedPages,
  isOfKey,
  timeOf,
} from './staged-pages.ts';
import { ScanStage, type StageFollower } from '../stage/scan-stage.ts';

interface SeenHead {
  readonly hash: string;
  readonly total: number | undefined;
}

/**
 * One pass over a stream that pages by cursor, one page after the other. Pages do not overlap: completeness is
 * checked by the total, if the API gives one, and by rereading the first page.
 */
export class ChainedScan {
  readonly #context: Reading;
  readonly #stream: Stream;
  readonly #plan: ScanPlan;
  readonly #checkpoint: Checkpoint | undefined;
  readonly #rescans: number;
  readonly #question: string;
  readonly #stage: ScanStage;
  readonly #span = new PageSpan();
  readonly #masked = new Set<string>();
  /** The cursor of each page by its offset. */
  readonly #cursors = new Map<number, string | undefined>();
  readonly #doubt: string | undefined;
  readonly #check: ChainCheck;
  #isReadAgain = false;
  #head: SeenHead | undefined;
  #next: string | undefined;
  #isDone = false;
  #isResumed = false;
  #rows = 0;
  #pages = 0;
  /** The head was compared and nothing was requested since: the scan ends without another comparison. */
  #isHeadSeen = false;
  #duplicateMembers = 0;
  #startedAtMs: number;
  #serverDateMs: number;

  constructor(
    context: Reading,
    { stream, plan, checkpoint, stage, question }: Turn,
    rescans: number,
    follower: StageFollower | undefined,
  ) {
    this.#context = context;
    this.#stream = stream;
    this.#plan = plan;
    this.#checkpoint = checkpoint;
    this.#rescans = rescans;
    this.#stage = new ScanStage(stage, follower);
    this.#question = question;
    this.#doubt = orderOf(context.source.connector.paging).doubt;
    this.#check = new ChainCheck(this.#doubt !== undefined);
    this.#startedAtMs = context.clock.now();
    this.#serverDateMs = this.#startedAtMs;
  }

  async run(judgeFirstPage: JudgeFirstPage): Promise<Step<FetchedScan>> {
    try {
      // With only one request left, asking for the head would leave none for a page, in every run.
      await this.#context.source.readQuota();
      const waits = countRequestsLeft(this.#context) === 1;
      const isResumed = waits && (await this.#resume(undefined));
      const instead = isResumed ? undefined : await this.#beginAtHead(judgeFirstPage);
      if (instead !== undefined) return { instead };
      await this.#follow();
    } finally {
      // Whatever ended the scan, its pages are saved.
      await this.#stage.flush();
    }
    return { done: this.#judge(await this.#checkHead()) };
  }

  async #beginAtHead(judgeFirstPage: JudgeFirstPage): Promise<Instead | undefined> {
    const head = await this.#request(0, undefined);
    this.#serverDateMs = head.serverDateMs ?? this.#startedAtMs;
    const instead = judgeFirstPage(head);
    if (instead !== undefined) return instead;
    if (await this.#resume(head)) return undefined;
    if (this.#plan.goesOn === true && this.#rescans === 0) return { kind: 'stage-outdated' };
    this.#head = { hash: hashPage(head), total: head.total };
    await this.#begin();
    await this.#take(head, undefined);
    return undefined;
  }

  async close(): Promise<void> {
    await this.#stage.close();
  }

  async #begin(): Promise<void> {
    this.#cursors.clear();
    this.#check.clear();
    this.#rows = this.#pages = 0;
    const asked = {
      stream: this.#stream,
      plan: this.#plan,
      question: this.#question,
      startedAtMs: this.#startedAtMs,
    };
    await this.#stage.begin(describeScan(this.#context, asked));
  }

  // As for offsets: staged pages are valid while the request, the total and the head are the same.
  async #resume(head: Page | undefined): Promise<boolean> {
    if (this.#rescans > 0) return false;
    const { clock, runId, signal, emit } = this.#context;
    const where = { folder: this.#stage.folder, question: this.#question, checkpoint: this.#checkpoint };
    const staged = await findStagedPages(this.#context, where);
    const last = staged?.pages.at(-1);
    if (staged === undefined || last === undefined) return false;
    // Cursors are only used within a day.
    if (clock.now() - staged.scan.startedAtMs > STAGE_LIFETIME_MS) return false;
    const isWhole = last.next === undefined;
    // If all pages are staged, only the head must be compared.
    if (head === undefined && !isOfKey(this.#context, staged)) return false;
    if (head === undefined ? isWhole : hashPage(head) !== staged.head.pageHash) return false;
    if (head !== undefined && findOutdated(this.#context, staged, head) !== undefined) return false;
    this.#head = { hash: staged.head.pageHash ?? '', total: staged.head.total };
    this.#isHeadSeen = isWhole;
    this.#startedAtMs = staged.scan.startedAtMs;
    this.#isResumed = true;
    for (const page of staged.pages) this.#span.add(timeOf(staged.scan, page));
    await this.#stage.reopen(
      { ...staged.scan, runId, key: nameKey(this.#context.settings) },
      staged.pages,
      signal,
    );
    for (const page of staged.pages) this.#restore(page);
    emit({
      type: 'stream-resumed',
      stream: this.#stream.name,
      pagesHeld: this.#pages,
      rowsHeld: this.#rows,
    });
    return true;
  }

  #restore({ offset, rows, next, textHash, total }: StagedPageEntry): void {
    this.#check.restore({ rows, textHash, total }, offset);
    this.#cursors.set(offset, this.#next);
    this.#rows += rows;
    this.#pages += 1;
    this.#next = next;
  }

  /** As for offsets: once, and only if the quota lets the scan finish within one version of the data. */
  get isReadAgain(): boolean {
    return (this.#isReadAgain ||= this.#mayReadAgain());
  }

  #mayReadAgain(): boolean {
    const { options } = this.#context;
    if (!this.#span.isApart || this.#rescans > 0 || options.limit !== undefined) return false;
    const total = this.#head?.total;
    const pages = total === undefined ? this.#pages : Math.ceil(total / this.#stream.pageSize);
    return (total !== undefined || this.#next === undefined) && canReadWhole(this.#context, pages);
  }

  async #follow(): Promise<void> {
    while (this.#next !== undefined && !this.#isDone && !this.#isLost && !this.isReadAgain) {
      const cursor = this.#next;
      await this.#take(await this.#request(this.#rows, cursor), cursor);
    }
  }

  async #take(page: Page, cursor: string | undefined): Promise<void> {
    const { options, emit } = this.#context;
    const textHash = hashPageText(page);
    const { next, total, records } = page;
    this.#check.add({ next, total, rows: records.length, textHash, cursor }, this.#rows);
    if (this.#check.problem !== undefined) return;
    const offset = this.#rows;
    const kept = page.records.slice(0, (options.limit ?? Infinity) - offset);
    this.#cursors.set(offset, cursor);
    this.#rows += kept.length;
    this.#pages += 1;
    this.#duplicateMembers += page.duplicateMembers;
    const time = this.#timeOf(page);
    this.#next = page.next;
    this.#isDone = this.#rows >= (options.limit ?? Infinity);
    const { name: stream } = this.#stream;
    const [pagesDone, rowsDone, rowsDeclared] = [this.#pages, this.#rows, this.#head?.total];
    const pagesPlanned =
      rowsDeclared === undefined ? undefined : Math.ceil(rowsDeclared / this.#stream.pageSize);
    const pageHash = pagesDone === 1 ? this.#head?.hash : undefined;
    const accepted = { offset, firstPosition: offset, kept, firstHash: undefined, lastHash: undefined };
    await this.#stage.add(
      { ...accepted, ...time, total: page.total, pageHash, textHash, next: page.next },
      kept,
      () => {
        emit({ type: 'page-staged', stream, pagesDone, pagesPlanned, rowsDone, rowsDeclared });
      },
    );
  }

  #timeOf({ serverDateMs }: Page): PageTime {
    return { readAtMs: this.#context.clock.now(), serverDateMs };
  }

  /** Whether more pages are useless: they contradict each other, or the scan will be restarted. */
  get #isLost(): boolean {
    const { problem, move } = this.#check;
    return problem !== undefined || (move !== undefined && this.#rescans < MAX_RESCANS && !this.#isTooLong);
  }

  // As for offsets: the data would move again before the end of another attempt.
  get #isTooLong(): boolean {
    const { total = 0 } = this.#head ?? {};
    return this.#doubt !== undefined && total / this.#stream.pageSize > requestsPerDay(this.#context);
  }

  async #checkHead(): Promise<boolean | undefined> {
    if (this.#pages < 2 || this.#isDone || this.#isLost || this.isReadAgain) return undefined;
    if (this.#isHeadSeen) return true;
    return hashPage(await this.#request(0, undefined)) === this.#head?.hash;
  }

  #judge(headUnchanged: boolean | undefined): FetchedScan {
    const total = this.#head?.total;
    const { problem, move } = this.#check;
    const problems = [problem, move].filter((found) => found !== undefined);
    const moved = move !== undefined;
    const doubt = this.#pages > 1 ? this.#doubt : undefined;
    const limited = this.#isDone && (total ?? Infinity) > this.#rows;
    const apart = this.#span.isApart ? this.#span.describe() : undefined;
    const facts = { complete: this.#next === undefined, problems, moved, total, limited, apart, doubt };
    const judged = decideVerdict({ ...facts, rows: this.#rows, headUnchanged });
    return {
      ...judged,
      ...(judged.cause === 'moved' && this.#isTooLong ? { cause: 'too-long' } : {}),
      plan: this.#plan,
      recordsFile: this.#stage.recordsFile,
      tree: this.#stage.tree,
      total,
      rows: this.#rows,
      pages: this.#pages,
      rescans: this.#rescans,
      isApart: apart !== undefined,
      duplicateMembers: this.#duplicateMembers,
      startedAtMs: this.#startedAtMs,
      serverDateMs: this.#serverDateMs,
      head: this.#head && {
        question: this.#question,
        page: this.#head.hash,
        total,
        day: toDate(this.#serverDateMs),
      },
      masked: this.#isResumed ? undefined : this.#masked,
      reread: (offset) => this.#reread(offset),
    };
  }

  #reread(position: number): Promise<Page> {
    // The page with a position starts at it, or at the last offset before it.
    const offset = [...this.#cursors.keys()].findLast((start) => start <= position) ?? 0;
    return this.#request(offset, this.#cursors.get(offset));
  }

  async #request(offset: number, next: string | undefined): Promise<Page> {
    const { from } = this.#plan;
    const page = await requestPage(this.#context, this.#stream, { from, offset, next, isKept: true });
    this.#span.add(this.#timeOf(page));
    for (const field of page.masked ?? []) this.#masked.add(field);
    return page;
  }
}
