import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeRows, pathCounts, type RowCounts } from './made-rows.ts';

/** What a key may do. */
export interface KeyLimits {
  readonly requests: number;
  readonly windowMs: number;
}

/** A request as the API saw it. */
export interface SeenRequest {
  readonly atMs: number;
  readonly key: string;
  readonly path: string;
  readonly offset: number;
  readonly status: number;
}

export interface ApiOptions {
  readonly limits: KeyLimits;
  readonly counts: RowCounts;
  /** Before each answer, ms. */
  readonly latencyMs?: number;
  /** The last day of the first version's rows; yesterday if left out, so that a later version has today. */
  readonly lastDay?: string;
}

interface KeyWindow {
  readonly endsAtMs: number;
  readonly left: number;
}

const BURST = 10;
const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;

/** An API with the documented answers, whose windows are short. It writes down everything that it is asked. */
export class StandInApi {
  readonly seen: SeenRequest[] = [];
  limits: KeyLimits;
  counts: RowCounts;
  latencyMs: number;
  /** Called with each request before it is answered, which waits for the promise. */
  onRequest: (() => Promise<void>) | undefined;
  /** Of the rows: a later one has new and restated ones. */
  version = 1;
  readonly lastDay: string;
  readonly #windows = new Map<string, KeyWindow>();
  readonly #recent = new Map<string, readonly number[]>();
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  constructor({ limits, counts, latencyMs = 0, lastDay }: ApiOptions) {
    this.limits = limits;
    this.counts = counts;
    this.latencyMs = latencyMs;
    this.lastDay = lastDay ?? new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Requests that were answered 429. */
  get refused(): number {
    return this.seen.filter(({ status }) => status === 429).length;
  }

  /** The most requests of one key within any second. */
  get mostInASecond(): number {
    let most = 0;
    for (const requests of Map.groupBy(this.seen, ({ key }) => key).values())
      for (const [at, { atMs }] of requests.entries()) {
        let from = at;
        while (from > 0 && (requests[from - 1]?.atMs ?? -Infinity) > atMs - SECOND_MS) from -= 1;
        most = Math.max(most, at - from + 1);
      }
    return most;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const atMs = performance.now();
    const key = String(request.headers['x-api-key']);
    const url = new URL(request.url ?? '/', 'http://api');
    const path = url.pathname.replace('/api/v1/', '');
    const offset = Number(url.searchParams.get('offset') ?? 0);
    const window = this.#readWindow(key);
    const recent = (this.#recent.get(key) ?? []).filter((ms) => ms > atMs - SECOND_MS);
    const isRefused = window.left <= 0 || recent.length >= BURST;
    const left = isRefused ? window.left : window.left - 1;
    this.#windows.set(key, { ...window, left });
    this.#recent.set(key, [...recent, atMs]);
    const status = isRefused ? 429 : path in pathCounts ? 200 : 404;
    this.seen.push({ atMs, key, path, offset, status });
    const headers = {
      'content-type': 'application/json',
      'x-ratelimit-limit': String(this.limits.requests),
      'x-ratelimit-remaining': String(left),
      'x-ratelimit-reset': String(Math.ceil(window.endsAtMs / SECOND_MS)),
    };
    const waitS = window.left <= 0 ? Math.max(1, Math.ceil((window.endsAtMs - Date.now()) / SECOND_MS)) : 1;
    const body = isRefused
      ? { error: { code: 'RATE_LIMIT_EXCEEDED', message: `Retry in ${waitS} seconds`, retryAfter: waitS } }
      : status === 404
        ? { error: { code: 'NOT_FOUND', message: 'no such path' } }
        : this.#read(path, key, url.searchParams);
    await this.onRequest?.();
    if (this.latencyMs > 0) await sleep(this.latencyMs);
    response.writeHead(status, { ...headers, ...(isRefused && { 'retry-after': String(waitS) }) });
    response.end(JSON.stringify(body));
  }

  #readWindow(key: string): KeyWindow {
    const window = this.#windows.get(key);
    const nowMs = Date.now();
    if (window !== undefined && nowMs < window.endsAtMs) return window;
    // Told in whole seconds: it ends when it says so.
    const endsAtMs = Math.ceil((nowMs + this.limits.windowMs) / SECOND_MS) * SECOND_MS;
    return { endsAtMs, left: this.limits.requests };
  }

  #read(path: string, key: string, query: URLSearchParams): object {
    const count = this.counts[pathCounts[path] ?? 'mentions'];
    // Accounts that share a key ask for topics of their own.
    const owner = [key, query.get('topics')].filter((one) => one !== null).join('/');
    const start = query.get('startDate') ?? '';
    const rows = makeRows(path, owner, { count, version: this.version, lastDay: this.lastDay }).filter(
      ({ date }) => String(date) >= start,
    );
    if (path === 'visibility/mentions') return { data: rows };
    const limit = Math.min(100, Number(query.get('limit') ?? 50));
    const offset = Number(query.get('offset') ?? 0);
    const data = rows.slice(offset, offset + limit);
    const hasMore = offset + data.length < rows.length;
    return { data, pagination: { total: rows.length, limit, offset, hasMore } };
  }
}
