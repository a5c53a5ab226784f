import { ResponseError } from '../model/errors.ts';
import type { Page } from '../model/page.ts';
import type { Checkpoint, Stream } from '../model/stream.ts';
import { createFieldTree, isRecordObject, observeRecord } from '../schema/observe-fields.ts';
import { readStage, type StagedScan, StageStore, type StagedPageEntry } from '../warehouse/stage-store.ts';
import { formatStagedLines, readStagedRecords } from '../warehouse/staged-records.ts';
import { hashPage } from '../json/fingerprint.ts';
import { type AcceptedPage, Coverage, type Segment } from './coverage.ts';
import { judgeScan } from './judge-scan.ts';
import { requestPage } from './request-page.ts';
import { requestPages } from './request-pages.ts';
import type { RunContext } from './run-context.ts';
import type { FetchedScan, ScanPlan } from './scan.ts';
import { hashQuestion, STAGE_LIFETIME_MS, stageFolder } from './state-folder.ts';

const MAX_RESCANS = 2;
/**
 * Reads every page of a scan and stages it. Goes on from what an earlier process staged if the head page
 * is still the same; begins anew, at most twice, when the data moves under it, and then keeps what it
 * got with the verdict `drifted`.
 */
export async function fetchScan(
  context: RunContext,
  stream: Stream,
  plan: ScanPlan,
  checkpoint: Checkpoint | undefined,
  onFirstPage: (page: Page) => void,
): Promise<FetchedScan> {
  for (let rescans = 0; ; rescans += 1) {
    const scan = new ScanInProgress(context, stream, plan, checkpoint, rescans);
    try {
      const fetched = await scan.run(onFirstPage, rescans < MAX_RESCANS);
      if (fetched.verdict !== 'drifted' || rescans >= MAX_RESCANS) return fetched;
      const reason = fetched.reasons[0] ?? 'the data moved';
      context.emit({ type: 'stream-restarted', stream: stream.name, reason });
    } finally {
      await scan.close();
    }
  }
}

/** One pass over a stream; owns the stage's open files. */
class ScanInProgress {
  readonly #context: RunContext;
  readonly #stream: Stream;
  readonly #plan: ScanPlan;
  readonly #checkpoint: Checkpoint | undefined;
  readonly #rescans: number;
  readonly #folder: string;
  readonly #question: string;
  readonly #tree = createFieldTree();
  readonly #coverage: Coverage;
  #stage: StageStore | undefined;
  #startedAtMs: number;
  #serverDateMs: number;
  #duplicateMembers = 0;
  /** The first record as received; comparing it spares a fingerprint of every page. */
  #headText: string | undefined;

  constructor(
    context: RunContext,
    stream: Stream,
    plan: ScanPlan,
    checkpoint: Checkpoint | undefined,
    rescans: number,
  ) {
    this.#context = context;
    this.#stream = stream;
    this.#plan = plan;
    this.#checkpoint = checkpoint;
    this.#rescans = rescans;
    this.#folder = stageFolder(context.settings.stateDir, stream, context.options);
    this.#question = hashQuestion(context.settings, stream, plan.from, context.options.limit);
    this.#coverage = new Coverage(stream.pageSize);
    this.#startedAtMs = context.clock.now();
    this.#serverDateMs = this.#startedAtMs;
  }

  async run(onFirstPage: (page: Page) => void, mayRestart: boolean): Promise<FetchedScan> {
    if (!this.#stream.paginated) {
      await this.#fetchDocument(onFirstPage);
      return this.#judge(undefined);
    }
    const resumed = this.#rescans === 0 && (await this.#resume(onFirstPage));
    if (!resumed) await this.#begin();
    await this.#fetchPages(onFirstPage, mayRestart);
    return this.#judge(await this.#checkHead(mayRestart));
  }

  async close(): Promise<void> {
    await this.#stage?.close();
  }

  async #fetchDocument(onFirstPage: (page: Page) => void): Promise<void> {
    await this.#begin();
    const page = await this.#requestPage(0);
    this.#noteHead(page);
    onFirstPage(page);
    const segment = this.#coverage.takeSegment();
    if (segment === undefined) return;
    await this.#take(this.#coverage.accept(segment, page), page);
    await this.#stage?.flush();
  }

  // Part 4 of the design: staged pages serve 24 h if the question, the total and the head are the same.
  async #resume(onFirstPage: (page: Page) => void): Promise<boolean> {
    const staged = await readStage(this.#folder);
    const head = staged?.pages.find((page) => page.pageHash !== undefined);
    if (staged === undefined || head === undefined || staged.scan.question !== this.#question) return false;
    const ageMs = this.#context.clock.now() - staged.scan.startedAtMs;
    if (ageMs < 0 || ageMs > STAGE_LIFETIME_MS || this.#isCommitted(staged.scan)) return false;

    const page = await this.#requestPage(0);
    this.#noteHead(page);
    onFirstPage(page);
    if (hashPage(page) !== head.pageHash) {
      const { emit } = this.#context;
      emit({
        type: 'stream-restarted',
        stream: this.#stream.name,
        reason: 'the data changed since its pages were staged',
      });
      await this.#begin();
      await this.#takeFirst(page);
      return true;
    }
    this.#startedAtMs = staged.scan.startedAtMs;
    this.#stage = await StageStore.reopen(
      this.#folder,
      { ...staged.scan, runId: this.#context.runId },
      staged.pages,
    );
    await this.#replay(staged.pages, page);
    return true;
  }

  // A kill right after a commit leaves its pages behind: they must not answer for a later scan.
  #isCommitted({ startedAtMs, runId }: StagedScan): boolean {
    const startedAt = new Date(startedAtMs).toISOString();
    const { lastFullScanAt, lastVerifiedAt, runId: committedBy } = this.#checkpoint ?? {};
    return runId === committedBy || startedAt === lastFullScanAt || startedAt === lastVerifiedAt;
  }

  async #replay(pages: readonly StagedPageEntry[], head: Page): Promise<void> {
    for await (const records of readStagedRecords(this.#stage?.recordsFile ?? '', this.#context.signal)) {
      for (const { value } of records) if (isRecordObject(value)) observeRecord(this.#tree, value);
    }
    this.#coverage.resume(head, pages.map(toStagedPage));
    const { rows: rowsHeld, pages: pagesHeld } = this.#coverage;
    this.#context.emit({ type: 'stream-resumed', stream: this.#stream.name, pagesHeld, rowsHeld });
  }

  async #begin(): Promise<void> {
    this.#stage = await StageStore.begin(this.#folder, {
      version: 1,
      stream: this.#stream.name,
      question: this.#question,
      startedAtMs: this.#startedAtMs,
      runId: this.#context.runId,
    });
  }

  async #takeFirst(page: Page): Promise<void> {
    const segment = this.#coverage.takeSegment();
    if (segment !== undefined) await this.#take(this.#coverage.accept(segment, page), page);
  }

  async #fetchPages(onFirstPage: (page: Page) => void, mayRestart: boolean): Promise<void> {
    const request = (segment: Segment) => this.#requestPage(segment.start);
    try {
      for await (const { segment, page } of requestPages(
        this.#coverage,
        this.#context.concurrency,
        request,
      )) {
        if (segment.first) {
          this.#noteHead(page);
          onFirstPage(page);
        } else {
          this.#refuseIgnoredOffset(page);
        }
        await this.#take(this.#coverage.accept(segment, page), page);
        if (this.#isLimitReached() || (mayRestart && this.#coverage.problems.length > 0)) break;
      }
    } finally {
      // Whatever ended the scan, the pages that came are on the disk.
      await this.#stage?.flush();
    }
  }

  #isLimitReached(): boolean {
    return this.#coverage.rows >= (this.#context.options.limit ?? Infinity);
  }

  // Every later page being the first one again is not data that moved: no restart could mend it.
  #refuseIgnoredOffset(page: Page): void {
    if (page.records.length < 2 || page.records[0]?.text !== this.#headText) return;
    if (hashPage(page) !== this.#coverage.headHash) return;
    throw new ResponseError(
      `${this.#stream.name}: the page at offset ${page.offset} is the first page again; the API ignores the offset`,
      {
        code: 'response_invalid',
        hint: `The table is as it was. If the endpoint does not page, set "paginated: false" for streams.${this.#stream.name}.`,
        context: { stream: this.#stream.name, offset: page.offset },
      },
    );
  }

  async #take(accepted: AcceptedPage, page: Page): Promise<void> {
    const { clock: _clock, emit, options } = this.#context;
    const room = Math.max(0, (options.limit ?? Infinity) - (this.#coverage.rows - accepted.kept.length));
    const kept = accepted.kept.slice(0, room);
    this.#duplicateMembers += page.duplicateMembers;
    for (const { value } of kept) if (isRecordObject(value)) observeRecord(this.#tree, value);
    const { pages: pagesDone, pagesPlanned, rows: rowsDone, total: rowsDeclared } = this.#coverage;
    const written = this.#stage?.append({
      entry: { ...toEntry(accepted), rows: kept.length },
      lines: formatStagedLines(accepted.firstPosition, kept),
    });
    // The next page is asked for while this one reaches the disk; `flush` tells of a failure.
    written
      ?.then(() => {
        const { name: stream } = this.#stream;
        emit({ type: 'page-staged', stream, pagesDone, pagesPlanned, rowsDone, rowsDeclared });
      })
      .catch(() => undefined);
    await this.#stage?.settle();
  }

  /** Asks for the first page again, once several were read; true when it is the same. */
  async #checkHead(mayRestart: boolean): Promise<boolean | undefined> {
    const { coverage, context } = { coverage: this.#coverage, context: this.#context };
    const settled = !coverage.complete || coverage.pages < 2 || context.options.limit !== undefined;
    if (settled || (coverage.problems.length > 0 && mayRestart)) return undefined;
    return hashPage(await this.#requestPage(0)) === coverage.headHash;
  }

  #judge(headUnchanged: boolean | undefined): FetchedScan {
    const { rows, pages, total, problems, complete } = this.#coverage;
    const { limit } = this.#context.options;
    const limited = limit !== undefined && rows >= limit && (total ?? Infinity) > limit;
    return {
      ...judgeScan({ complete, problems, total, rows, headUnchanged, limited }),
      plan: this.#plan,
      recordsFile: this.#stage?.recordsFile ?? '',
      tree: this.#tree,
      total,
      rows: Math.min(rows, limit ?? Infinity),
      pages,
      rescans: this.#rescans,
      duplicateMembers: this.#duplicateMembers,
      startedAtMs: this.#startedAtMs,
      serverDateMs: this.#serverDateMs,
      askAgain: (offset) => this.#requestPage(offset),
    };
  }

  #noteHead(page: Page): void {
    this.#headText = page.records[0]?.text;
    this.#serverDateMs = page.serverDateMs ?? this.#context.clock.now();
  }

  #requestPage(offset: number): Promise<Page> {
    const { client, settings, signal } = this.#context;
    return requestPage(settings, client, this.#stream, this.#plan.from, offset, signal);
  }
}

function toEntry({
  offset,
  firstPosition,
  kept,
  firstHash,
  lastHash,
  total,
  pageHash,
}: AcceptedPage): Omit<StagedPageEntry, 'endByte'> {
  return {
    offset,
    firstPosition,
    rows: kept.length,
    ...(firstHash === undefined ? {} : { firstHash }),
    ...(lastHash === undefined ? {} : { lastHash }),
    ...(total === undefined ? {} : { total }),
    ...(pageHash === undefined ? {} : { pageHash }),
  };
}

function toStagedPage({ offset, firstPosition, rows, firstHash, lastHash, total }: StagedPageEntry) {
  return { offset, firstPosition, rows, firstHash, lastHash, total };
}
