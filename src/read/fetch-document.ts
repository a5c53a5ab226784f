import type { RecordBatch } from '../json/page-records.ts';
import { assertNotAborted } from '../model/abort.ts';
import { BugError } from '../model/errors.ts';
import type { Page, PageRecord } from '../model/page.ts';
import type { Stream } from '../model/stream.ts';
import { createFieldTree, type FieldTree, isRecordObject, observeRecord } from '../schema/observe-fields.ts';
import { BodyCipher } from '../stage/body-cipher.ts';
import { BodyFile } from '../stage/body-file.ts';
import { discardStage, StageStore } from '../stage/stage-store.ts';
import { formatStagedLines } from '../stage/staged-records.ts';
import { decideVerdict } from './decide-verdict.ts';
import { compileMask, describeMasks, isMasked, type RecordMask } from '../schema/mask-records.ts';
import { readRecords } from './read-document.ts';
import { requestDocument, type RequestedDocument } from './request-document.ts';
import type { Reading } from '../run/run-context.ts';
import type { FetchedScan } from '../run/scan.ts';
import type { ScanPlan } from '../plan/scan-plan.ts';
import type { Instead, JudgeFirstPage, Step } from '../run/step.ts';
import type { Turn } from '../run/turn.ts';

/**
 * Reads an unpaginated stream: its whole dataset is one response of any size. The response is saved to disk first;
 * its records are staged once it is complete and valid, so that a truncated response cannot pass for data. A stopped
 * run starts over.
 */
export async function fetchDocument(
  context: Reading,
  { stream, plan, stage: folder, question }: Turn,
  judgeFirstPage: JudgeFirstPage,
): Promise<Step<FetchedScan>> {
  const { settings, runId } = context;
  const startedAtMs = context.clock.now();
  const scan = {
    version: 1,
    stream: stream.name,
    question,
    startedAtMs,
    runId,
    masks: describeMasks(stream, settings.hashKey),
  } as const;
  const stage = await StageStore.begin(folder, scan, { isDurable: false });
  let fetched: FetchedScan | undefined;
  try {
    // Fields that will be masked must not be readable on disk.
    const file = await BodyFile.create(folder, isMasked(stream) ? new BodyCipher() : undefined);
    try {
      const document = await requestDocument(context, stream, plan.from, file);
      const intake = new DocumentIntake(context, stream, document, stage);
      const instead = await intake.takeAll(file, judgeFirstPage);
      if (instead !== undefined) return { instead };
      fetched = intake.finish(plan, startedAtMs);
      return { done: fetched };
    } finally {
      await file.close();
    }
  } finally {
    await stage.close();
    // A partial response cannot be resumed.
    if (fetched === undefined) await discardStage(folder);
  }
}

/** Takes in the records of one answer. */
class DocumentIntake {
  readonly #context: Reading;
  readonly #stream: Stream;
  readonly #document: RequestedDocument;
  readonly #stage: StageStore;
  readonly #mask: RecordMask | undefined;
  readonly #tree: FieldTree = createFieldTree();
  #rows = 0;
  #duplicateMembers = 0;

  constructor(context: Reading, stream: Stream, document: RequestedDocument, stage: StageStore) {
    this.#context = context;
    this.#stream = stream;
    this.#document = document;
    this.#stage = stage;
    this.#mask = compileMask(stream, context.settings.hashKey);
  }

  async takeAll(file: BodyFile, judgeFirstPage: JudgeFirstPage): Promise<Instead | undefined> {
    const { answer, place } = this.#document;
    const { signal } = this.#context;
    const refuted = place.count === 0 ? judgeFirstPage(this.#toPage([], 0)) : undefined;
    if (refuted !== undefined) return refuted;
    for await (const batch of readRecords(answer, place, (start, end) => file.read(start, end))) {
      assertNotAborted(signal);
      const taken =
        this.#mask === undefined ? batch : { ...batch, records: batch.records.map(this.#mask.mask) };
      // The response is the scan's first page and arrives in parts.
      const instead = judgeFirstPage(this.#toPage(taken.records, batch.duplicateMembers));
      if (instead !== undefined) return instead;
      await this.#take(taken);
      if (this.#rows >= this.#mostRows()) break;
    }
    return undefined;
  }

  finish(plan: ScanPlan, startedAtMs: number): FetchedScan {
    const total = this.#document.place.count;
    const rows = this.#rows;
    const limited = rows >= this.#mostRows() && total > rows;
    const decided = decideVerdict({
      complete: true,
      problems: [],
      total,
      rows: limited ? total : rows,
      headUnchanged: undefined,
      limited,
      doubt: this.#document.place.rest,
    });
    return {
      ...decided,
      reasons: [...decided.reasons, ...this.#describeGuess()],
      plan,
      recordsFile: this.#stage.recordsFile,
      tree: this.#tree,
      total,
      rows,
      pages: 1,
      rescans: 0,
      duplicateMembers: this.#duplicateMembers,
      startedAtMs,
      serverDateMs: this.#document.answer.serverDateMs ?? this.#context.clock.now(),
      head: undefined,
      masked: this.#mask?.matched,
      reread: refuseToReread,
    };
  }

  // No field tells a record from an answer that says no more than that something failed.
  #describeGuess(): readonly string[] {
    const { recordsPointer, name } = this.#stream;
    if (this.#document.place.kind === 'array' || recordsPointer !== undefined) return [];
    return [
      `the answer has no list of records, so the whole object is its only row; if that is right, set streams.${name}.records to ""`,
    ];
  }

  /** Every record of the response passes here: already masked, then observed and staged. */
  async #take({ records, duplicateMembers }: RecordBatch): Promise<void> {
    const kept = records.slice(0, this.#mostRows() - this.#rows);
    for (const { value } of kept) if (isRecordObject(value)) observeRecord(this.#tree, value);
    const firstPosition = this.#rows;
    this.#rows += kept.length;
    this.#duplicateMembers += duplicateMembers;
    // One batch at a time, to limit memory.
    await this.#stage.append({
      // There is only one response, at offset 0.
      entry: { offset: 0, firstPosition, rows: kept.length },
      lines: formatStagedLines(firstPosition, kept),
    });
    this.#tellProgress();
  }

  #tellProgress(): void {
    const { name: stream } = this.#stream;
    const { count: rowsDeclared } = this.#document.place;
    const rowsDone = this.#rows;
    this.#context.emit({
      type: 'page-staged',
      stream,
      pagesDone: 1,
      pagesPlanned: 1,
      rowsDone,
      rowsDeclared,
    });
  }

  #mostRows(): number {
    return this.#context.options.limit ?? Infinity;
  }

  #toPage(records: readonly PageRecord[], duplicateMembers: number): Page {
    const { answer, place } = this.#document;
    const { serverDateMs } = answer;
    const page = { offset: 0, records, total: place.count, hasMore: false, duplicateMembers, serverDateMs };
    return this.#mask === undefined ? page : { ...page, masked: this.#mask.matched };
  }
}

function refuseToReread(): Promise<Page> {
  const hint = 'Nothing was changed. Please report this.';
  return Promise.reject(
    new BugError('a page was requested of an unpaginated response', { code: 'bug', hint }),
  );
}
