import { codeOfStatus, writeErrorBody } from './api-problem.ts';
import type { RecordEdit } from './endpoint.ts';
import type { Envelope, Fault, FaultOverride } from './faults.ts';
import type { ConnectionFault, HeaderMap } from './message.ts';

/** Answers with exactly this. */
export function respondWith(answer: Pick<FaultOverride, 'status' | 'headers' | 'body'>): Fault {
  return () => answer;
}

/** Answers with the documented error envelope and the code that belongs to the status. */
export function errorStatus(status: number, message = `Simulated status ${status}.`): Fault {
  return () => ({ status, body: writeErrorBody(codeOfStatus(status), message) });
}

/** Answers 500 INTERNAL_ERROR, or another 5xx. */
export function serverError(status = 500): Fault {
  return errorStatus(status, 'Unexpected server error.');
}

/** Answers 401 UNAUTHORIZED whatever the key. */
export function unauthorized(): Fault {
  return errorStatus(401, 'The API key has been revoked.');
}

/** Answers with a web page, as proxies and login walls do; 200 is the treacherous one. */
export function html(status = 200, text = '<!doctype html><title>Sign in</title><p>Sign in'): Fault {
  return () => ({ status, body: text, headers: { 'content-type': 'text/html; charset=utf-8' } });
}

/** What a simulated 429 sends; what is left out is not sent. */
export interface RateLimitedOptions {
  /** Text of the Retry-After header, in any form. */
  readonly retryAfter?: string | readonly string[];
  /** Value of `error.retryAfter`, of any type. */
  readonly bodyRetryAfter?: unknown;
  readonly headers?: HeaderMap;
}

/** Answers 429, with hints that may be missing, wrong or at odds. */
export function rateLimited(options: RateLimitedOptions = {}): Fault {
  const body = writeErrorBody('RATE_LIMIT_EXCEEDED', 'Rate limit exceeded.', options.bodyRetryAfter);
  return () => ({ status: 429, body, headers: { ...options.headers, 'retry-after': options.retryAfter } });
}

/** Adds, replaces or (with undefined) removes headers of an otherwise usual answer. */
export function setHeaders(headers: NonNullable<FaultOverride['headers']>): Fault {
  return () => ({ headers });
}

/** Changes a successful answer before it is written: a total or hasMore that lies, another shape. */
export function rewriteEnvelope(rewrite: (envelope: Envelope) => unknown): Fault {
  return () => ({ envelope: rewrite });
}

/** Changes some of `pagination`; undefined removes a member. */
export function rewritePagination(changes: Readonly<Record<string, unknown>>): Fault {
  return rewriteEnvelope((envelope) => ({ ...envelope, pagination: { ...envelope.pagination, ...changes } }));
}

/** Serves the first page whatever the offset; the envelope echoes the offset asked for, or the one served. */
export function ignoreOffset(echoes: 'asked' | 'served' = 'asked'): Fault {
  return () => ({
    page: (page) => ({ ...page, offset: 0, echoedOffset: echoes === 'asked' ? page.echoedOffset : 0 }),
  });
}

/** Serves at most `limit` records a page; the envelope echoes the limit served, or the one asked for. */
export function capLimit(limit: number, echoes: 'asked' | 'served' = 'served'): Fault {
  return () => ({
    page: (page) => {
      const capped = Math.min(limit, page.limit);
      return { ...page, limit: capped, echoedLimit: echoes === 'asked' ? page.echoedLimit : capped };
    },
  });
}

/** Closes the connection before, or in the middle of, the answer; or never answers. */
export function breakConnection(connection: ConnectionFault): Fault {
  return () => ({ connection });
}

/** Closes the connection without a byte. */
export function dropConnection(): Fault {
  return breakConnection('drop');
}

/** Accepts the request and never answers. */
export function hang(): Fault {
  return breakConnection('hang');
}

/** Answers as usual, but later. */
export function delay(delayMs: number): Fault {
  return () => ({ delayMs });
}

/** An edit that inserts records at an index. */
export function insertRows(index: number, rows: readonly unknown[]): RecordEdit {
  return (records) => records.toSpliced(index, 0, ...rows);
}

/** An edit that deletes records from an index on. */
export function deleteRows(index: number, count = 1): RecordEdit {
  return (records) => records.toSpliced(index, count);
}
