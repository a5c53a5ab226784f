import { hashPageText } from '../json/fingerprint.ts';
import { ResponseError } from '../model/errors.ts';
import { formatCountOf, verbOf } from '../text/format-count.ts';
import type { Page } from '../model/page.ts';
import { nameOf, type Stream } from '../model/stream.ts';
import type { Coverage } from './coverage.ts';
import { adviseExclude, listDifferingFields } from './differing-fields.ts';
import type { Misfit } from './joints.ts';
import type { Segment } from './segments.ts';

// A sound service rarely gives wrong responses; if pages keep disagreeing, the data is moving.
const MOST_REPAIRS = 3;

/** A page to accept, and other responses for the same positions that did not match. */
export interface FittedPage {
  readonly page: Page;
  readonly others: readonly Page[];
}

/** What repairs need to know of their scan. */
export interface RepairContext {
  readonly stream: Stream;
  readonly coverage: Coverage;
  readonly request: (offset: number) => Promise<Page>;
  readonly signal: AbortSignal | undefined;
}

/**
 * Finds out why a page does not match one accepted earlier, by requesting both again. If the earlier page changed,
 * the data moved; then nothing is repaired, because a scan of two states of the data must not be verified. A single
 * wrong response (a stale replica) is replaced. Pages that are unchanged and still do not match are a contradiction,
 * which no restart could fix.
 */
export class JointRepair {
  readonly #context: RepairContext;
  #left = MOST_REPAIRS;
  #pagesAgain = 0;
  /** The fields in which records at one position differed each time; undefined before the first time. */
  #differing: readonly string[] | undefined;

  constructor(context: RepairContext) {
    this.#context = context;
  }

  get notes(): readonly string[] {
    const again = this.#pagesAgain;
    if (again === 0) return [];
    const pages = `${formatCountOf(again, 'page')} ${verbOf(again, 'was', 'were')} read again`;
    return [`${pages}, because they did not match at first`];
  }

  /** The only fields in which records differed whenever pages did not match. */
  get differing(): readonly string[] {
    return this.#differing ?? [];
  }

  /**
   * The page to accept for a segment: the given one, or a matching replacement. Undefined if the run was stopped
   * before that was known: the segment stays open, and pages in flight are still accepted.
   */
  async fit(segment: Segment, page: Page): Promise<FittedPage | undefined> {
    try {
      return await this.#fit(segment, page);
    } catch (thrown) {
      if (this.#context.signal?.aborted !== true) throw thrown;
      this.#context.coverage.returnSegment(segment);
      return undefined;
    }
  }

  async #fit(segment: Segment, page: Page): Promise<FittedPage> {
    const { coverage } = this.#context;
    this.#refuseEndless(page);
    const misfit = coverage.findMisfit(segment, page);
    // A different total shows that the data moved.
    if (misfit === undefined || page.total !== coverage.total) return { page, others: [] };
    if (this.#left === 0) return { page, others: [page] };
    this.#left -= 1;
    return this.#askBoth(segment, page, misfit);
  }

  async #askBoth(segment: Segment, page: Page, misfit: Misfit): Promise<FittedPage> {
    const { coverage } = this.#context;
    const { offset, textHash } = misfit.neighbour;
    const neighbour = await this.#ask(offset);
    this.#compare(neighbour, page, misfit.position);
    if (hashPageText(neighbour) !== textHash) return { page, others: [neighbour, page] };
    const twin = coverage.findTwin(page);
    if (twin !== undefined && page.records.length > 1) throw this.#describeTwin(page.offset, twin);
    const again = await this.#ask(segment.start);
    if (coverage.findMisfit(segment, again) === undefined) return { page: again, others: [] };
    if (hashPageText(again) === hashPageText(page)) throw this.#describeContradiction(page.offset, misfit);
    return { page: again, others: [page, again] };
  }

  #compare(one: Page, other: Page, position: number): void {
    const recordIn = ({ offset, records }: Page) => records[position - offset]?.value;
    const fields = listDifferingFields(recordIn(one), recordIn(other));
    // It may match by now.
    if (fields === undefined) return;
    this.#differing = this.#differing?.filter((name) => fields.includes(name)) ?? fields;
  }

  async #ask(offset: number): Promise<Page> {
    this.#pagesAgain += 1;
    return this.#context.request(offset);
  }

  // With a total the scan ends there, and equal rows may well give equal pages.
  #refuseEndless(page: Page): void {
    const { isGoingRound, pages } = this.#context.coverage;
    if (isGoingRound)
      throw this.#refuse(
        page.offset,
        `many of ${pages} pages do not match their neighbours and repeat records already read`,
      );
    if (page.total !== undefined || page.records.length < 2) return;
    const twin = this.#context.coverage.findTwin(page);
    if (twin !== undefined) throw this.#describeTwin(page.offset, twin);
  }

  #describeTwin(offset: number, twin: number): ResponseError {
    const what =
      twin === 0
        ? 'repeats the first page; the API ignores the offset, rounds it down to whole pages, or starts over'
        : `is the page at offset ${twin} returned again; the API repeats its pages`;
    return this.#refuse(offset, `the page at offset ${offset} ${what}`);
  }

  #describeContradiction(offset: number, { position, neighbour }: Misfit): ResponseError {
    const where = this.differing.length === 0 ? '' : ` (${this.differing.join(', ')})`;
    return this.#refuse(
      offset,
      `the pages at offsets ${neighbour.offset} and ${offset} contradict each other; re-reading returned the same pages: they differ at position ${position}${where}`,
    );
  }

  #refuse(offset: number, problem: string): ResponseError {
    const { stream } = this.#context;
    const advice =
      adviseExclude(stream, this.differing) ??
      `If the endpoint does not page, set "paginated: false" for streams.${stream.name}; else contact the provider of the API.`;
    return new ResponseError(`${nameOf(stream)}: ${problem}`, {
      code: 'response_invalid',
      hint: `The table is unchanged. ${advice}`,
      context: { stream: stream.name, offset },
    });
  }
}
