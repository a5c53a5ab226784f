import { hashOf, hashPage } from '../json/fingerprint.ts';
import type { Page, PageRecord } from '../model/page.ts';

/**
 * A stretch of a scan still to be read. The record at `start` was read before and is asked for again:
 * its value shows whether the data moved (only a scan's first segment has nothing before it).
 */
export interface Segment {
  readonly start: number;
  /** Last position to read; undefined while nobody knows where the data ends. */
  readonly end: number | undefined;
  /** Nothing was read before it, so its page brings no joint. */
  readonly first: boolean;
  /** Times this segment was asked for without getting further. */
  readonly attempts: number;
}

/** What one page added: the records to keep, and the fingerprints its joints are judged by. */
export interface AcceptedPage {
  readonly offset: number;
  /** Position of the first kept record. */
  readonly firstPosition: number;
  readonly kept: readonly PageRecord[];
  readonly firstHash: string | undefined;
  /** Fingerprint of the last kept record. */
  readonly lastHash: string | undefined;
  readonly total: number | undefined;
  /** Fingerprint of the whole page; only of the scan's first. */
  readonly pageHash: string | undefined;
}

/** A page as the stage remembers it; enough to go on with a scan after a crash. */
export interface StagedPage {
  readonly offset: number;
  readonly firstPosition: number;
  readonly rows: number;
  readonly firstHash: string | undefined;
  readonly lastHash: string | undefined;
  readonly total: number | undefined;
}

// A source that declares records it does not have is not asked for each of them.
const MOST_DEAD_ENDS = 3;
// Without a total only the source says where its data ends: one whose pages hardly ever fit together never may.
const MOST_MISFITS = 20;

/**
 * Which positions of a scan have been read, and whether the pages fit together. Pages may come in any
 * order and of any length: what a short page leaves open becomes a new segment.
 */
export class Coverage {
  readonly #pageSize: number;
  /** May be longer than a page; `takeSegment` cuts. */
  #pending: Segment[] = [FIRST_SEGMENT];
  #asked: Segment[] = [];
  /** Fingerprints of the records at which pages begin and end. */
  readonly #hashAt = new Map<number, string>();
  #total: number | undefined;
  #headHash: string | undefined;
  #headRows = 0;
  #rows = 0;
  #pages = 0;
  #deadEnds = 0;
  #problems: string[] = [];

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
  /** Pages this scan will have read when it ends, as far as the total tells. */
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
  /** Signs that the data moved while it was read; empty for a scan that fits together. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** The next segment to ask for; none while the first page's answer is needed to know more. */
  takeSegment(): Segment | undefined {
    const next = this.#pending.shift();
    if (next === undefined) return undefined;
    const segment = this.#cutPage(next);
    this.#asked.push(segment);
    return segment;
  }

  /** Puts a segment back whose request failed. */
  returnSegment(segment: Segment): void {
    this.#asked = this.#asked.filter((asked) => asked !== segment);
    this.#pending.unshift(segment);
  }

  /** Takes in the page that answered `segment`; returns what of it is new. */
  accept(segment: Segment, page: Page): AcceptedPage {
    this.#asked = this.#asked.filter((asked) => asked !== segment);
    if (segment.first) this.#begin(page);
    this.#checkTotal(page);

    const skip = segment.first ? 0 : 1;
    const end = segment.end ?? Infinity;
    const kept = page.records.slice(skip, Math.max(skip, end - segment.start + 1));
    const accepted: AcceptedPage = {
      offset: segment.start,
      firstPosition: segment.start + skip,
      kept,
      firstHash: hashOf(page.records[0]),
      lastHash: hashOf(kept.at(-1)),
      total: page.total,
      pageHash: segment.first ? this.#headHash : undefined,
    };
    this.#record(accepted, kept.length);
    this.#planRest(segment, page, segment.start + skip + kept.length - 1);
    return accepted;
  }

  /** Takes back what an earlier process staged, once the head page showed that the data is the same. */
  restore(pages: readonly StagedPage[]): void {
    const ordered = pages.toSorted((a, b) => a.firstPosition - b.firstPosition);
    let covered = -1;
    const gaps: Segment[] = [];
    for (const page of ordered) {
      if (page.offset > covered && page.offset > 0) gaps.push(stretch(covered, page.offset));
      this.#record(page, page.rows);
      covered = Math.max(covered, page.firstPosition + page.rows - 1);
    }
    const last = this.#total === undefined ? undefined : this.#total - 1;
    if (last === undefined || covered < last) gaps.push(covered < 0 ? FIRST_SEGMENT : stretch(covered, last));
    this.#pending = gaps;
  }

  /** Begins a scan that goes on from staged pages: the head page was asked for again and is the same. */
  resume(head: Page, pages: readonly StagedPage[]): void {
    this.#total = head.total;
    this.#headHash = hashPage(head);
    this.#headRows = head.records.length;
    this.restore(pages);
  }

  #begin(page: Page): void {
    this.#total = page.total;
    this.#headHash = hashPage(page);
    this.#headRows = page.records.length;
  }

  #record(page: StagedPage | AcceptedPage, rows: number): void {
    this.#pages += 1;
    this.#rows += rows;
    this.#join(page.offset, page.firstHash);
    if (rows > 0) this.#join(page.firstPosition + rows - 1, page.lastHash);
  }

  // Kept after it matched: a page that brought no more is asked for again, and must still fit.
  #join(position: number, hash: string | undefined): void {
    // An empty page has no first record to compare: it shows by not getting further.
    if (hash === undefined) return;
    const known = this.#hashAt.get(position);
    if (known === undefined) this.#hashAt.set(position, hash);
    else if (known !== hash)
      this.#problems.push(`the record at position ${position} differs between two pages`);
  }

  #checkTotal(page: Page): void {
    if (page.total !== this.#total) {
      this.#problems.push(
        `the declared total changed from ${this.#total ?? 'none'} to ${page.total ?? 'none'}`,
      );
    } else if (this.#total !== undefined && page.offset + page.records.length > this.#total) {
      this.#problems.push(
        `${page.offset + page.records.length} records were received of ${this.#total} declared`,
      );
    }
  }

  #planRest(segment: Segment, page: Page, covered: number): void {
    const end = segment.end ?? (this.#total === undefined ? undefined : this.#total - 1);
    if (end === undefined) {
      // The record at `start` was there before: an empty page is no end of the data.
      const hasShrunk = !segment.first && page.records.length === 0;
      if ((page.hasMore === true || hasShrunk) && !this.#isEndless())
        this.#continueFrom(segment, covered, undefined);
      return;
    }
    if (covered >= end) return;
    if (segment.first && covered >= 0) this.#pending.push(stretch(covered, end));
    else this.#continueFrom(segment, covered, end);
  }

  #isEndless(): boolean {
    return this.#problems.length > MOST_MISFITS && this.#problems.length * 2 > this.#pages;
  }

  // A page that brought nothing new is asked for once more, then held against the source.
  #continueFrom(segment: Segment, covered: number, end: number | undefined): void {
    const stuck = segment.first ? covered < 0 : covered <= segment.start;
    const attempts = stuck ? segment.attempts + 1 : 0;
    if (attempts > 1) {
      this.#problems.push(
        `no record came beyond position ${covered}, though ${end === undefined ? 'the data went on there' : `${end + 1} are declared`}`,
      );
      this.#deadEnds += 1;
      if (this.#deadEnds >= MOST_DEAD_ENDS) this.#pending = [];
      return;
    }
    this.#pending.unshift({ start: Math.max(covered, 0), end, first: covered < 0, attempts });
  }

  // Cut when it is asked for, not before: a total may be any number.
  #cutPage(segment: Segment): Segment {
    const { start, end } = segment;
    const pageEnd = start + this.#step;
    if (segment.first || end === undefined || end <= pageEnd) return segment;
    this.#pending.unshift(stretch(pageEnd, end));
    return { ...segment, end: pageEnd };
  }

  #countPages({ start, end, first }: Segment): number {
    return first || end === undefined ? 1 : Math.ceil((end - start) / this.#step);
  }

  // The server may have a page size of its own: plan with what the first page brought, not with what was asked.
  get #step(): number {
    return Math.max(1, (this.#headRows > 1 ? this.#headRows : this.#pageSize) - 1);
  }
}

const FIRST_SEGMENT: Segment = { start: 0, end: undefined, first: true, attempts: 0 };

/** What is still to be read after the position `start`. */
function stretch(start: number, end: number | undefined): Segment {
  return { start, end, first: false, attempts: 0 };
}
