import type { FaultKind } from './sent-request.ts';

/** One GET the pipeline wants; the client adds the key, the quota and the retries. */
export interface ApiRequest {
  readonly stream: string;
  readonly url: URL;
  /** Offset asked for, named in errors. */
  readonly offset?: number;
  /**
   * Checks a 2xx body while the request can still be repeated. Throwing a SyncError with the code
   * `page_unreadable` (not a document, cut, not UTF-8) makes the client retry once; any other error goes to
   * the caller unchanged.
   */
  readonly accept?: (response: ApiResponse) => void;
  /** Limits of the body, for endpoints that return the whole dataset at once. */
  readonly body?: BodyLimits;
  /** Receives a 2xx body in chunks; without a sink, the response holds it. `accept` is called after it. */
  readonly sink?: BodySink;
  /**
   * A run that is asked to stop keeps its response: once the request was sent, the stop waits a little for
   * it.
   */
  readonly isKept?: boolean;
}

/**
 * Receives a body chunk by chunk, decompressed, so that it is never held in memory; the response's own `body`
 * is then empty. Called again for each attempt, since a cut body is a transient fault. A sink may return
 * before the last chunk to skip the rest; an error it throws ends the request unchanged.
 */
export type BodySink = (chunks: AsyncIterable<Buffer>) => Promise<void>;

/** How large a body may be and how long it may take. */
export interface BodyLimits {
  /** Bytes, on the wire and decompressed; 64 MiB when missing. */
  readonly maxBytes?: number;
  /** `total` (the default) bounds the whole exchange; `idle` only the silence between two chunks. */
  readonly deadline?: 'total' | 'idle';
  /** The whole exchange under `idle`, ms; unbounded when missing. */
  readonly mostMs?: number;
}

/** A successful (2xx) response, complete and decompressed; its body is empty if a sink received it. */
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

/** Sends one request: no quota, no retry, no interpretation. */
export interface Transport {
  /** Resolves with any status; throws a TransportFault if no complete response arrived. */
  send(request: TransportRequest): Promise<TransportResponse>;
  close(): Promise<void>;
}

export interface TransportRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Aborts before the request is sent; optional for a transport. */
  readonly leaveSignal?: AbortSignal;
  readonly body?: BodyLimits;
  /** Called when status and headers have arrived, before the body; optional for a transport. */
  readonly onHead?: (head: ResponseHead) => void;
  /** For a 2xx body; optional for a transport, which may return the whole body instead. */
  readonly sink?: BodySink;
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseHeaders;
}

export interface TransportResponse extends ResponseHead {
  readonly body: Buffer;
}

/** Thrown by a Transport; `detail` is short and contains no header, body or secret. */
export class TransportFault extends Error {
  readonly kind: FaultKind;
  readonly detail: string;
  /** False only if it is certain that nothing of the request reached the server. */
  readonly sent: boolean;
  readonly proxyStatus: number | undefined;

  constructor(
    kind: FaultKind,
    detail: string,
    options: { readonly sent: boolean; readonly proxyStatus?: number; readonly cause?: unknown },
  ) {
    super(`${kind}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TransportFault';
    this.kind = kind;
    this.detail = detail;
    this.sent = options.sent;
    this.proxyStatus = options.proxyStatus;
  }
}

/** The one way any part of Sluice reaches the API. */
export interface ApiClient {
  /**
   * Resolves with a 2xx response; throws a SyncError for everything else, after a limited number of retries.
   */
  get(request: ApiRequest, signal?: AbortSignal): Promise<ApiResponse>;
  readonly usage: RequestUsage;
  /** How far the server's clock is ahead of this machine's, ms; undefined until an answer had a date. */
  readonly serverAheadMs?: number | undefined;
  close(): Promise<void>;
}

/** Running counts of one client. */
export interface RequestUsage {
  /** Requests that may have reached the server, retries included. */
  readonly requests: number;
  readonly retries: number;
  readonly rateLimited: number;
  /** Time spent waiting for the quota, for 429s and between tries, in ms. */
  readonly waitedMs: number;
}
