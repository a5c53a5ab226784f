import type { PagingDescription } from './paging.ts';

/** A connector describes one API as plain values; the engine sends the requests. */
export interface Connector {
  readonly name: string;
  /** The API's name for people. */
  readonly title: string;
  readonly streams: readonly StreamDescription[];
  readonly auth: {
    /** Header that carries the API key. */
    readonly header: string;
    /** What stands before the key in it; without one the header is the key alone. */
    readonly scheme?: 'Bearer';
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
  /** Requests of a window. */
  readonly requestsPerWindow: number;
  /** Length of the window after which the quota is full again, e.g. 3,600 for an hourly one. */
  readonly windowSeconds: number;
  readonly burstPerSecond: number;
  readonly maxPageSize: number;
}

/**
 * Headers about the window of the quota; one that the API does not send is left out. Reset may be a time, in seconds or
 * milliseconds since 1970, or the seconds to go. Without Remaining and Reset, requests are counted here.
 */
export interface RateLimitHeaderNames {
  readonly limit?: string;
  readonly remaining?: string;
  readonly reset?: string;
}

/** A built-in stream of the connector; config may override each part. */
export interface StreamDescription {
  readonly name: string;
  readonly path: string;
  readonly paginated: boolean;
  /** Query parameter for rows since a date, if the API has one. */
  readonly startParam?: string;
}
