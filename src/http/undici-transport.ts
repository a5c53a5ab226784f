import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { BugError, ConfigError } from '../model/errors.ts';
import {
  TransportFault,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from '../model/http.ts';
import {
  CONNECT_DEADLINE_MS,
  HEADERS_DEADLINE_MS,
  IDLE_DEADLINE_MS,
  TOTAL_DEADLINE_MS,
} from './deadlines.ts';
import { boundBody, Exchange, type ExchangeLimits } from './exchange.ts';
import { decodeBody } from './gunzip.ts';
import { isLoopback } from '../text/loopback.ts';
import { type BodyTurn, LargeBodies } from './large-bodies.ts';
import { isSuccess } from './retry-delay.ts';

/** Largest body of a page, on the wire and decompressed, bytes. */
export const MAX_PAGE_BYTES = 64 * 1024 * 1024;

// More than the client ever has in flight: a request must not wait for a connection while its slot runs.
const MAX_CONNECTIONS = 128;

export interface UndiciTransportOptions {
  readonly baseUrl: URL;
  /** E.g. `sluice/0.1.0`. */
  readonly userAgent: string;
  readonly limits?: Partial<ExchangeLimits>;
  /** Replaces the dispatcher that the base URL's scheme asks for; it is closed with the transport. */
  readonly dispatcher?: Dispatcher;
}

/**
 * The wire. Talks to the base URL's origin and to nobody else, follows no redirect, and sends the key only
 * inside TLS (also through HTTPS_PROXY, as a tunnel) or to this machine itself.
 * Throws ConfigError for an http: URL of another machine.
 */
export function createUndiciTransport(options: UndiciTransportOptions): Transport {
  const { origin } = options.baseUrl;
  assertPrivate(options.baseUrl);
  const dispatcher = options.dispatcher ?? createDispatcher(options.baseUrl);
  const limits: ExchangeLimits = {
    connectMs: CONNECT_DEADLINE_MS,
    headersMs: HEADERS_DEADLINE_MS,
    idleMs: IDLE_DEADLINE_MS,
    totalMs: TOTAL_DEADLINE_MS,
    maxBytes: MAX_PAGE_BYTES,
    maxErrorBytes: MAX_PAGE_BYTES,
    ...options.limits,
  };

  const largeBodies = new LargeBodies();

  async function send(request: TransportRequest): Promise<TransportResponse> {
    const turn = largeBodies.open();
    try {
      return await exchangeOnce(request, turn);
    } finally {
      turn.end();
    }
  }

  async function exchangeOnce(request: TransportRequest, turn: BodyTurn): Promise<TransportResponse> {
    if (request.url.origin !== origin) {
      throw new BugError(`a request was meant for ${request.url.host}, which is not the configured host`, {
        code: 'bug',
        hint: 'Nothing was sent. Please report this.',
      });
    }
    const bounds = boundExchange(limits, request);
    const exchange = new Exchange(request, bounds, turn);
    const headers = {
      ...request.headers,
      'accept-encoding': 'gzip',
      'user-agent': options.userAgent,
    };
    const path = `${request.url.pathname}${request.url.search}`;
    try {
      dispatcher.dispatch(
        { origin, path, method: 'GET', headers, headersTimeout: 0, bodyTimeout: 0 },
        exchange,
      );
    } catch (error) {
      // Undici refuses some requests at once, e.g. for a header no HTTP allows; its message may quote them.
      exchange.giveUp(
        new TransportFault('other', 'the request is not valid HTTP', { sent: false, cause: error }),
      );
    }
    const response = await exchange.response;
    if (request.sink !== undefined && isSuccess(response.status)) return response;
    const maxBytes = boundBody(bounds, response.status);
    return { ...response, body: await decodeBody(response.body, response.headers, maxBytes, turn) };
  }

  return { send, close: () => dispatcher.destroy() };
}

function assertPrivate(baseUrl: URL): void {
  if (baseUrl.protocol === 'https:') return;
  if (baseUrl.protocol === 'http:' && isLoopback(baseUrl.hostname)) return;
  throw new ConfigError(`the base URL ${baseUrl.origin} would carry the API key unencrypted`, {
    code: 'config_invalid',
    hint: 'Use an https: URL; http: is for this machine only (127.0.0.1, localhost).',
  });
}

function createDispatcher(baseUrl: URL): Dispatcher {
  // HTTP/1.1 only: one request a connection, so that what was written and what was not is certain.
  const common = { allowH2: false, connections: MAX_CONNECTIONS, pipelining: 1 };
  // Loopback goes through no proxy, so the key never leaves this machine in clear.
  if (baseUrl.protocol === 'http:') {
    return new Agent({ ...common, connect: { timeout: CONNECT_DEADLINE_MS } });
  }
  // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 cannot switch the check of certificates off.
  const tls = { rejectUnauthorized: true, timeout: CONNECT_DEADLINE_MS };
  try {
    return new EnvHttpProxyAgent({ ...common, connect: tls, requestTls: tls, proxyTls: tls });
  } catch {
    // The variable may hold a password, and what undici says of it quotes it.
    throw new ConfigError('HTTPS_PROXY, or HTTP_PROXY, is not the address of a proxy', {
      code: 'config_invalid',
      hint: 'Write it with its scheme, e.g. http://proxy.example.com:3128, or unset it. Nothing was requested.',
    });
  }
}

function boundExchange(limits: ExchangeLimits, request: TransportRequest): ExchangeLimits {
  const { maxBytes, deadline, mostMs } = request.body ?? {};
  return {
    ...limits,
    maxBytes: maxBytes ?? limits.maxBytes,
    totalMs: deadline === 'idle' ? mostMs : limits.totalMs,
  };
}
