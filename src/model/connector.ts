/** A connector describes one API as plain values; the engine does the requesting. */
export interface Connector {
  readonly name: string;
  /** The API's name for people. */
  readonly title: string;
  readonly streams: readonly StreamDescription[];
  readonly auth: {
    /** Header that carries the API key. */
    readonly keyHeader: string;
    /** Why a key can be refused, as the API's text lists it. */
    readonly rejectionCauses: readonly string[];
    /** Where a user makes a new key. */
    readonly whereKeysAreMade: string;
  };
  /** Query parameters the API's text names; a refusal that names one tells the user which line to write. */
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

/** Names of the paging parameters and JSON pointers into the envelope. */
export interface PagingDescription {
  readonly limitParam: string;
  readonly offsetParam: string;
  readonly records: string;
  readonly total: string;
  readonly limit: string;
  readonly offset: string;
  readonly hasMore: string;
}

export interface RateLimitHeaderNames {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

/** A stream the connector knows of; config may override each part. */
export interface StreamDescription {
  readonly name: string;
  readonly path: string;
  readonly paginated: boolean;
  /** Query parameter that asks for rows from a date on, where the API has one. */
  readonly startParam?: string;
}
