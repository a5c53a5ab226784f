/** How an API pages, by the name of the order: names of parameters, and JSON pointers into its answers. */
export interface PagingDescriptions {
  readonly offset: OffsetPaging;
  readonly cursor: CursorPaging;
  readonly 'page-number': PageNumberPaging;
  readonly link: LinkPaging;
}

export type PagingKind = keyof PagingDescriptions;

/** The description of one order of pages. */
export type PagingDescription<K extends PagingKind = PagingKind> = {
  [P in K]: { readonly kind: P } & PagingDescriptions[P];
}[K];

/** What every order needs. */
interface AnyPaging {
  /** Parameter for the records of a page. */
  readonly limitParam: string;
  /** Where the records are; `''` where the answer itself is their array. */
  readonly records: string;
}

/** Pages start at an offset: several are requested at a time, and neighbours overlap by one row. */
export interface OffsetPaging extends AnyPaging {
  readonly offsetParam: string;
  readonly total: string;
  readonly offset: string;
  readonly hasMore: string;
}

/** Each page names the next one: they are requested one after the other. */
export interface CursorPaging extends AnyPaging {
  readonly cursorParam: string;
  /**
   * The cursor names a record, and the next page starts after that record, whatever came or left before it. Without
   * this, a cursor may stand for an offset, so that a scan of several pages is `unverified`.
   */
  readonly namesRecord?: true;
  /** Where the response names the next page: text or a number; null, empty or missing on the last page. */
  readonly next: string;
  /** Where the response counts the records of the query, if it does. Without it a scan ends `unverified`. */
  readonly total?: string;
}

/**
 * Pages have numbers: they are requested one after the other and do not overlap, so that a scan of several is
 * `unverified`. Each pointer is optional; without any, pages are read until one is empty.
 */
export interface PageNumberPaging extends AnyPaging {
  readonly pageParam: string;
  /** Number of the first page; 1 if missing. */
  readonly firstPage?: 0 | 1;
  /** Where the response counts the records of the query. */
  readonly total?: string;
  /** Where the response counts the pages of the query. */
  readonly pages?: string;
  /** Where the response repeats the number of its page. */
  readonly page?: string;
  /** Where the response says whether another page follows. */
  readonly hasMore?: string;
}

/**
 * Each page names the next one in the header `Link` (RFC 8288): they are requested one after the other and do not
 * overlap, so that a scan of several is `unverified`.
 */
export interface LinkPaging extends AnyPaging {
  /** Parameters that name a page in a link. No others are taken from it. */
  readonly pageParams: readonly string[];
  /** Where the response counts the records of the query, if it does: in its body, or in a header. */
  readonly total?: string;
  readonly totalHeader?: string;
}
