import { toDate } from '../model/dates.ts';
import type { Page } from '../model/page.ts';
import type { Checkpoint, ScanHead, Stream } from '../model/stream.ts';
import { hashPage } from '../json/fingerprint.ts';
import { Coverage } from './coverage.ts';
import { createRequest } from './create-request.ts';
import { requestsPerDay } from '../plan/estimate.ts';
import { decideVerdict } from './decide-verdict.ts';
import { PageSpan, type PageTime } from './page-span.ts';
import { JointRepair } from './repair-joint.ts';
import { requestPages } from './request-pages.ts';
import type { Reading } from '../run/run-context.ts';
import type { FetchedScan } from '../run/scan.ts';
import type { ScanPlan } from '../plan/scan-plan.ts';
import { type Instead, type JudgeFirstPage, MAX_RESCANS, type Step } from '../run/step.ts';
import type { Turn } from '../run/turn.ts';
import { ScanStage, type StageFollower, toStagedPage } from '../stage/scan-stage.ts';
import { countRequestsLeft } from './requests-left.ts';
import type { AcceptedPage } from '../stage/scanned-page.ts';
import type { Segment } from './segments.ts';
import {
  canReadWhole,
  findOutdated,
  describeScan,
  findStagedPages,
  isOfKey,
  isWhole,
  type StagedPages,
  timeOf,
} from './staged-pages.ts';
import { nameKey } from '../model/hash-key.ts';

const NOT_RESUMED: Step<boolean> = { done: false };

/** One pass over a stream whose pages are asked for by offset; owns the stage's open files. */
export class OffsetScan {
  readonly #context: Reading;
  readonly #stream: Stream;
  readonly #plan: ScanPlan;
  readonly #checkpoint: Checkpoint | undefined;
  readonly #rescans: number;
  readonly #question: string;
  readonly #coverage: Coverage;
  readonly #joints: JointRepair;
  readonly #stage: ScanStage;
  readonly #span = new PageSpan();
  readonly #masked = new Set<string>();
  #isResumed = false;
  /** Resumed from staged pages without rereading the head. */
  #isUnseen = false;
  /** The head was compared and nothing was requested since: the scan ends without another comparison. */
  #isHeadSeen = false;
  #startedAtMs: number;
  /** From the first answer of this run. */
  #serverDateMs: number | undefined;
  #duplicateMembers = 0;
  #tooLong: boolean | undefined;
  #isReadAgain = false;

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
    this.#coverage = new Coverage(stream.pageSize);
    const request = (offset: number) => this.#requestPage(offset);
    this.#joints = new JointRepair({ stream, coverage: this.#coverage, request, signal: context.signal });
    this.#startedAtMs = context.clock.now();
  }

  async run(judgeFirstPage: JudgeFirstPage): Promise<Step<FetchedScan>> {
    const resumed = this.#rescans === 0 ? await this.#resume(judgeFirstPage) : NOT_RESUMED;
    if ('instead' in resumed) return resumed;
    this.#isResumed = resumed.done;
    if (!resumed.done) {
      if (this.#plan.goesOn === true && this.#rescans === 0) return { instead: { kind: 'stage-outdated' } };
      await this.#begin();
    }
    const instead = await this.#fetchPages(judgeFirstPage);
    return instead === undefined ? { done: this.#judge(await this.#checkHead()) } : { instead };
  }

  get #mayRestart(): boolean {
    return this.#rescans < MAX_RESCANS && !this.#isTooLong;
  }

  // Decided once, with the first total: asking the ledger for each page would cost more than the page.
  get #isTooLong(): boolean {
    const { pagesPlanned } = this.#coverage;
    if (pagesPlanned === undefined) return false;
    return (this.#tooLong ??= pagesPlanned > requestsPerDay(this.#context));
  }

  async close(): Promise<void> {
    await this.#stage.close();
  }

  // See docs/delivery.md, Resume: staged pages are valid while the request, the total and the head are the same.
  async #resume(judgeFirstPage: JudgeFirstPage): Promise<Step<boolean>> {
    const { folder } = this.#stage;
    const where = { folder, question: this.#question, checkpoint: this.#checkpoint };
    const staged = await findStagedPages(this.#context, where);
    if (staged === undefined) return NOT_RESUMED;
    // With only one request left, asking for the head would leave none for a page, in every run.
    const isOwn = isOfKey(this.#context, staged);
    await this.#context.source.readQuota();
    const waits = isOwn && countRequestsLeft(this.#context) === 1 && !isWhole(this.#stream, staged);
    const page = waits ? undefined : await this.#requestPage(0);
    const instead = page && judgeFirstPage(page);
    if (instead !== undefined) return { instead };
    const moved =
      page === undefined || hashPage(page) === staged.head.pageHash
        ? undefined
        : 'the data changed since its pages were staged';
    const outdated = moved ?? (page && findOutdated(this.#context, staged, page));
    if (page !== undefined && outdated !== undefined && !(staged.servesOn && isOwn)) {
      if (this.#plan.goesOn === true) return { instead: { kind: 'stage-outdated' } };
      this.#context.emit({ type: 'stream-restarted', stream: this.#stream.name, reason: outdated });
      await this.#begin();
      await this.#takeFirst(page);
      return { done: true };
    }
    await this.#continueFrom(staged, page, moved);
    return { done: true };
  }

  async #continueFrom(
    { scan, pages, head }: StagedPages,
    page: Page | undefined,
    moved: string | undefined,
  ): Promise<void> {
    const { runId, signal, emit } = this.#context;
    const held = pages.map(toStagedPage);
    this.#startedAtMs = scan.startedAtMs;
    for (const entry of pages) this.#span.add(timeOf(scan, entry));
    const key = nameKey(this.#context.settings);
    await this.#stage.reopen({ ...scan, runId, key }, pages, signal);
    this.#isUnseen = page === undefined;
    if (page === undefined) this.#coverage.resumeUnseen(head, held);
    else this.#coverage.resume(page, held);
    if (moved !== undefined) this.#coverage.noteMove(moved);
    const { rows: rowsHeld, pages: pagesHeld, complete } = this.#coverage;
    this.#isHeadSeen = page !== undefined && moved === undefined && complete;
    emit({ type: 'stream-resumed', stream: this.#stream.name, pagesHeld, rowsHeld });
  }

  async #begin(): Promise<void> {
    const asked = {
      stream: this.#stream,
      plan: this.#plan,
      question: this.#question,
      startedAtMs: this.#startedAtMs,
    };
    await this.#stage.begin(describeScan(this.#context, asked));
  }

  async #takeFirst(page: Page): Promise<void> {
    const segment = this.#coverage.takeSegment();
    if (segment !== undefined) await this.#take(this.#coverage.accept(segment, page), page);
  }

  async #fetchPages(judgeFirstPage: JudgeFirstPage): Promise<Instead | undefined> {
    const request = (segment: Segment) => this.#requestPage(segment.start);
    try {
      for await (const { segment, page } of requestPages(
        this.#coverage,
        this.#context.concurrency,
        request,
      )) {
        const instead = segment.first ? judgeFirstPage(page) : undefined;
        if (instead !== undefined) return instead;
        // A page that does not match pages of an earlier run may simply be newer: those are not reread.
        const fitted = this.#isUnseen ? { page, others: [] } : await this.#joints.fit(segment, page);
        if (fitted === undefined) continue;
        await this.#take(this.#coverage.accept(segment, fitted.page), fitted.page);
        // Stops at the first sign, so that little is read twice.
        if (this.#isLimitReached() || (this.#coverage.moved && this.#mayRestart) || this.isReadAgain) break;
        for (const other of fitted.others) await this.#keepBesides(other);
      }
      return undefined;
    } finally {
      // Whatever ended the scan, its pages are saved.
      await this.#stage.flush();
    }
  }

  /**
   * Whether to restart the scan because the source may have been refreshed between its pages: once, at the first
   * sign, and only if the quota lets it finish within one version of the data.
   */
  get isReadAgain(): boolean {
    // The decision is final: the pages after the first sign were not requested.
    return (this.#isReadAgain ||= this.#mayReadAgain());
  }

  #mayReadAgain(): boolean {
    const { pagesPlanned, complete, pages } = this.#coverage;
    if (!this.#span.isApart || this.#rescans > 0 || this.#context.options.limit !== undefined) return false;
    const planned = pagesPlanned ?? (complete ? pages : undefined);
    return planned !== undefined && !this.#isTooLong && canReadWhole(this.#context, planned);
  }

  #isLimitReached(): boolean {
    return this.#coverage.rows >= (this.#context.options.limit ?? Infinity);
  }

  async #take(accepted: AcceptedPage, page: Page): Promise<void> {
    const { emit, options } = this.#context;
    const room = Math.max(0, (options.limit ?? Infinity) - (this.#coverage.rows - accepted.kept.length));
    this.#duplicateMembers += page.duplicateMembers;
    const time = this.#timeOf(page);
    const { pages: pagesDone, pagesPlanned, rows: rowsDone, total: rowsDeclared } = this.#coverage;
    await this.#stage.add({ ...accepted, ...time }, accepted.kept.slice(0, room), () => {
      const { name: stream } = this.#stream;
      emit({ type: 'page-staged', stream, pagesDone, pagesPlanned, rowsDone, rowsDeclared });
    });
  }

  #timeOf({ serverDateMs }: Page): PageTime {
    return { readAtMs: this.#context.clock.now(), serverDateMs };
  }

  /**
   * Keeps a page that does not match in the last attempt of a scan: rows that slid into the previous page are on no
   * other page. Duplicate keys are resolved later; the newest row stays.
   */
  async #keepBesides(page: Page): Promise<void> {
    const keyed = this.#stream.key.kind === 'fields' || this.#checkpoint?.keyFields !== undefined;
    if (!keyed || this.#isTooLong || this.#context.options.limit !== undefined) return;
    await this.#stage.addBesides(page);
  }

  /** Requests the first page again if several were read, or one that contradicts itself. */
  async #checkHead(): Promise<boolean | undefined> {
    const { complete, pages, problems, moved, headHash } = this.#coverage;
    const settled = !complete || this.#context.options.limit !== undefined;
    if (settled || (pages < 2 && problems.length === 0) || (moved && this.#mayRestart)) return undefined;
    if (this.isReadAgain) return undefined;
    if (this.#isHeadSeen) return true;
    const head = await this.#requestPage(0);
    if (hashPage(head) === headHash) return true;
    if (!this.#mayRestart) await this.#keepBesides(head);
    await this.#stage.flush();
    return false;
  }

  #judge(headUnchanged: boolean | undefined): FetchedScan {
    const { rows, pages, total, problems, moved, complete } = this.#coverage;
    const { limit } = this.#context.options;
    const limited = limit !== undefined && rows >= limit && (total ?? Infinity) > limit;
    const apart = this.#span.isApart ? this.#span.describe() : undefined;
    const judged = decideVerdict({ complete, problems, moved, total, rows, headUnchanged, limited, apart });
    const cause = judged.cause === 'moved' && this.#isTooLong ? 'too-long' : judged.cause;
    return {
      ...judged,
      ...(cause === undefined ? {} : { cause }),
      differing: this.#joints.differing,
      reasons: [...judged.reasons, ...this.#coverage.notes, ...this.#joints.notes],
      plan: this.#plan,
      recordsFile: this.#stage.recordsFile,
      tree: this.#stage.tree,
      total,
      rows: Math.min(rows, limit ?? Infinity),
      pages,
      rescans: this.#rescans,
      isApart: apart !== undefined,
      duplicateMembers: this.#duplicateMembers,
      startedAtMs: this.#startedAtMs,
      serverDateMs: this.#serverDateMs ?? this.#startedAtMs,
      head: this.#describeHead(),
      masked: this.#isResumed ? undefined : this.#masked,
      // Must not capture this scan: its many joints would stay in memory until the rows are loaded.
      reread: createRequest(this.#context, this.#stream, this.#plan, this.#masked),
    };
  }

  #describeHead(): ScanHead | undefined {
    const { headHash: page, total } = this.#coverage;
    if (page === undefined) return undefined;
    return { question: this.#question, page, total, day: toDate(this.#serverDateMs ?? this.#startedAtMs) };
  }

  async #requestPage(offset: number): Promise<Page> {
    const page = await createRequest(this.#context, this.#stream, this.#plan, this.#masked)(offset);
    this.#span.add(this.#timeOf(page));
    this.#serverDateMs ??= page.serverDateMs ?? this.#context.clock.now();
    return page;
  }
}
