import type { Transport, TransportRequest } from '../../src/model/http.ts';
import { DAY_MS, START_MS } from '../support/sync-harness.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { type DescribedApi, recordsOf } from './described-api.ts';

export const KEY = 'contract-test-key-0123456789';

export interface StandInOptions {
  /** What it answers in the place of everything. */
  readonly instead?: Answered;
  /** The window's limit, where it is not the documented one. */
  readonly requestsPerWindow?: number;
  /** Requests of the first window that somebody else with the same key has sent. */
  readonly sentByOthers?: number;
  readonly startMs?: number;
}

interface Answered {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A server that does what an API's text says, on a virtual clock. */
export interface StandIn {
  readonly clock: VirtualClock;
  readonly transport: Transport;
  readonly requests: readonly TransportRequest[];
  /** Requests beyond a limit. */
  readonly refused: number;
  /** Ids that it holds at a path. */
  held(path: string): readonly number[];
  /** Lets a day pass; each endpoint has new records then. */
  nextDay(): void;
}

export function createStandIn(api: DescribedApi, options: StandInOptions = {}): StandIn {
  const { instead, requestsPerWindow = api.limits.requestsPerWindow, startMs = START_MS } = options;
  const clock = createVirtualClock({ startMs });
  const requests: TransportRequest[] = [];
  const arrivals: number[] = [];
  let refused = 0;
  let day = 1;

  async function send(request: TransportRequest) {
    requests.push(request);
    await clock.sleep(10, request.signal);
    const now = clock.now();
    arrivals.push(now);
    const spent = countSpent(api, arrivals, options.sentByOthers ?? 0, startMs);
    const inSecond = arrivals.filter((at) => at > now - 1_000).length;
    const isTooMuch = spent > requestsPerWindow || inSecond > api.limits.burstPerSecond;
    if (isTooMuch) refused += 1;
    const { status, body, headers: own } = isTooMuch ? failure(429) : (instead ?? answer(api, request, day));
    const headers = {
      ...own,
      'content-type': 'application/json',
      date: new Date(now).toUTCString(),
      ...countHeaders(api, requestsPerWindow, spent, now),
      ...(isTooMuch && { 'retry-after': String(secondsToGo(api, now)) }),
    };
    return { status, headers, body: Buffer.from(JSON.stringify(body)) };
  }

  return {
    clock,
    transport: { send, close: () => Promise.resolve() },
    requests,
    get refused() {
      return refused;
    },
    held: (path) => recordsOf(api, path, day).map(({ id }) => id),
    nextDay() {
      day += 1;
      clock.stepWall(DAY_MS);
    },
  };
}

/** The number of the window that a time falls in: the first one began in 1970. */
export function windowOf({ limits }: DescribedApi, ms: number): number {
  return Math.floor(ms / (limits.windowSeconds * 1_000));
}

/** Requests of the window in which the last one arrived. */
function countSpent(
  api: DescribedApi,
  arrivals: readonly number[],
  sentByOthers: number,
  startMs: number,
): number {
  const window = windowOf(api, arrivals.at(-1) ?? startMs);
  const own = arrivals.filter((at) => windowOf(api, at) === window).length;
  return window === windowOf(api, startMs) ? own + sentByOthers : own;
}

function resetSecondsOf(api: DescribedApi, now: number): number {
  return (windowOf(api, now) + 1) * api.limits.windowSeconds;
}

function secondsToGo(api: DescribedApi, now: number): number {
  return Math.ceil(resetSecondsOf(api, now) - now / 1_000);
}

/** The headers of the limits, as far as the API has them. */
function countHeaders(
  api: DescribedApi,
  mostRequests: number,
  spent: number,
  now: number,
): Readonly<Record<string, string>> {
  const { limit, remaining, reset } = api.rateLimitHeaders;
  const resets = api.resetIn === 'seconds to go' ? secondsToGo(api, now) : resetSecondsOf(api, now);
  return {
    ...(limit !== undefined && { [limit.toLowerCase()]: String(mostRequests) }),
    ...(remaining !== undefined && { [remaining.toLowerCase()]: String(Math.max(0, mostRequests - spent)) }),
    ...(reset !== undefined && { [reset.toLowerCase()]: String(resets) }),
  };
}

function answer(api: DescribedApi, { url, headers }: TransportRequest, day: number): Answered {
  const { header, scheme } = api.auth;
  const sent = Object.entries(headers).find(([name]) => name.toLowerCase() === header.toLowerCase());
  if (sent?.[1] !== (scheme === undefined ? KEY : `${scheme} ${KEY}`)) return failure(401);
  if ([...url.searchParams.keys()].some((name) => !api.params.includes(name))) return failure(400);
  const path = url.href.split('?', 1)[0]?.replace(`${api.baseUrl}/`, '') ?? '';
  if (!Object.hasOwn(api.endpoints, path)) return failure(404);
  const asked = { path, url, query: url.searchParams, records: recordsOf(api, path, day) };
  return { status: 200, body: api.answer(asked), headers: api.headers?.(asked) };
}

function failure(status: number): Answered {
  return { status, body: { error: { code: `E${status}`, message: 'no' } } };
}
