import { hashPageText } from '../../json/fingerprint.ts';
import { ResponseError } from '../../model/errors.ts';
import { formatCountOf, verbOf } from '../../model/format-count.ts';
import type { Page } from '../../model/page.ts';
import { nameOf, type Stream } from '../../model/stream.ts';
import type { Coverage } from './coverage.ts';
import { adviseExclude, listDifferingFields } from './differing-fields.ts';
import type { Misfit } from './joints.ts';
import type { Segment } from './segments.ts';

// Few answers of a sound service are off; one whose pages keep disagreeing is moving.
const MOST_REPAIRS = 3;

/** A page to take in, and other answers for the same places that did not agree with what is known. */
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
 * Finds out why a page does not fit to one that was taken in before, by asking for both again. Data that
 * moved shows in the page before; then nothing is mended, because a scan of two states of the data must not
 * be verified. One wrong answer (a stale replica) is replaced. Pages that stay as they were, and still do
 * not fit, are a contradiction: no restart could mend it.
 */
export class JointRepair {
  readonly #context: RepairContext;
  #left = MOST_REPAIRS;
  #pagesAgain = 0;
  /** In which fields records at one place differed, each time; undefined before the first time. */
  #differing: readonly string[] | undefined;

  constructor(context: RepairContext) {
    this.#context = context;
  }

  get notes(): readonly string[] {
    const again = this.#pagesAgain;
    if (again === 0) return [];
    const pages = `${formatCountOf(again, 'page')} ${verbOf(again, 'was', 'were')} read again`;
    return [`${pages}, because what came did not fit together the first time`];
  }

  /** Fields in which alone records at one place differed, whenever pages did not fit. */
  get differing(): readonly string[] {
    return this.#differing ?? [];
  }

  /**
   * The page to take in for a segment: the one that came, or one that fits where that does not. Undefined where the run
   * was told to stop before that was known: the segment stays open, and pages on their way are still taken.
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
    // Another total says by itself that the data moved.
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
    // It may be as it was by now.
    if (fields === undefined) return;
    this.#differing = this.#differing?.filter((name) => fields.includes(name)) ?? fields;
  }

  async #ask(offset: number): Promise<Page> {
    this.#pagesAgain += 1;
    return this.#context.request(offset);
  }

  // With a total the scan ends there, and rows that are all alike may well make pages that are.
  #refuseEndless(page: Page): void {
    const { isGoingRound, pages } = this.#context.coverage;
    if (isGoingRound)
      throw this.#refuse(
        page.offset,
        `of ${pages} pages many do not fit to their neighbours, and bring records that came at other places before`,
      );
    if (page.total !== undefined || page.records.length < 2) return;
    const twin = this.#context.coverage.findTwin(page);
    if (twin !== undefined) throw this.#describeTwin(page.offset, twin);
  }

  #describeTwin(offset: number, twin: number): ResponseError {
    const what =
      twin === 0
        ? 'is the first page again; the API ignores the offset, rounds it down to whole pages, or begins anew'
        : `is the page at offset ${twin} again; the API repeats its pages`;
    return this.#refuse(offset, `the page at offset ${offset} ${what}`);
  }

  #describeContradiction(offset: number, { position, neighbour }: Misfit): ResponseError {
    const where = this.differing.length === 0 ? '' : ` (${this.differing.join(', ')})`;
    return this.#refuse(
      offset,
      `the pages at offsets ${neighbour.offset} and ${offset} do not fit together, though each came twice the same: they differ at position ${position}${where}`,
    );
  }

  #refuse(offset: number, problem: string): ResponseError {
    const { stream } = this.#context;
    const advice =
      adviseExclude(stream, this.differing) ??
      `If the endpoint does not page, set "paginated: false" for streams.${stream.name}; else tell the provider of the API.`;
    return new ResponseError(`${nameOf(stream)}: ${problem}`, {
      code: 'response_invalid',
      hint: `The table is as it was. ${advice}`,
      context: { stream: stream.name, offset },
    });
  }
}
