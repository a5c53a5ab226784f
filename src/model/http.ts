/** One GET the pipeline wants; the client adds the key, the quota and the retries. */
export interface ApiRequest {
  readonly stream: string;
  readonly url: URL;
  /** Offset asked for, named in errors. */
  readonly offset?: number;
}

/** A successful (2xx) answer, whole and decompressed. */
export interface ApiResponse {
  readonly request: ApiRequest;
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: Buffer;
  /** The server's Date header as epoch ms, when it sent a valid one. */
  readonly serverDateMs: number | undefined;
}

/** Header values by lower-case name; several of one name are an array. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What crosses the wire, once: no quota, no retry, no meaning. */
export interface Transport {
  send(request: {
    readonly url: URL;
    readonly headers: Readonly<Record<string, string>>;
    readonly signal?: AbortSignal;
  }): Promise<TransportResponse>;
  close(): Promise<void>;
}

export interface TransportResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: Buffer;
}

/** The one way any part of Sluice reaches the API. */
export interface ApiClient {
  /** Resolves with a 2xx answer; throws a SyncError for everything else, after bounded retries. */
  get(request: ApiRequest, signal?: AbortSignal): Promise<ApiResponse>;
  readonly usage: RequestUsage;
  close(): Promise<void>;
}

/** Running counts of one client. */
export interface RequestUsage {
  readonly requests: number;
  readonly retries: number;
  readonly rateLimited: number;
  readonly waitedMs: number;
}
