/** One GET the pipeline wants; the client adds the key, the quota and the retries. */
export interface ApiRequest {
  readonly stream: string;
  readonly url: URL;
  /** Offset asked for, named in errors. */
  readonly offset?: number;
  /**
   * Judges a 2xx body while the request can still be repeated. Throwing a SyncError with the code
   * `page_unreadable` (not a document, cut, not UTF-8) asks the client to try once more; anything else
   * thrown goes to the caller as it is.
   */
  readonly accept?: (response: ApiResponse) => void;
  /** Bounds of the body, for endpoints that answer with the whole dataset at once. */
  readonly body?: BodyLimits;
  /** Takes a 2xx body as it comes; without one the answer holds it. `accept` judges after it. */
  readonly sink?: BodySink;
  /** Its answer is kept by a run that is told to stop: once it has left, the stop waits a little for it. */
  readonly isKept?: boolean;
}

/**
 * Takes a body chunk by chunk, decompressed, so that memory never holds it; the answer's own `body` is then
 * empty. Called anew for each try, as a cut body is a passing fault. A sink that returns before the last
 * chunk gives the rest up, which is no fault; what it throws of its own ends the request as it is.
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

/** A successful (2xx) answer, whole and decompressed; its body is empty where a sink took it. */
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
  /** Resolves with any status; throws a TransportFault when no whole answer came. */
  send(request: TransportRequest): Promise<TransportResponse>;
  close(): Promise<void>;
}

export interface TransportRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Ends what has not left yet; a transport may leave it out. */
  readonly leaveSignal?: AbortSignal;
  readonly body?: BodyLimits;
  /** Called when status and headers are here and the body is not yet; a transport may leave it out. */
  readonly onHead?: (head: ResponseHead) => void;
  /** For a 2xx body; a transport may leave it out too, and answer with the whole body instead. */
  readonly sink?: BodySink;
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseHeaders;
}

export interface TransportResponse extends ResponseHead {
  readonly body: Buffer;
}

/** Why no whole answer came. */
export type FaultKind =
  /** The host's name has no address. */
  | 'dns'
  /** Nobody accepted the connection. */
  | 'refused'
  | 'connect-timeout'
  /** The certificate or the handshake failed. */
  | 'tls'
  /** What listens there speaks no TLS. */
  | 'no-tls'
  /** The proxy refused; `proxyStatus` says how. */
  | 'proxy'
  /** The connection ended before any of the answer came. */
  | 'closed'
  /** No headers, or the body stopped coming, or all of it took too long. */
  | 'timeout'
  /** The body ended early. */
  | 'cut'
  /** Not HTTP. */
  | 'malformed'
  /** More or longer headers than anybody needs. */
  | 'headers-too-large'
  /** A content encoding that was not asked for. */
  | 'encoding-refused'
  /** The body is not what its content encoding says. */
  | 'body-corrupt'
  | 'body-too-large'
  /** The caller's signal. */
  | 'aborted'
  | 'other';

/** Thrown by a Transport; `detail` is short and holds no header, body or secret of ours. */
export class TransportFault extends Error {
  readonly kind: FaultKind;
  readonly detail: string;
  /** False only when surely nothing of the request reached the server. */
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
  /** Resolves with a 2xx answer; throws a SyncError for everything else, after bounded retries. */
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
  /** Time spent waiting for the hourly quota, for 429s and between tries, in ms. */
  readonly waitedMs: number;
}
