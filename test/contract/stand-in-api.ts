import type { Transport, TransportRequest } from '../../src/model/http.ts';
import { DAY_MS, HOUR_MS, START_MS } from '../support/sync-harness.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { type DescribedApi, recordsOf } from './described-api.ts';

export const KEY = 'contract-test-key-0123456789';

export interface StandInOptions {
  /** What it answers in the place of everything. */
  readonly instead?: Answered;
  /** The hour's limit, where it is not the documented one. */
  readonly requestsPerHour?: number;
  /** Requests of the first hour that somebody else with the same key has sent. */
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
  const { instead, requestsPerHour = api.limits.requestsPerHour, startMs = START_MS } = options;
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
    const spent = countSpent(arrivals, options.sentByOthers ?? 0, startMs);
    const inSecond = arrivals.filter((at) => at > now - 1_000).length;
    const isTooMuch = spent > requestsPerHour || inSecond > api.limits.burstPerSecond;
    if (isTooMuch) refused += 1;
    const { status, body, headers: own } = isTooMuch ? failure(429) : (instead ?? answer(api, request, day));
    const { limit, remaining, reset } = api.rateLimitHeaders;
    const headers = {
      ...own,
      'content-type': 'application/json',
      date: new Date(now).toUTCString(),
      [limit.toLowerCase()]: String(requestsPerHour),
      [remaining.toLowerCase()]: String(Math.max(0, requestsPerHour - spent)),
      [reset.toLowerCase()]: String((hourOf(now) + 1) * 3_600),
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

/** The number of the hour that a time falls in: windows of the quota begin on the hour. */
export function hourOf(ms: number): number {
  return Math.floor(ms / HOUR_MS);
}

/** Requests of the hour in which the last one arrived. */
function countSpent(arrivals: readonly number[], sentByOthers: number, startMs: number): number {
  const hour = hourOf(arrivals.at(-1) ?? startMs);
  const own = arrivals.filter((at) => hourOf(at) === hour).length;
  return hour === hourOf(startMs) ? own + sentByOthers : own;
}

function answer(api: DescribedApi, { url, headers }: TransportRequest, day: number): Answered {
  const sent = Object.entries(headers).find(([name]) => name.toLowerCase() === api.keyHeader.toLowerCase());
  if (sent?.[1] !== KEY) return failure(401);
  if ([...url.searchParams.keys()].some((name) => !api.params.includes(name))) return failure(400);
  const path = url.href.split('?', 1)[0]?.replace(`${api.baseUrl}/`, '') ?? '';
  if (!Object.hasOwn(api.endpoints, path)) return failure(404);
  const asked = { path, url, query: url.searchParams, records: recordsOf(api, path, day) };
  return { status: 200, body: api.answer(asked), headers: api.headers?.(asked) };
}

function failure(status: number): Answered {
  return { status, body: { error: { code: `E${status}`, message: 'no' } } };
}
