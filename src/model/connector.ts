/** A connector describes one API as plain values; the engine sends the requests. */
export interface Connector {
  readonly name: string;
  /** The API's name for people. */
  readonly title: string;
  readonly streams: readonly StreamDescription[];
  readonly auth: {
    /** Header that carries the API key. */
    readonly keyHeader: string;
    /** Why a key can be rejected, as listed in the API's documentation. */
    readonly rejectionCauses: readonly string[];
    /** Where a user creates a new key. */
    readonly whereKeysAreMade: string;
  };
  /**
   * Query parameters in the API's documentation; a rejection that names one shows the user which line to
   * write.
   */
  readonly filterParams: readonly string[];
  readonly limits: ApiLimits;
  readonly paging: PagingDescription;
  readonly rateLimitHeaders: RateLimitHeaderNames;
  /** Last segment of a base URL, e.g. `v1`; anything else earns a warning that suggests it. */
  readonly versionSegment: string;
}

/** Documented limits, used until the responses tell better. */
export interface ApiLimits {
  readonly requestsPerHour: number;
  readonly burstPerSecond: number;
  readonly maxPageSize: number;
}

/** How an API pages: names of the parameters, and JSON pointers into the envelope. */
export type PagingDescription = OffsetPaging | CursorPaging;

/** Pages start at an offset: several are requested at a time, and neighbours overlap by one row. */
export interface OffsetPaging {
  readonly kind: 'offset';
  readonly limitParam: string;
  readonly offsetParam: string;
  readonly records: string;
  readonly total: string;
  readonly limit: string;
  readonly offset: string;
  readonly hasMore: string;
}

/** Each page names the next one: they are requested one after the other. */
export interface CursorPaging {
  readonly kind: 'cursor';
  readonly limitParam: string;
  readonly cursorParam: string;
  readonly records: string;
  /** Where the response names the next page: text or a number; null, empty or missing on the last page. */
  readonly next: string;
  /** Where the response counts the records of the query, if it does. Without it a scan ends `unverified`. */
  readonly total?: string;
}

/** The parameters that differ from page to page in a URL. */
export function listPagingParams(paging: PagingDescription): readonly string[] {
  return [paging.limitParam, paging.kind === 'offset' ? paging.offsetParam : paging.cursorParam];
}

/** The member of an envelope that says that more pages follow. */
export function moreFollowsPointer(paging: PagingDescription): string {
  return paging.kind === 'offset' ? paging.hasMore : paging.next;
}

export interface RateLimitHeaderNames {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

/** A built-in stream of the connector; config may override each part. */
export interface StreamDescription {
  readonly name: string;
  readonly path: string;
  readonly paginated: boolean;
  /** Query parameter for rows since a date, if the API has one. */
  readonly startParam?: string;
}
