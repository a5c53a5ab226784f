import {
  type ResponseHeaders,
  TransportFault,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from '../../src/model/http.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** What may become of one request, besides an answer. */
export type ModelFault = 'none' | 'lost-before' | 'lost-after' | 'headers-missing' | 'server-error';

export interface ModelApiOptions {
  readonly clock: VirtualClock;
  readonly requestsPerHour: number;
  readonly burstPerSecond: number;
  /** What the server's clock is ahead of the local wall clock's start, ms. */
  readonly skewMs?: number;
  /** `first-request`: the window opens with the first request after the one before; else at this phase, ms. */
  readonly window?: 'first-request' | number;
  /** Time on the way of request `n`, ms. */
  readonly latency?: (n: number) => { readonly thereMs: number; readonly backMs: number };
  readonly fault?: (n: number) => ModelFault;
  readonly reset?: 'floor' | 'ceil' | 'milliseconds' | 'delta';
  readonly retryAfter?: boolean;
}

/** An independent, small model of the API's limits: a fixed window and a sliding second. */
export interface ModelApi extends Transport {
  /** Monotonic arrival times of everything the server saw, ms. */
  readonly arrivalsMs: readonly number[];
  /** Arrivals of each window. */
  readonly windowCounts: readonly number[];
  readonly rejectedCount: number;
  /** Uses requests of the current window, as another host with the same key would. */
  spendElsewhere(count: number): void;
}

const HOUR_MS = 3_600_000;

export function createModelApi(options: ModelApiOptions): ModelApi {
  const { clock, requestsPerHour, burstPerSecond } = options;
  const epochMs = clock.now() - clock.monotonic() + (options.skewMs ?? 0);
  const arrivalsMs: number[] = [];
  const windowCounts: number[] = [];
  let windowStartMs = -Infinity;
  let elsewhere = 0;
  let rejectedCount = 0;
  let sequence = 0;

  function openWindow(nowMs: number): void {
    if (nowMs < windowStartMs + HOUR_MS) return;
    const { window = 'first-request' } = options;
    windowStartMs =
      window === 'first-request' ? nowMs : nowMs - ((((nowMs - window) % HOUR_MS) + HOUR_MS) % HOUR_MS);
    windowCounts.push(0);
    elsewhere = 0;
  }

  function arrive(nowMs: number): { readonly status: number; readonly headers: ResponseHeaders } {
    openWindow(nowMs);
    arrivalsMs.push(nowMs);
    const count = (windowCounts.pop() ?? 0) + 1;
    windowCounts.push(count);
    const used = count + elsewhere;
    const inLastSecond = arrivalsMs.filter((at) => at > nowMs - 1000).length;
    const isRejected = used > requestsPerHour || inLastSecond > burstPerSecond;
    if (isRejected) rejectedCount += 1;
    const resetMs = windowStartMs + HOUR_MS + epochMs;
    const retryAfter = used > requestsPerHour ? Math.ceil((windowStartMs + HOUR_MS - nowMs) / 1000) : 1;
    return {
      status: isRejected ? 429 : 200,
      headers: {
        date: new Date(Math.floor((nowMs + epochMs) / 1000) * 1000).toUTCString(),
        'x-ratelimit-limit': String(requestsPerHour),
        'x-ratelimit-remaining': String(Math.max(0, requestsPerHour - used)),
        'x-ratelimit-reset': String(writeReset(resetMs, nowMs + epochMs)),
        ...(isRejected && options.retryAfter !== false && { 'retry-after': String(retryAfter) }),
      },
    };
  }

  function writeReset(resetMs: number, serverNowMs: number): number {
    switch (options.reset ?? 'ceil') {
      case 'floor':
        return Math.floor(resetMs / 1000);
      case 'ceil':
        return Math.ceil(resetMs / 1000);
      case 'milliseconds':
        return Math.ceil(resetMs);
      case 'delta':
        return Math.floor((resetMs - serverNowMs) / 1000);
    }
  }

  async function send(request: TransportRequest): Promise<TransportResponse> {
    const n = sequence++;
    const { thereMs, backMs } = options.latency?.(n) ?? { thereMs: 20, backMs: 20 };
    const fault = options.fault?.(n) ?? 'none';
    if (thereMs > 0) await clock.sleep(thereMs);
    if (fault === 'lost-before') throw new TransportFault('closed', 'lost on the way', { sent: true });
    const answer = arrive(clock.monotonic());
    if (backMs > 0) await clock.sleep(backMs);
    if (fault === 'lost-after') throw new TransportFault('closed', 'lost on the way back', { sent: true });
    const status = fault === 'server-error' && answer.status === 200 ? 500 : answer.status;
    const headers = fault === 'headers-missing' ? {} : answer.headers;
    request.onHead?.({ status, headers });
    return { status, headers, body: Buffer.from(status === 200 ? '{}' : '{"error":{"code":"X"}}') };
  }

  return {
    send,
    close: () => Promise.resolve(),
    arrivalsMs,
    windowCounts,
    get rejectedCount() {
      return rejectedCount;
    },
    spendElsewhere(count) {
      openWindow(clock.monotonic());
      elsewhere += count;
    },
  };
}

/** Most arrivals within any sliding second. */
export function findLargestBurst(arrivalsMs: readonly number[]): number {
  const sorted = [...arrivalsMs].sort((a, b) => a - b);
  let largest = 0;
  let first = 0;
  sorted.forEach((at, index) => {
    while ((sorted[first] ?? at) <= at - 1000) first += 1;
    largest = Math.max(largest, index - first + 1);
  });
  return largest;
}
