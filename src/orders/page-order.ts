import type { ResponseHeaders } from '../model/http.ts';
import type { Page } from '../model/page.ts';

/** Which page of a scan is asked for. */
export interface PageAsked {
  /** Position of its first record, counted from 0. */
  readonly offset: number;
  /** How an order names the page, where the offset does not; undefined for the first one. */
  readonly next?: string | undefined;
}

/** An answer whose envelope is read. */
export interface PageAnswer {
  readonly url: URL;
  readonly headers: ResponseHeaders;
  /** The body; in place of its records there may be another array. */
  readonly value: unknown;
  /** Position of its first record. */
  readonly offset: number;
  /** Its records. */
  readonly count: number;
}

/** What an answer says next to its records. */
export type Envelope = Pick<Page, 'total' | 'hasMore' | 'next'>;

/** A member of an unpaginated answer, as far as it was read. */
export interface FoundMember {
  readonly kind: string;
  /** Its JSON text. */
  readonly text?: string | undefined;
}

/**
 * How a scan gets from page to page:
 *
 * - `overlapping`: any offset can be asked for, several at a time. Neighbours share a row, which shows shifts.
 * - `chained`: one after the other, each named by the one before it.
 */
export type Walk = 'overlapping' | 'chained';

/** An order of pages: how an API is asked for a page, and what its answer says about the others. Pure. */
export interface PageOrder {
  readonly walk: Walk;
  /**
   * Why a scan of several pages cannot be `verified`, whatever its total says; undefined where pages overlap, or start
   * after a record that the API names.
   */
  readonly doubt?: string | undefined;
  /** Query parameters that differ from page to page: config may not set them. */
  readonly ownParams: readonly string[];
  /** JSON pointer to the member that says whether another page follows, if there is one. */
  readonly morePointer: string | undefined;

  /** Query parameters of a page of at most `limit` records. */
  query(page: PageAsked, limit: number): Readonly<Record<string, string>>;
  /** Throws EnvelopeError where the answer is not as described. */
  read(answer: PageAnswer): Envelope;
  /** The page to ask for after another one; undefined after the last one. */
  follow(page: Page): PageAsked | undefined;
  /** The page that holds a position, where pages hold `size` records; undefined if pages cannot be picked. */
  pick(position: number, size: number): PageAsked | undefined;
  /** Whether an answer that should be the whole data announces another page; `found` is at `morePointer`. */
  announces(answer: Pick<PageAnswer, 'headers'>, found: FoundMember | undefined): boolean;
}
