/** Why no complete response arrived. */
export type FaultKind =
  /** The host's name has no address. */
  | 'dns'
  /** Nobody accepted the connection. */
  | 'refused'
  | 'connect-timeout'
  /** The certificate or the handshake failed. */
  | 'tls'
  /** The server does not speak TLS. */
  | 'no-tls'
  /** The proxy rejected the connection with `proxyStatus`. */
  | 'proxy'
  /** The connection ended before any of the response arrived. */
  | 'closed'
  /** No headers, or the body stopped coming, or all of it took too long. */
  | 'timeout'
  /** The body ended early. */
  | 'cut'
  /** Not HTTP. */
  | 'malformed'
  /** Too many headers, or too long ones. */
  | 'headers-too-large'
  /** A content encoding that was not requested. */
  | 'encoding-refused'
  /** The body is not what its content encoding says. */
  | 'body-corrupt'
  | 'body-too-large'
  /** The caller's signal. */
  | 'aborted'
  | 'other';

/** One try of a request that left, or was about to, for those who follow a run. Times are wall times, epoch ms. */
export interface SentRequest {
  readonly stream: string;
  readonly server: string;
  readonly port: number;
  /** Without its query, which may hold secrets. */
  readonly path: string;
  readonly offset: number | undefined;
  /** 1 for the first try. */
  readonly attempt: number;
  /** Time it waited for a slot of the quota before it began, ms. */
  readonly quotaWaitMs: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly outcome:
    | { readonly status: number; readonly fault?: undefined }
    | { readonly status?: undefined; readonly fault: FaultKind };
}
