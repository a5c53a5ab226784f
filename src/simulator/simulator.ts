import { listAccountKeys } from './accounts.ts';
import { writeAnswer } from './answer.ts';
import { ApiProblem, codeOfStatus, writeErrorBody } from './api-problem.ts';
import { createArrivalLog } from './arrivals.ts';
import type { Arrival, ArrivalStatistics } from './arrivals.ts';
import { DEFAULT_DAY, openClients } from './clients.ts';
import type { Client } from './clients.ts';
import { createKeyRing, readCredential } from './credentials.ts';
import type { KeyRing } from './credentials.ts';
import { applyFaults } from './faults.ts';
import type { Fault, FaultOverride, SimulatorControls } from './faults.ts';
import { addDays, assertIsoDay } from './iso-day.ts';
import type { HeaderMap, SimulatorRequest, SimulatorResponse } from './message.ts';
import { buildRateLimitHeaders, DOCUMENTED_HEADERS, readRetryAfterSeconds } from './rate-limit-headers.ts';
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
  /** How many records each endpoint holds on the current day: of one account, or of all together. */
  countRows(account?: string): Readonly<Record<string, number>>;
}

/** An arrival and what is known of it before it is answered. */
interface Judged {
  readonly arrival: ParsedRequest;
  readonly client: Client;
  readonly verdict: RateLimitVerdict;
  readonly override: FaultOverride;
}

interface Answer {
  readonly status: number;
  readonly body: string | Buffer;
}

const DEFAULT_LOG_ENTRIES = 250_000;

/** Makes a simulated service; without options it behaves as documented and holds the demo's data. */
export function createSimulator(options: SimulatorOptions = {}): Simulator {
  const basePath = options.basePath ?? '/api/v1';
  const skewMs = options.clockSkewMs ?? 0;
  const headerOptions = { ...DOCUMENTED_HEADERS, ...options.rateLimit };
  const keyRing = openKeyRing(options);
  const clients = openClients(options);
  const log = createArrivalLog(options.maxLogEntries ?? DEFAULT_LOG_ENTRIES);
  let faults = options.faults ?? [];
  let day = options.day ?? DEFAULT_DAY;

  function answer({ arrival, client, verdict, override }: Judged): Answer {
    if (override.status !== undefined || override.body !== undefined) return readReplacement(override);
    try {
      keyRing.assertAllowed(arrival.credential, arrival.endpointPath);
      if (verdict.broken !== undefined) return toRateLimitedAnswer(verdict, headerOptions.retryAfterInBody);
      const endpoint = arrival.method === 'GET' ? client.endpoints.get(arrival.endpointPath) : undefined;
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
    const client = clients.find(credential);
    const { account } = client;
    const verdict = client.limiter.arrive(credential.id, atMs);
    const offset = Number(query.get('offset') ?? 0) || 0;
    const index = log.statistics.requests;
    const override = applyFaults(faults, {
      index,
      atMs,
      method,
      path: endpointPath,
      query,
      offset,
      account,
      controls: simulator,
    });
    const { status, body } = answer({ arrival, client, verdict, override });

    const { connection, delayMs } = override;
    log.add({
      atMs,
      method,
      path: arrival.path,
      query: arrival.queryText,
      status,
      keyId: credential.id,
      windowStartMs: verdict.windowStartMs,
      ...(account !== undefined && { account }),
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

  function listClients(account: string | undefined): readonly Client[] {
    if (account === undefined) return clients.all;
    const found = clients.all.find((client) => client.account === account);
    if (found === undefined) throw new RangeError(`the simulator has no account ${account}`);
    return [found];
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
    editRecords(endpointPath, edit, account) {
      const tables = listClients(account).flatMap(
        ({ endpoints }) => endpoints.get(endpointPath)?.table ?? [],
      );
      if (tables.length === 0) throw new RangeError(`the simulator serves no endpoint ${endpointPath}`);
      for (const table of tables) table.edit(edit);
    },
    setKeyState: (key, state) => keyRing.setState(key, state),
    setFaults(plan) {
      faults = plan;
    },
    clearLog: () => log.clear(),
    countRows(account) {
      const rows: Record<string, number> = {};
      for (const [path, { table }] of listClients(account).flatMap(({ endpoints }) => [...endpoints]))
        rows[path] = (rows[path] ?? 0) + table.count(day);
      return rows;
    },
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

function openKeyRing({ accounts, keys, bearerTokens = [] }: SimulatorOptions): KeyRing {
  if (accounts === undefined) return createKeyRing(keys ?? [DEMO_KEY], bearerTokens);
  if (keys !== undefined || bearerTokens.length > 0)
    throw new RangeError('the simulator takes accounts or keys and tokens, not both');
  return createKeyRing(listAccountKeys(accounts), []);
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
