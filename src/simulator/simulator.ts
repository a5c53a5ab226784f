import { writeAnswer } from './answer.ts';
import type { Endpoint } from './answer.ts';
import { ApiProblem, codeOfStatus, writeErrorBody } from './api-problem.ts';
import { createArrivalLog } from './arrivals.ts';
import type { Arrival, ArrivalStatistics } from './arrivals.ts';
import { createKeyRing, readCredential } from './credentials.ts';
import { createDataset, DEMO_SIZES } from './dataset.ts';
import { createRecordTable } from './endpoint.ts';
import type { EndpointOptions } from './endpoint.ts';
import { applyFaults } from './faults.ts';
import type { Fault, FaultOverride, SimulatorControls } from './faults.ts';
import { addDays, assertIsoDay, readDayNumber } from './iso-day.ts';
import type { HeaderMap, SimulatorRequest, SimulatorResponse } from './message.ts';
import { buildRateLimitHeaders, DOCUMENTED_HEADERS, readRetryAfterSeconds } from './rate-limit-headers.ts';
import { createRateLimiter, DOCUMENTED_LIMITS } from './rate-limiter.ts';
import type { RateLimitVerdict } from './rate-limiter.ts';
import { DEMO_KEY } from './simulator-options.ts';
import type { SimulatorOptions } from './simulator-options.ts';

/** A stand-in for the Analytics Read API, free of sockets and clocks: time comes with each request. */
export interface Simulator extends SimulatorControls {
  readonly basePath: string;
  handle(request: SimulatorRequest, atMs: number): SimulatorResponse;
  /** Replaces the fault plan. */
  setFaults(faults: readonly Fault[]): void;
  /** Arrivals in order, the newest last. */
  readonly log: readonly Arrival[];
  readonly arrivals: ArrivalStatistics;
  clearLog(): void;
  /** How many records each endpoint holds on the current day. */
  countRows(): Readonly<Record<string, number>>;
}

interface Answer {
  readonly status: number;
  readonly body: string | Buffer;
}

const DEFAULT_DAY = '2026-01-31';
const DEFAULT_LOG_ENTRIES = 250_000;

/** Makes a simulated service; without options it behaves as documented and holds the demo's data. */
export function createSimulator(options: SimulatorOptions = {}): Simulator {
  const basePath = options.basePath ?? '/api/v1';
  const skewMs = options.clockSkewMs ?? 0;
  const limits = { ...DOCUMENTED_LIMITS, ...options.rateLimit };
  const headerOptions = { ...DOCUMENTED_HEADERS, ...options.rateLimit };
  const limiter = createRateLimiter(limits);
  const keyRing = createKeyRing(options.keys ?? [DEMO_KEY], options.bearerTokens ?? []);
  const endpoints = openEndpoints(options);
  const log = createArrivalLog(options.maxLogEntries ?? DEFAULT_LOG_ENTRIES);
  let faults = options.faults ?? [];
  let day = options.day ?? DEFAULT_DAY;

  function answer(arrival: ParsedRequest, verdict: RateLimitVerdict, override: FaultOverride): Answer {
    if (override.status !== undefined || override.body !== undefined) return readReplacement(override);
    try {
      keyRing.assertAllowed(arrival.credential, arrival.endpointPath);
      if (verdict.broken !== undefined) return toRateLimitedAnswer(verdict, headerOptions.retryAfterInBody);
      const endpoint = arrival.method === 'GET' ? endpoints.get(arrival.endpointPath) : undefined;
      if (endpoint === undefined) throw new ApiProblem(404, 'NOT_FOUND', 'No such endpoint.');
      const limitTooHigh = options.limitTooHigh ?? 'reject';
      return {
        status: 200,
        body: writeAnswer(endpoint, { query: arrival.query, day, limitTooHigh, rewrite: override }),
      };
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      return { status: error.status, body: writeErrorBody(error.code, error.message) };
    }
  }

  function handle(request: SimulatorRequest, atMs: number): SimulatorResponse {
    const arrival = parseRequest(request, basePath);
    const { credential, method, query, endpointPath } = arrival;
    const verdict = limiter.arrive(credential.id, atMs);
    const offset = Number(query.get('offset') ?? 0) || 0;
    const index = log.statistics.requests;
    const override = applyFaults(faults, {
      index,
      atMs,
      method,
      path: endpointPath,
      query,
      offset,
      controls: simulator,
    });
    const { status, body } = answer(arrival, verdict, override);

    const { connection, delayMs } = override;
    log.add({
      atMs,
      method,
      path: arrival.path,
      query: arrival.queryText,
      status,
      keyId: credential.id,
      windowStartMs: verdict.windowStartMs,
      ...(connection && { connection }),
    });
    // Only a 429 says when to come back, also when the limit is broken but another refusal comes first.
    const told = status === 429 ? verdict : { ...verdict, broken: undefined };
    const headers = mergeHeaders(
      {
        'content-type': 'application/json; charset=utf-8',
        date: new Date(atMs + skewMs).toUTCString(),
        ...buildRateLimitHeaders(told, atMs, skewMs, headerOptions),
      },
      override.headers,
    );
    return { status, headers, body, ...(connection && { connection }), ...(delayMs && { delayMs }) };
  }

  assertIsoDay(day);
  const simulator: Simulator = {
    basePath,
    log: log.entries,
    arrivals: log.statistics,
    get day() {
      return day;
    },
    handle,
    setDay(next) {
      assertIsoDay(next);
      day = next;
    },
    advanceDay(days = 1) {
      day = addDays(day, days);
    },
    editRecords(endpointPath, edit) {
      const endpoint = endpoints.get(endpointPath);
      if (endpoint === undefined) throw new RangeError(`the simulator serves no endpoint ${endpointPath}`);
      endpoint.table.edit(edit);
    },
    setKeyState: (key, state) => keyRing.setState(key, state),
    setFaults(plan) {
      faults = plan;
    },
    clearLog: () => log.clear(),
    countRows: () => Object.fromEntries([...endpoints].map(([path, { table }]) => [path, table.count(day)])),
  };
  return simulator;
}

interface ParsedRequest {
  readonly method: string;
  readonly path: string;
  readonly queryText: string;
  readonly query: URLSearchParams;
  /** Path below the base path; empty when the request is for something else. */
  readonly endpointPath: string;
  readonly credential: ReturnType<typeof readCredential>;
}

function parseRequest(request: SimulatorRequest, basePath: string): ParsedRequest {
  const mark = request.path.indexOf('?');
  const path = mark < 0 ? request.path : request.path.slice(0, mark);
  const queryText = mark < 0 ? '' : request.path.slice(mark + 1);
  return {
    method: request.method,
    path,
    queryText,
    query: new URLSearchParams(queryText),
    endpointPath: path.startsWith(`${basePath}/`) ? path.slice(basePath.length + 1) : '',
    credential: readCredential(request.headers),
  };
}

function openEndpoints(options: SimulatorOptions): ReadonlyMap<string, Endpoint> {
  const builtIns = options.builtIns === false ? {} : createBuiltIns(options);
  const mentions = builtIns['visibility/mentions'];
  const all: Record<string, EndpointOptions> = {
    ...builtIns,
    ...(options.requireEntity &&
      mentions && { 'visibility/mentions': { ...mentions, requiredParams: ['entity'] } }),
    ...options.endpoints,
  };
  return new Map(
    Object.entries(all).map(([path, endpoint]) => [
      path,
      { options: endpoint, table: createRecordTable(reshapeRecords(options, path, endpoint.records)) },
    ]),
  );
}

function createBuiltIns({ day = DEFAULT_DAY, seed = 1, ...options }: SimulatorOptions) {
  const sizes = { ...DEMO_SIZES, ...options.sizes };
  const shiftDays = options.dates === 'relative' ? readDayNumber(day) - readDayNumber(DEFAULT_DAY) : 0;
  const firstDay = options.history === 'slides' ? undefined : addDays(day, 1 - sizes.historyDays - shiftDays);
  return createDataset({ seed, sizes, firstDay, shiftDays });
}

function reshapeRecords(
  options: SimulatorOptions,
  path: string,
  records: EndpointOptions['records'],
): EndpointOptions['records'] {
  const reshape = options.reshape?.[path];
  if (reshape === undefined) return records;
  const firstDay = readDayNumber(options.day ?? DEFAULT_DAY);
  return (day) => {
    const list = records(day);
    const all = Array.from({ length: list.length }, (_, index) => list.at(index));
    return reshape(all, readDayNumber(day) - firstDay);
  };
}

function toRateLimitedAnswer(verdict: RateLimitVerdict, inBody: boolean): Answer {
  const seconds = readRetryAfterSeconds(verdict);
  const body = inBody
    ? writeErrorBody('RATE_LIMIT_EXCEEDED', `Rate limit exceeded. Retry after ${seconds} seconds.`, seconds)
    : writeErrorBody('RATE_LIMIT_EXCEEDED', 'Rate limit exceeded.');
  return { status: 429, body };
}

function readReplacement({ status = 200, body }: FaultOverride): Answer {
  return { status, body: body ?? writeErrorBody(codeOfStatus(status), `Simulated status ${status}.`) };
}

function mergeHeaders(usual: HeaderMap, override: FaultOverride['headers'] = {}): HeaderMap {
  const merged: Record<string, HeaderMap[string]> = { ...usual };
  for (const [name, value] of Object.entries(override)) {
    if (value === undefined) delete merged[name.toLowerCase()];
    else merged[name.toLowerCase()] = value;
  }
  return merged;
}
