/** How an API pages, by the name of the order: names of parameters, and JSON pointers into its answers. */
export interface PagingDescriptions {
  readonly offset: OffsetPaging;
  readonly cursor: CursorPaging;
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
  readonly limit: string;
  readonly offset: string;
  readonly hasMore: string;
}

/** Each page names the next one: they are requested one after the other. */
export interface CursorPaging extends AnyPaging {
  readonly cursorParam: string;
  /** Where the response names the next page: text or a number; null, empty or missing on the last page. */
  readonly next: string;
  /** Where the response counts the records of the query, if it does. Without it a scan ends `unverified`. */
  readonly total?: string;
}
