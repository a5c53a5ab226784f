import { ConfigError, NetworkError, ResponseError, type SyncError } from '../model/errors.ts';
import type { ApiRequest, TransportFault } from '../model/http.ts';
import type { FaultKind } from '../model/sent-request.ts';
import { quoteServerText } from '../text/redact.ts';
import { isLoopback } from '../text/loopback.ts';
import { NO_TABLE_CHANGED } from '../text/what-is-safe.ts';
import { buildContext, describeRequest } from './describe-request.ts';

/** The error that says why no answer came, after the last try. */
export function buildFaultError(
  request: ApiRequest,
  fault: TransportFault,
  tries: number,
  secrets: readonly string[],
): SyncError {
  const { port, protocol, hostname } = request.url;
  const address = `${hostname}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
  const count = tries > 1 ? ` (${tries} tries)` : '';
  const detail = quoteServerText(fault.detail, secrets, 300);
  const message = `${describeRequest(request)}: ${describeFault(fault.kind, address)}${count}: ${detail}`;
  const options = { context: buildContext(request), cause: fault };
  switch (fault.kind) {
    case 'malformed':
    case 'headers-too-large':
      return new ResponseError(message, {
        ...options,
        code: 'response_invalid',
        hint: `${NO_TABLE_CHANGED} What answers is not a healthy HTTP server: check source.baseUrl, and any proxy in between.`,
      });
    case 'encoding-refused':
    case 'body-corrupt':
    case 'body-too-large':
      return new ResponseError(message, {
        ...options,
        code: 'page_unreadable',
        hint: `${NO_TABLE_CHANGED} Check source.baseUrl and any proxy in between${adviseOnSize(request, fault.kind)}.`,
      });
    case 'tls':
      return new NetworkError(message, {
        ...options,
        code: 'network_unreachable',
        hint: `${NO_TABLE_CHANGED} Nothing was sent. For a certificate of your own authority set NODE_EXTRA_CA_CERTS; certificates are always checked.`,
      });
    case 'no-tls':
      return new NetworkError(message, {
        ...options,
        code: 'network_unreachable',
        hint: `${NO_TABLE_CHANGED} Nothing was sent. Check the port in source.baseUrl${isLoopback(hostname) ? ', or write http:// for a server on this machine' : ', and any proxy in between: https:// needs a port that speaks TLS'}.`,
      });
    case 'proxy':
      return fault.proxyStatus === 407 || fault.proxyStatus === 403
        ? new ConfigError(message, {
            ...options,
            code: 'config_invalid',
            hint: 'The proxy in HTTPS_PROXY refused: check its address and credentials, or exempt the host with NO_PROXY.',
          })
        : buildUnreachableError(message, options);
    case 'dns':
    case 'refused':
    case 'connect-timeout':
    case 'closed':
    case 'timeout':
    case 'cut':
    case 'aborted':
    case 'other':
      return buildUnreachableError(message, options);
  }
}

function adviseOnSize(request: ApiRequest, kind: FaultKind): string {
  if (kind !== 'body-too-large') return '';
  return request.offset === undefined
    ? "; the stream's params may ask for less at a time"
    : '; a smaller page size makes smaller bodies';
}

function buildUnreachableError(
  message: string,
  options: { readonly context: ReturnType<typeof buildContext>; readonly cause: unknown },
): NetworkError {
  return new NetworkError(message, {
    ...options,
    code: 'network_unreachable',
    hint: `${NO_TABLE_CHANGED} Check the network, the proxy settings and source.baseUrl, or run again later.`,
  });
}

function describeFault(kind: FaultKind, address: string): string {
  switch (kind) {
    case 'dns':
    case 'refused':
    case 'connect-timeout':
      return `cannot reach ${address}`;
    case 'tls':
      return `TLS with ${address} failed`;
    case 'no-tls':
      return `${address} does not speak TLS`;
    case 'proxy':
      return `the proxy refuses to connect to ${address}`;
    case 'closed':
      return `${address} closed the connection without an answer`;
    case 'timeout':
      return `${address} did not answer in time`;
    case 'cut':
      return `the answer of ${address} was cut off`;
    case 'malformed':
      return `${address} sent malformed HTTP`;
    case 'headers-too-large':
      return `${address} sent too many headers`;
    case 'encoding-refused':
      return `${address} sent an encoding that was not requested`;
    case 'body-corrupt':
      return `${address} sent a body that does not match its encoding`;
    case 'body-too-large':
      return `${address} sent a body beyond the limit`;
    case 'aborted':
      return `the request to ${address} was interrupted`;
    case 'other':
      return `the request to ${address} failed`;
  }
}
