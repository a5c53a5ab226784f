import { hashOf, hashPage, hashPageText } from '../json/fingerprint.ts';
import { formatCount, formatCountOf, verbOf } from '../text/format-count.ts';
import type { Page } from '../model/page.ts';
import { Findings } from './findings.ts';
import { Joints, type Misfit } from './joints.ts';
import type { AcceptedPage, StagedHead, StagedPage } from '../stage/scanned-page.ts';
import { FIRST_SEGMENT, keepNew, type Segment, stretch } from './segments.ts';

// Limits retries for a source that declares more records than it has.
const MOST_DEAD_ENDS = 2;
// Without a total only the source knows where its data ends: if its pages never match, that may be never.
const MOST_MISFITS = 20;
// Moving data brings different records; if mismatches repeat the same few records, the scan would never end.
const MOST_REPEATS = 20;
const MOST_REPEATS_SHARE = 1 / 4;
// A total that grows with every response must not keep a scan running for ever.
const MOST_EXTENSIONS = 3;

/**
 * Tracks which positions of a scan have been read, and whether neighbouring pages match. Pages may arrive in any
 * order and length: the rest of a short page becomes a new segment.
 */
export class Coverage {
  readonly #pageSize: number;
  /** May be longer than a page; `takeSegment` cuts. */
  #pending: Segment[] = [FIRST_SEGMENT];
  #asked: Segment[] = [];
  readonly #joints = new Joints();
  #total: number | undefined;
  /** The last position ever announced. */
  #reach: number | undefined;
  #headHash: string | undefined;
  #headRows = 0;
  #rows = 0;
  #pages = 0;
  #deadEnds = 0;
  #extensions = 0;
  #repeats = 0;
  #hasAskedBeyond = false;
  readonly #findings = new Findings();

  constructor(pageSize: number) {
    this.#pageSize = pageSize;
  }

  get total(): number | undefined {
    return this.#total;
  }
  get rows(): number {
    return this.#rows;
  }
  get pages(): number {
    return this.#pages;
  }
  /** Fingerprint of the whole first page, for the look at the head when the scan ends. */
  get headHash(): string | undefined {
    return this.#headHash;
  }
  /** Pages this scan will have read when it ends, judging by the total. */
  get pagesPlanned(): number | undefined {
    if (this.#total === undefined) return undefined;
    return this.#pending.reduce(
      (sum, segment) => sum + this.#countPages(segment),
      this.#pages + this.#asked.length,
    );
  }
  get complete(): boolean {
    return this.#pending.length === 0 && this.#asked.length === 0 && this.#pages > 0;
  }
  /** Whether mismatched pages repeat the same few records, whatever the total says. */
  get isGoingRound(): boolean {
    return this.#repeats > MOST_REPEATS && this.#repeats > this.#pages * MOST_REPEATS_SHARE;
  }
  /** Signs that the data moved or that the source contradicts itself; empty for a consistent scan. */
  get problems(): readonly string[] {
    return this.#findings.problems;
  }
  /** Whether a problem shows that the data moved while it was read. */
  get moved(): boolean {
    return this.#findings.moved;
  }
  /** Harmless oddities. */
  get notes(): readonly string[] {
    return this.#findings.notes;
  }

  /** The next segment to request; undefined while the first page is still needed. */
  takeSegment(): Segment | undefined {
    const next = this.#pending.shift();
    if (next === undefined) return undefined;
    const segment = this.#cutPage(next);
    this.#asked.push(segment);
    return segment;
  }

  /** Returns a segment whose request failed. */
  returnSegment(segment: Segment): void {
    this.#asked = this.#asked.filter((asked) => asked !== segment);
    this.#pending.unshift(segment);
  }

  /** Where a page for `segment` would not match its neighbours. */
  findMisfit(segment: Segment, page: Page): Misfit | undefined {
    const { firstPosition, kept } = keepNew(segment, page);
    return (
      this.#joints.check(segment.start, hashOf(page.records[0])) ??
      (kept.length === 0
        ? undefined
        : this.#joints.check(firstPosition + kept.length - 1, hashOf(kept.at(-1))))
    );
  }

  /** Offset at which this scan already accepted an equal page. */
  findTwin(page: Page): number | undefined {
    return this.#joints.findTwin({ offset: page.offset, textHash: hashPageText(page) });
  }

  /** Records that the data moved, as shown by something other than a page. */
  noteMove(problem: string): void {
    this.#findings.addMove(problem);
  }

  /** Accepts the page for `segment`; returns its new records. */
  accept(segment: Segment, page: Page): AcceptedPage {
    this.#asked = this.#asked.filter((asked) => asked !== segment);
    if (segment.first) this.#begin(page);
    this.#checkTotal(page);

    const { firstPosition, kept } = keepNew(segment, page);
    const accepted: AcceptedPage = {
      offset: segment.start,
      firstPosition,
      kept,
      firstHash: hashOf(page.records[0]),
      lastHash: hashOf(kept.at(-1)),
      total: page.total,
      pageHash: segment.first ? this.#headHash : undefined,
      textHash: hashPageText(page),
    };
    this.#record(accepted, kept.length);
    this.#planRest(segment, page, firstPosition + kept.length - 1);
    return accepted;
  }

  /** Restores what an earlier process staged, after the head page showed that the data is unchanged. */
  restore(pages: readonly StagedPage[]): void {
    const ordered = pages.toSorted((a, b) => a.firstPosition - b.firstPosition);
    let covered = -1;
    const gaps: Segment[] = [];
    for (const page of ordered) {
      if (page.offset > covered && page.offset > 0) gaps.push(stretch(covered, page.offset));
      this.#record(page, page.rows);
      covered = Math.max(covered, page.firstPosition + page.rows - 1);
    }
    const last = this.#reach;
    if (last === undefined || covered < last) gaps.push(covered < 0 ? FIRST_SEGMENT : stretch(covered, last));
    this.#pending = gaps;
  }

  /** Resumes a scan from staged pages: the head page was read again and is unchanged. */
  resume(head: Page, pages: readonly StagedPage[]): void {
    this.#begin(head);
    this.restore(pages);
  }

  /** The same without rereading the head page: it is compared when the scan ends. */
  resumeUnseen(head: StagedHead, pages: readonly StagedPage[]): void {
    this.#expect(head.total, head.pageHash, head.rows);
    this.restore(pages);
  }

  #begin(page: Page): void {
    this.#expect(page.total, hashPage(page), page.records.length);
  }

  #expect(total: number | undefined, headHash: string | undefined, headRows: number): void {
    this.#total = total;
    this.#reach = total === undefined ? undefined : total - 1;
    this.#headHash = headHash;
    this.#headRows = headRows;
  }

  #record(page: StagedPage | AcceptedPage, rows: number): void {
    this.#pages += 1;
    this.#rows += rows;
    this.#joints.addPage(page);
    this.#join(page.offset, page.firstHash, page);
    if (rows > 0) this.#join(page.firstPosition + rows - 1, page.lastHash, page);
  }

  #join(position: number, hash: string | undefined, page: StagedPage | AcceptedPage): void {
    const { offset, textHash } = page;
    const isRepeat = hash !== undefined && this.#joints.isElsewhere(position, hash);
    if (this.#joints.add(position, hash, { offset, textHash })) return;
    if (isRepeat) this.#repeats += 1;
    this.#findings.addMove(`the record at position ${position} differs between two pages`);
  }

  #checkTotal(page: Page): void {
    const received = page.offset + page.records.length;
    if (page.total !== this.#total) {
      this.#findings.addMove(
        `the declared total changed from ${this.#total ?? 'none'} to ${page.total ?? 'none'}`,
      );
      this.#followTotal(page.total);
    } else if (this.#total !== undefined && received > this.#total) {
      this.#findings.addContradiction(
        `${formatCountOf(received, 'record')} ${verbOf(received, 'was', 'were')} received of ${formatCount(this.#total)} declared`,
      );
    }
    if (page.hasMore === false && page.records.length > 0 && received < (this.#total ?? 0))
      this.#findings.addNote('a page before the declared end said that no more follow');
  }

  // A scan that is not restarted also reads records added at the end.
  #followTotal(total: number | undefined): void {
    const reach = this.#reach;
    if (total === undefined || reach === undefined) return;
    this.#total = total;
    if (total - 1 <= reach) return;
    const last = this.#pending.findIndex(({ end }) => end === reach);
    const grown = { ...(this.#pending[last] ?? stretch(Math.max(0, reach), reach)), end: total - 1 };
    if (last >= 0) this.#pending[last] = grown;
    else if (this.#extensions < MOST_EXTENSIONS) this.#pending.push(grown);
    else return;
    if (last < 0) this.#extensions += 1;
    this.#reach = total - 1;
  }

  #planRest(segment: Segment, page: Page, covered: number): void {
    const end = segment.end ?? this.#reach;
    if (end === undefined) {
      // The record at `start` existed before, so an empty page is not the end of the data.
      const hasShrunk = !segment.first && page.records.length === 0;
      if ((page.hasMore === true || hasShrunk) && !this.#isEndless())
        this.#continueFrom(segment, page, covered, undefined);
      return;
    }
    if (covered >= end) {
      const isEnd = end === this.#reach && page.offset + page.records.length <= end + 1;
      if (page.hasMore === true && isEnd) this.#askBeyond(end);
      return;
    }
    if (segment.first && covered >= 0) this.#pending.push(stretch(covered, end));
    else this.#continueFrom(segment, page, covered, end);
  }

  // The total says that this is the end, the page says that it is not: one more page shows which is wrong.
  #askBeyond(end: number): void {
    if (this.#hasAskedBeyond || end < 0) {
      this.#findings.addNote('a page said that more follow, and none did');
      return;
    }
    this.#hasAskedBeyond = true;
    this.#pending.push(stretch(end, end));
  }

  #isEndless(): boolean {
    const { problemCount } = this.#findings;
    return problemCount > MOST_MISFITS && problemCount * 2 > this.#pages;
  }

  // A page without new records is requested once more, then counts as a contradiction.
  #continueFrom(segment: Segment, page: Page, covered: number, end: number | undefined): void {
    const stuck = segment.first ? covered < 0 : covered <= segment.start;
    const attempts = stuck ? segment.attempts + 1 : 0;
    const isBeyondDeadEnd = this.#deadEnds > 0 && page.records.length === 0;
    if (attempts > (isBeyondDeadEnd ? 0 : 1)) {
      const declared =
        this.#reach === undefined ? 'the data continued there' : `${this.#reach + 1} are declared`;
      this.#findings.addContradiction(
        `no record was returned after position ${covered}, although ${declared}`,
      );
      this.#deadEnds += 1;
      const isEnd = page.hasMore === false && page.records.length > 0;
      if (isEnd || this.#deadEnds >= MOST_DEAD_ENDS) this.#pending = [];
      return;
    }
    this.#pending.unshift({ start: Math.max(covered, 0), end, first: covered < 0, attempts });
  }

  // Cut when it is requested, not earlier: the total may be any number.
  #cutPage(segment: Segment): Segment {
    const { start, end } = segment;
    const pageEnd = start + this.#step;
    if (segment.first || end === undefined || end <= pageEnd) return segment;
    this.#pending.unshift(stretch(pageEnd, end));
    return { ...segment, end: pageEnd };
  }

  #countPages({ start, end, first }: Segment): number {
    return first || end === undefined ? 1 : Math.max(1, Math.ceil((end - start) / this.#step));
  }

  // The server may have its own page size: plan with the size of the first page, not with the requested one.
  get #step(): number {
    return Math.max(1, (this.#headRows > 1 ? this.#headRows : this.#pageSize) - 1);
  }
}
