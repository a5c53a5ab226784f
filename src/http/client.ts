import PQueue from 'p-queue';
import type { Clock } from '../model/clock.ts';
import type { Connector } from '../model/connector.ts';
import { AbortedError, ConfigError, SyncError } from '../model/errors.ts';
import type { ApiClient, ApiRequest, ApiResponse, Transport } from '../model/http.ts';
import type { SentRequest } from '../model/sent-request.ts';
import type { Credentials } from '../model/settings.ts';
import { assertNotAborted, toAbortError } from '../model/abort.ts';
import type { AttemptResult, AttemptTools } from './attempt.ts';
import { buildFaultError } from './fault-errors.ts';
import { createLinger } from './linger.ts';
import type { Quota } from './quota.ts';
import { computeBackoff, isRetryableFault, isRetryableStatus, isSuccess } from './retry-delay.ts';
import { buildStatusError } from './status-errors.ts';
import { watchAttempt } from './watch-attempt.ts';

/** How often one request is tried in all, whatever fails. */
export const MAX_TRIES = 5;

/** How often a request is tried in all when its answer is not a document: a login page stays one. */
export const MAX_UNREADABLE_TRIES = 2;

/** A Retry-After of a 5xx beyond this ends the request instead: it speaks of maintenance, ms. */
const LONGEST_RETRY_AFTER_MS = 120_000;

/** Requests of one client in flight at once; the quota's rules may allow fewer. */
const MAX_IN_FLIGHT = 32;

export interface ApiClientOptions {
  readonly connector: Connector;
  readonly credentials: Credentials;
  readonly quota: Quota;
  readonly transport: Transport;
  readonly clock: Clock;
  /** In [0, 1); for jitter. */
  readonly random?: () => number;
  /** 1 makes every fault and every 429 final, as `check` wants it. */
  readonly maxTries?: number;
  readonly maxInFlight?: number;
  /** What is odd and not wrong; each text once. */
  readonly onWarning?: (message: string) => void;
  /** Called when a try of a request ended, whatever came of it. */
  readonly onRequest?: (sent: SentRequest) => void;
}

/**
 * The one way to the API: adds the key, keeps the quota, retries what may pass by itself, and turns the rest
 * into errors that say what to do. Throws ConfigError for a key that no header can carry.
 */
export function createApiClient(options: ApiClientOptions): ApiClient {
  const { connector, quota, transport, clock } = options;
  const { random = Math.random, maxTries = MAX_TRIES } = options;
  const secrets = [options.credentials.secret];
  const requests = new PQueue({ concurrency: options.maxInFlight ?? MAX_IN_FLIGHT });
  const closing = new AbortController();
  const joinSignal = createSignalJoiner(closing.signal);
  const linger = createLinger(clock, closing.signal);
  const counts = { retries: 0, rateLimited: 0 };
  const tools: AttemptTools = {
    quota,
    transport,
    clock,
    random,
    linger,
    headers: { accept: 'application/json', ...buildAuthHeader(connector, options.credentials) },
    window: { names: connector.rateLimitHeaders, windowMs: connector.limits.windowSeconds * 1_000 },
    onWarning: warnOnce(options.onWarning),
  };

  let serverAheadMs: number | undefined;

  async function get(request: ApiRequest, signal?: AbortSignal): Promise<ApiResponse> {
    const either = joinSignal(signal);
    assertNotAborted(either);
    return requests.add(() => getWithRetries(request, either));
  }

  async function getWithRetries(request: ApiRequest, signal: AbortSignal): Promise<ApiResponse> {
    let hasRaced = false;
    let unreadable = 0;
    for (let tries = 1; ; tries += 1) {
      const result = await watchAttempt(tools, request, { signal, attempt: tries, onEnd: options.onRequest });
      if (result.kind === 'answer' && result.serverDateMs !== undefined)
        serverAheadMs = result.serverDateMs - clock.now();
      if (result.kind === 'answer' && isSuccess(result.response.status)) {
        const response = toApiResponse(request, result);
        const flaw = judgeBody(request, response);
        if (flaw === undefined) return response;
        unreadable += 1;
        if (unreadable >= Math.min(maxTries, MAX_UNREADABLE_TRIES) || tries >= maxTries) throw flaw;
      } else if (tries >= maxTries || !mayPass(result)) {
        throw await buildError(request, result, tries, signal);
      }
      counts.retries += 1;
      if (result.kind === 'answer' && result.response.status === 429) {
        // The pause is the whole key's: the quota holds the next try back.
        counts.rateLimited += 1;
        continue;
      }
      // A server that closes an idle connection just as a request leaves is not at fault: try again at once.
      const isRace: boolean = result.kind === 'fault' && result.fault.kind === 'closed' && !hasRaced;
      hasRaced ||= isRace;
      const hintMs = result.kind === 'answer' ? (result.hintMs ?? 0) : 0;
      const delayMs = isRace ? 0 : Math.max(hintMs, computeBackoff(tries, random()));
      if (delayMs > 0) await quota.pause(delayMs, signal);
    }
  }

  async function buildError(
    request: ApiRequest,
    result: AttemptResult,
    tries: number,
    signal: AbortSignal,
  ): Promise<SyncError> {
    if (signal.aborted) return toAbortError(signal);
    if (result.kind === 'fault') return buildFaultError(request, result.fault, tries, secrets);
    const { response } = result;
    if (response.status === 429) counts.rateLimited += 1;
    const askedForMs = result.hintMs === undefined ? undefined : clock.now() + result.hintMs;
    const resumeAtMs = response.status === 429 ? (await quota.snapshot()).notBeforeMs : askedForMs;
    return buildStatusError({ request, response, tries, connector, secrets, resumeAtMs });
  }

  return {
    get,
    get serverAheadMs() {
      return serverAheadMs;
    },
    get usage() {
      return { requests: quota.spentRequests, ...counts, waitedMs: Math.round(quota.waitedMs) };
    },
    async close() {
      closing.abort(closedError());
      await requests.onIdle();
      try {
        await quota.flush();
      } finally {
        await transport.close();
      }
    },
  };
}

/** Joins a run's signal with ours, once for each: on Node 22 every AbortSignal.any leaks a little. */
function createSignalJoiner(ours: AbortSignal): (signal: AbortSignal | undefined) => AbortSignal {
  const joined = new WeakMap<AbortSignal, AbortSignal>();
  return (signal) => {
    if (signal === undefined) return ours;
    const known = joined.get(signal);
    if (known !== undefined) return known;
    const either = AbortSignal.any([signal, ours]);
    joined.set(signal, either);
    return either;
  };
}

function mayPass(result: AttemptResult): boolean {
  if (result.kind === 'fault') return isRetryableFault(result.fault.kind, result.fault.proxyStatus);
  if (result.response.status === 429) return true;
  return isRetryableStatus(result.response.status) && (result.hintMs ?? 0) <= LONGEST_RETRY_AFTER_MS;
}

/** The error of a body that another try may heal; throws every other objection of `accept`. */
function judgeBody(request: ApiRequest, response: ApiResponse): SyncError | undefined {
  try {
    request.accept?.(response);
    return undefined;
  } catch (error) {
    if (error instanceof SyncError && error.code === 'page_unreadable') return error;
    throw error;
  }
}

function toApiResponse(
  request: ApiRequest,
  { response, serverDateMs }: Extract<AttemptResult, { kind: 'answer' }>,
): ApiResponse {
  const { status, headers, body } = response;
  return { request, status, headers, body, serverDateMs };
}

function buildAuthHeader(connector: Connector, credentials: Credentials): Readonly<Record<string, string>> {
  // Checked here too, because an HTTP library's own complaint would quote the key.
  if (!/^[\x21-\x7e]+$/.test(credentials.secret)) {
    throw new ConfigError('the API key is empty or holds characters that no HTTP header can carry', {
      code: 'key_missing',
      hint: `Copy the key again; it is made in ${connector.auth.whereKeysAreMade}.`,
    });
  }
  const { header, scheme } = connector.auth;
  if (credentials.kind === 'bearer') return { authorization: `Bearer ${credentials.secret}` };
  const value = scheme === undefined ? credentials.secret : `${scheme} ${credentials.secret}`;
  return { [header.toLowerCase()]: value };
}

function warnOnce(onWarning: ((message: string) => void) | undefined): (message: string) => void {
  const told = new Set<string>();
  return (message) => {
    if (told.has(message)) return;
    told.add(message);
    onWarning?.(message);
  };
}

function closedError(): AbortedError {
  return new AbortedError('the run has ended', {
    code: 'aborted',
    hint: 'Nothing is left half done. Run the same command again to continue.',
  });
}
