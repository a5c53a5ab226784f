import { TransportFault } from '../model/http.ts';
import type { FaultKind } from '../model/sent-request.ts';

/** How far a request had come when it failed. */
export interface Progress {
  /** Its first byte may have left. */
  readonly sent: boolean;
  /** Headers of the answer had come. */
  readonly answered: boolean;
}

const KINDS: Readonly<Record<string, FaultKind>> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EAI_FAIL: 'dns',
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  EADDRNOTAVAIL: 'refused',
  ENETDOWN: 'refused',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'connect-timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'headers-too-large',
  UND_ERR_PRX_TLS: 'tls',
  UND_ERR_PRX_CONN: 'proxy',
  EPROTO: 'tls',
};

const TLS_CODE =
  /^(ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|CRL_)/;
// What answered the handshake is not TLS at all, as on a port that speaks plain HTTP.
const NO_TLS: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
  'ERR_SSL_UNKNOWN_PROTOCOL',
  'ERR_SSL_RECORD_LAYER_FAILURE',
]);
// A switch of protocols nobody asked for, and a status below 100: undici has no code of its own for either.
const MALFORMED = /^bad upgrade$|assert\(statusCode >= 100\)/;
const SOCKET_ENDS = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'ECONNABORTED', 'UND_ERR_INFO'];

/** What an error of undici, Node's sockets or TLS means; `detail` keeps its code and short message. */
export function toTransportFault(error: unknown, progress: Progress): TransportFault {
  if (error instanceof TransportFault) return error;
  const { code, message } = readError(error);
  const proxyStatus = /^Proxy response \((\d+)\)/.exec(message)?.[1];
  if (proxyStatus !== undefined) {
    const detail = `the proxy answered ${proxyStatus}`;
    return new TransportFault('proxy', detail, {
      sent: false,
      proxyStatus: Number(proxyStatus),
      cause: error,
    });
  }
  const isParserError = error instanceof Error && error.name === 'HTTPParserError';
  const kind = findKind({ code, message }, isParserError, progress);
  const detail = [code, message.slice(0, 200)].filter((part) => part !== '').join(': ');
  return new TransportFault(kind, detail, { sent: progress.sent, cause: error });
}

function findKind(
  { code, message }: { readonly code: string; readonly message: string },
  isParserError: boolean,
  progress: Progress,
): FaultKind {
  if (MALFORMED.test(message)) return 'malformed';
  if (SOCKET_ENDS.includes(code)) return progress.answered ? 'cut' : 'closed';
  // Two ways to say that the connection ended inside the body; before the body the framing is at fault.
  const isEarlyEnd = code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' || code === 'HPE_INVALID_EOF_STATE';
  if (isEarlyEnd) return progress.answered ? 'cut' : 'malformed';
  if (isParserError) return 'malformed';
  if (NO_TLS.has(code)) return 'no-tls';
  if (TLS_CODE.test(code)) return 'tls';
  const kind = KINDS[code] ?? 'other';
  return kind === 'timeout' && !progress.sent ? 'connect-timeout' : kind;
}

// `thread:error:code:library:function:reason:file:line:data`, as `ERR_error_string` of OpenSSL writes it.
const OPENSSL = /^[0-9A-F]+:error:[0-9A-F]+:[^:]*:[^:]*:([^:]*):.*$/s;

/** Several addresses tried in vain are one error with the first one's code. */
function readError(error: unknown): { readonly code: string; readonly message: string } {
  if (!(error instanceof Error)) return { code: '', message: String(error) };
  const code = (error as NodeJS.ErrnoException).code;
  if (error instanceof AggregateError && error.errors[0] instanceof Error && error.message === '') {
    return { code: typeof code === 'string' ? code : '', message: error.errors[0].message };
  }
  return { code: typeof code === 'string' ? code : '', message: error.message.replace(OPENSSL, '$1') };
}
