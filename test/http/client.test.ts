import nock from 'nock';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { analyticsRead } from '../../connectors/analytics-read/connector.ts';
import { type ApiClientOptions, createApiClient } from '../../src/http/client.ts';
import { Quota } from '../../src/http/quota.ts';
import { formatUtc } from '../../src/http/quota-errors.ts';
import { createUndiciTransport } from '../../src/http/undici-transport.ts';
import { ResponseError, type SyncError } from '../../src/model/errors.ts';
import { type ApiClient, type ApiRequest, type Transport, TransportFault } from '../../src/model/http.ts';
import type { QuotaLimits } from '../../src/model/quota.ts';
import { createMemoryQuotaStore } from '../../state/memory-quota-store.ts';
import { createScriptedTransport, rateLimitHeaders, type Scripted } from '../support/scripted-transport.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const key = 'sk_live_0123456789abcdef';
const base = new URL('https://analytics.example.com/api/v1/');
const request: ApiRequest = {
  stream: 'prompts_analytics',
  url: new URL('prompts/analytics?limit=100&offset=300', base),
  offset: 300,
};
const limits: QuotaLimits = {
  ceilingPerWindow: undefined,
  windowMs: 3_600_000,
  defaultPerWindow: 600,
  burstPerSecond: 10,
  reserve: 0,
};

function setUp(
  transport: Transport,
  clock: VirtualClock,
  options: Partial<ApiClientOptions> & { readonly maxWaitMs?: number } = {},
): ApiClient {
  const quota = new Quota({
    store: createMemoryQuotaStore(),
    limits,
    clock,
    maxWaitMs: options.maxWaitMs ?? Infinity,
  });
  return createApiClient({
    connector: analyticsRead,
    credentials: { kind: 'api-key', secret: key },
    quota,
    transport,
    clock,
    random: () => 0.5,
    ...options,
  });
}

function script(
  answers: readonly Scripted[] | ((n: number) => Scripted),
  options: Partial<ApiClientOptions> & { readonly maxWaitMs?: number } = {},
) {
  const clock = createVirtualClock();
  const transport = createScriptedTransport(clock, answers);
  return { clock, transport, client: setUp(transport, clock, options) };
}

async function fail(promise: Promise<unknown>): Promise<SyncError> {
  return promise.then(
    () => expect.unreachable('it succeeded'),
    (error: unknown) => error as SyncError,
  );
}

const ok = { status: 200 };
const closed = new TransportFault('closed', 'other side closed', { sent: true });

describe('one exchange', () => {
  beforeAll(() => nock.disableNetConnect());
  afterEach(() => nock.cleanAll());
  afterAll(() => {
    nock.enableNetConnect();
    nock.restore();
  });

  /** One real exchange through undici, intercepted at the socket; time stands still while it runs. */
  async function exchange(
    reply: { status: number; body?: string; headers?: Record<string, string> },
    options: Partial<ApiClientOptions> = {},
  ) {
    const clock = createVirtualClock();
    const wire = createUndiciTransport({ baseUrl: base, userAgent: 'sluice/1.2.3' });
    const seen: Record<string, string>[] = [];
    nock(base.origin)
      .get('/api/v1/prompts/analytics?limit=100&offset=300')
      .times(5)
      .reply((received: Request) => {
        seen.push(Object.fromEntries(received.headers));
        return [reply.status, reply.body ?? '{}', reply.headers ?? {}];
      });
    const client = setUp(holdTime(wire, clock), clock, options);
    const result = await client.get(request).catch((error: unknown) => error as SyncError);
    await client.close();
    return { result, seen, usage: client.usage };
  }

  function holdTime(wire: Transport, clock: VirtualClock): Transport {
    return {
      async send(sending) {
        const release = clock.hold();
        try {
          return await wire.send(sending);
        } finally {
          release();
        }
      },
      close: () => wire.close(),
    };
  }

  it('carries the key, asks for JSON and gzip, and names the program', async () => {
    const { result, seen } = await exchange({ status: 200, body: '{"data":[]}' });
    expect(result).toMatchObject({ status: 200, request });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      'x-api-key': key,
      accept: 'application/json',
      'accept-encoding': 'gzip',
      'user-agent': 'sluice/1.2.3',
      host: 'analytics.example.com',
    });
  });

  it('carries a bearer token instead of a key', async () => {
    const { seen } = await exchange({ status: 200 }, { credentials: { kind: 'bearer', secret: 'a.b.c' } });
    expect(seen[0]).toMatchObject({ authorization: 'Bearer a.b.c' });
    expect(seen[0]).not.toHaveProperty('x-api-key');
  });

  it('reports the date of the server', async () => {
    const { result } = await exchange({ status: 200, headers: { date: 'Sun, 06 Nov 1994 08:49:37 GMT' } });
    expect(result).toMatchObject({ serverDateMs: Date.UTC(1994, 10, 6, 8, 49, 37) });
  });

  it.each([
    [400, 'VALIDATION_ERROR', { code: 'request_rejected', exitCode: 4, recovery: 'stop-stream' }],
    [401, 'UNAUTHORIZED', { code: 'key_rejected', exitCode: 3, recovery: 'stop-run' }],
    [403, 'FORBIDDEN', { code: 'key_forbidden', exitCode: 3, recovery: 'stop-stream' }],
    [404, 'NOT_FOUND', { code: 'stream_not_found', exitCode: 4, recovery: 'stop-stream' }],
    [418, 'TEAPOT', { code: 'request_rejected', exitCode: 4 }],
    [422, 'UNPROCESSABLE', { code: 'request_rejected', exitCode: 4 }],
  ])(
    'that ends with %i is one request and an error that names what failed',
    async (status, code, expected) => {
      const body = JSON.stringify({ error: { code, message: 'the entity is missing' } });
      const { result, seen } = await exchange({ status, body, headers: { 'X-Request-Id': 'req-77' } });
      expect(seen).toHaveLength(1);
      expect(result).toMatchObject(expected);
      const { message, context } = result as SyncError;
      expect(message).toBe(
        `prompts_analytics, offset 300: the API answered ${status} ${code}: the entity is missing (request id req-77)`,
      );
      expect(context).toEqual({ stream: 'prompts_analytics', offset: 300, status, requestId: 'req-77' });
    },
  );

  it('with a rejected key says why that can be and where keys are made', async () => {
    const { result } = await exchange({ status: 401 });
    const { hint } = result as SyncError;
    expect(hint).toContain('missing, invalid, expired, revoked');
    expect(hint).toContain('Settings > API Keys');
  });

  it.each([
    [
      'Missing required parameter: entity',
      'streams: { prompts_analytics: { params: { entity: [a, b] }, sliceBy: [entity] } }',
    ],
    ['startDate is not an ISO 8601 date', 'streams: { prompts_analytics: { params: { startDate: … } } }'],
    ['identity is odd', "Check the stream's params"],
  ])('that refuses a parameter (%s) says which config line to write', async (message, advice) => {
    const body = JSON.stringify({ error: { code: 'VALIDATION_ERROR', message } });
    const { result } = await exchange({ status: 400, body });
    expect((result as SyncError).hint).toContain(advice);
  });

  it.each([
    ['no JSON', '<html>Bad gateway</html>'],
    ['a text', '"oops"'],
    ['an error that is a text', '{"error":"oops"}'],
    ['parts of wrong types', '{"error":{"code":7,"message":{"a":1}}}'],
    ['nothing', ''],
    ['a deep nest', '['.repeat(100_000)],
  ])('whose error body is %s has a plain message', async (_, body) => {
    const { result } = await exchange({ status: 400, body });
    expect((result as SyncError).message).toBe('prompts_analytics, offset 300: the API answered 400');
  });

  it('never shows the key, a terminal escape or more than 500 characters of the server', async () => {
    const message = `${key} \u001b[31m${Buffer.from(key).toString('base64')}\n${'x'.repeat(1_000_000)}`;
    const body = JSON.stringify({ error: { code: `E ${key}`, message } });
    const { result } = await exchange({ status: 400, body, headers: { 'x-request-id': `id-${key}` } });
    const { message: shown, hint, context } = result as SyncError;
    const all = `${shown}${hint}${JSON.stringify(context)}`;
    expect(all).not.toContain(key);
    expect(all).not.toContain(Buffer.from(key).toString('base64'));
    expect(shown).toContain(String.raw`\x1b[31m`);
    expect(shown).toMatch(/request id id-\[redacted\]/);
    expect(shown.length).toBeLessThan(700);
    expect(/[\u0000-\u001f]/.test(shown)).toBe(false);
  });

  it.each([301, 302, 303, 307, 308])(
    'that ends with a redirect (%i) names its host and goes nowhere',
    async (status) => {
      const { result, seen } = await exchange({
        status,
        headers: { location: 'https://user:pass@other.example.net/steal?token=1' },
      });
      expect(seen).toHaveLength(1);
      expect(result).toMatchObject({ code: 'redirect_refused', exitCode: 4 });
      const { message } = result as SyncError;
      expect(message).toContain('a redirect to other.example.net, which is not followed');
      expect(message).not.toMatch(/pass|steal|token/);
    },
  );

  it.each([undefined, 'file:///etc/passwd', 'http://169.254.169.254/latest', '/login', '::::'])(
    'that redirects to %s is refused',
    async (location) => {
      const { result, seen } = await exchange({ status: 302, headers: location ? { location } : {} });
      expect(seen).toHaveLength(1);
      expect(result).toMatchObject({ code: 'redirect_refused' });
    },
  );

  it('with a 304 is refused, and is not a redirect: nothing conditional was asked', async () => {
    const { result, seen } = await exchange({ status: 304, body: '' });
    expect(seen).toHaveLength(1);
    expect(result).toMatchObject({ code: 'request_rejected', exitCode: 4 });
  });

  it('with a 204 is left to the page reader', async () => {
    const { result } = await exchange({ status: 204, body: '' });
    expect(result).toMatchObject({ status: 204 });
  });

  it.each([
    [
      'all valid',
      { 'x-ratelimit-limit': '1200', 'x-ratelimit-remaining': '1199', 'x-ratelimit-reset': '3000' },
      1199,
    ],
    ['Remaining missing', { 'x-ratelimit-limit': '600', 'x-ratelimit-reset': '3000' }, undefined],
    [
      'Remaining above Limit',
      { 'x-ratelimit-limit': '6', 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': '9' },
      undefined,
    ],
    [
      'NaN',
      { 'x-ratelimit-limit': 'NaN', 'x-ratelimit-remaining': 'NaN', 'x-ratelimit-reset': 'NaN' },
      undefined,
    ],
    ['none', {}, undefined],
  ])('with rate limit headers that are %s is a success', async (_, headers, remaining) => {
    const clock = createVirtualClock();
    const quota = new Quota({ store: createMemoryQuotaStore(), limits, clock, maxWaitMs: 0 });
    const { result } = await exchange({ status: 200, headers }, { quota });
    expect(result).toMatchObject({ status: 200 });
    expect((await quota.snapshot()).remaining).toBe(remaining);
  });
});

describe('a fault that may pass', () => {
  it.each([408, 425, 500, 502, 503, 504, 520, 599])(
    'is tried again after %i, with a backoff',
    async (status) => {
      const { client, transport, clock } = script([{ status }, { status }, ok]);
      expect((await client.get(request)).status).toBe(200);
      expect(transport.sent).toHaveLength(3);
      expect(client.usage).toMatchObject({ requests: 3, retries: 2, waitedMs: 250 + 500 });
      expect(clock.monotonic()).toBeGreaterThanOrEqual(750);
    },
  );

  it('ends after five tries with 75', async () => {
    const { client, transport } = script(() => ({
      status: 500,
      body: '{"error":{"code":"INTERNAL_ERROR"}}',
    }));
    const error = await fail(client.get(request));
    expect(error).toMatchObject({ code: 'server_failed', exitCode: 75 });
    expect(error.message).toBe(
      'prompts_analytics, offset 300: the API answered 500 INTERNAL_ERROR (after 5 tries)',
    );
    expect(transport.sent).toHaveLength(5);
  });

  it('waits as long as a 503 asks, and gives up when that is maintenance', async () => {
    const { client, clock } = script([{ status: 503, headers: { 'retry-after': '90' } }, ok]);
    await client.get(request);
    expect(clock.monotonic()).toBeGreaterThanOrEqual(90_000);
    const long = script(() => ({ status: 503, headers: { 'retry-after': '3600' } }));
    const resumeAtMs = long.clock.now() + 10 + 3_600_000;
    expect(await fail(long.client.get(request))).toMatchObject({
      code: 'server_failed',
      resumeAtMs,
      hint: `No table was changed. The server asked for a pause (Retry-After): run again after ${formatUtc(resumeAtMs)}.`,
    });
    expect(long.transport.sent).toHaveLength(1);
    const silent = script(() => ({ status: 503 }));
    expect(await fail(silent.client.get(request))).toMatchObject({
      resumeAtMs: undefined,
      hint: 'No table was changed. The server may recover: run again later.',
    });
  });

  it('of a connection that closed before the answer is tried again at once, and only once', async () => {
    const { client, transport } = script([closed, closed, ok]);
    await client.get(request);
    const times = transport.sent.map(({ atMs }) => atMs);
    expect(times).toEqual([0, 10, 20 + 500]);
    expect(client.usage).toMatchObject({ requests: 3, retries: 2 });
  });

  it('that never reached the server is not counted as a request', async () => {
    const refused = new TransportFault('refused', 'ECONNREFUSED', { sent: false });
    const { client } = script(() => refused);
    const error = await fail(client.get(request));
    expect(error).toMatchObject({ code: 'network_unreachable', exitCode: 75, cause: refused });
    expect(error.message).toBe(
      'prompts_analytics, offset 300: cannot reach analytics.example.com:443 (5 tries): ECONNREFUSED',
    );
    expect(client.usage).toMatchObject({ requests: 0, retries: 4 });
  });

  it.each([
    ['tls', 'network_unreachable', 75, 1],
    ['no-tls', 'network_unreachable', 75, 1],
    ['encoding-refused', 'page_unreadable', 4, 1],
    ['body-too-large', 'page_unreadable', 4, 1],
    ['body-corrupt', 'page_unreadable', 4, 5],
    ['malformed', 'response_invalid', 4, 5],
    ['headers-too-large', 'response_invalid', 4, 5],
    ['cut', 'network_unreachable', 75, 5],
    ['timeout', 'network_unreachable', 75, 5],
    ['dns', 'network_unreachable', 75, 5],
  ] as const)('of kind %s ends as %s with %i after %i tries', async (kind, code, exitCode, tries) => {
    const { client, transport } = script(() => new TransportFault(kind, `detail ${key}`, { sent: true }));
    const error = await fail(client.get(request));
    expect(error).toMatchObject({ code, exitCode });
    expect(error.message).not.toContain(key);
    expect(transport.sent).toHaveLength(tries);
  });

  it('of a proxy that wants credentials is a matter of config', async () => {
    const fault = new TransportFault('proxy', 'the proxy answered 407', { sent: false, proxyStatus: 407 });
    const { client, transport } = script(() => fault);
    expect(await fail(client.get(request))).toMatchObject({ code: 'config_invalid', exitCode: 2 });
    expect(transport.sent).toHaveLength(1);
  });

  it('is final at once for a command that may try only once', async () => {
    for (const answer of [{ status: 500 }, { status: 429 }, closed]) {
      const { client, transport } = script(() => answer, { maxTries: 1 });
      await fail(client.get(request));
      expect(transport.sent).toHaveLength(1);
    }
  });
});

describe('a 429', () => {
  it.each([
    ['Retry-After in seconds', { 'retry-after': '3' }, '{}', 3_000],
    ['Retry-After as a date', { 'retry-after': 'Fri, 20 Nov 2026 12:00:30 GMT' }, '{}', 30_000],
    ['the body alone', {}, '{"error":{"retryAfter":7}}', 7_000],
    ['the longer of both', { 'retry-after': '5' }, '{"error":{"retryAfter":60}}', 60_000],
    ['the body when the header is invalid', { 'retry-after': '-5' }, '{"error":{"retryAfter":4}}', 4_000],
    ['at least a second', { 'retry-after': '0' }, '{}', 1_000],
    ['at least a second for a date gone by', { 'retry-after': 'Fri, 20 Nov 2026 11:00:00 GMT' }, '{}', 1_000],
  ])('pauses by %s', async (_, headers, body, pauseMs) => {
    const date = 'Fri, 20 Nov 2026 12:00:00 GMT';
    const { client, transport } = script([{ status: 429, headers: { date, ...headers }, body }, ok]);
    await client.get(request);
    const gapMs = (transport.sent[1]?.atMs ?? 0) - 10;
    expect(gapMs).toBeGreaterThanOrEqual(pauseMs);
    expect(gapMs).toBeLessThan(pauseMs + 30);
    expect(client.usage).toMatchObject({ rateLimited: 1, retries: 1 });
  });

  it('without any hint pauses until the reset when nothing is left, else for the burst', async () => {
    const clock = createVirtualClock();
    const answers = (remaining: number) =>
      createScriptedTransport(clock, (n) => {
        const headers = rateLimitHeaders(clock, { remaining, resetInMs: 600_000 });
        return n === 0 ? { status: 429, headers } : ok;
      });
    const hourly = answers(0);
    await setUp(hourly, clock).get(request);
    expect(hourly.sent[1]?.atMs).toBeGreaterThanOrEqual(600_000);
    const burst = answers(400);
    const startMs = clock.monotonic();
    await setUp(burst, clock).get(request);
    expect((burst.sent[1]?.atMs ?? 0) - startMs).toBeLessThan(2_100);
  });

  it('pauses every request of the key, and one goes first', async () => {
    const { client, transport } = script((n) =>
      n === 0 ? { status: 429, headers: { 'retry-after': '20' } } : ok,
    );
    await Promise.all(Array.from({ length: 5 }, () => client.get(request)));
    const times = transport.sent.map(({ atMs }) => atMs);
    expect(times.slice(0, 3)).toEqual([0, 20_010, 20_020]);
  });

  it('ends the run after five spaced tries with the time to come back', async () => {
    const { client, transport } = script(() => ({ status: 429, headers: { 'retry-after': '2' } }));
    const error = await fail(client.get(request));
    expect(error).toMatchObject({ code: 'quota_exhausted', exitCode: 75, recovery: 'stop-run' });
    expect(error).toHaveProperty('resumeAtMs');
    expect(transport.sent).toHaveLength(5);
    const times = transport.sent.map(({ atMs }) => atMs);
    times.slice(1).forEach((at, index) => expect(at - (times[index] ?? 0)).toBeGreaterThanOrEqual(2_010));
    expect(client.usage).toMatchObject({ requests: 5, rateLimited: 5 });
  });

  it.each(['3600', '2147484', '1000000000000'])(
    'with a pause of %s s that the run may not wait ends it at once',
    async (seconds) => {
      const { client, transport } = script(() => ({ status: 429, headers: { 'retry-after': seconds } }), {
        maxWaitMs: 1_800_000,
      });
      const error = await fail(client.get(request));
      expect(error).toMatchObject({ code: 'quota_exhausted', exitCode: 75 });
      expect(error.hint).toMatch(/Run again after \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
      expect(transport.sent).toHaveLength(1);
    },
  );

  it('whose body is lost still counts with its header', async () => {
    const clock = createVirtualClock();
    let n = 0;
    const transport: Transport = {
      async send({ onHead }) {
        await clock.sleep(10);
        n += 1;
        if (n > 1) return { status: 200, headers: {}, body: Buffer.from('{}') };
        onHead?.({ status: 429, headers: { 'retry-after': '9' } });
        throw new TransportFault('cut', 'cut', { sent: true });
      },
      close: () => Promise.resolve(),
    };
    await setUp(transport, clock).get(request);
    expect(clock.monotonic()).toBeGreaterThanOrEqual(9_000);
  });
});

describe('a body that the caller cannot read', () => {
  const unreadable = () =>
    new ResponseError('not JSON', { code: 'page_unreadable', hint: 'Look at the source.' });

  it('is asked for once more', async () => {
    const { client, transport } = script([{ status: 200, body: '<html>' }, ok]);
    const accept = ({ body }: { readonly body: Buffer }) => {
      if (body.toString() !== '{}') throw unreadable();
    };
    expect((await client.get({ ...request, accept })).body.toString()).toBe('{}');
    expect(transport.sent).toHaveLength(2);
  });

  it('is the error of the caller when it comes again', async () => {
    const { client, transport } = script(() => ok);
    const accept = () => {
      throw unreadable();
    };
    expect(await fail(client.get({ ...request, accept }))).toMatchObject({ code: 'page_unreadable' });
    expect(transport.sent).toHaveLength(2);
  });

  it('is not asked for again for any other objection', async () => {
    const { client, transport } = script(() => ok);
    const objection = new Error('a bug');
    const accept = () => {
      throw objection;
    };
    expect(await fail(client.get({ ...request, accept }))).toBe(objection);
    expect(transport.sent).toHaveLength(1);
  });
});

describe('the client', () => {
  it('ends what is under way and what waits when it is closed', async () => {
    const { client, transport } = script(() => ok);
    const pending = [1, 2, 3].map(() => fail(client.get(request)));
    await client.close();
    for (const error of await Promise.all(pending)) expect(error).toMatchObject({ code: 'aborted' });
    expect(transport.isClosed).toBe(true);
  });

  it("ends a request with the caller's own error when its signal says so", async () => {
    const { client } = script(() => ok);
    const run = new AbortController();
    const reason = new ResponseError('enough', { code: 'source_drifted', hint: '-' });
    const pending = fail(client.get(request, run.signal));
    run.abort(reason);
    expect(await pending).toBe(reason);
  });

  it('keeps a settled quota whatever a transport throws', async () => {
    const clock = createVirtualClock();
    const bug = new TypeError('a bug of the transport');
    const store = createMemoryQuotaStore();
    const quota = new Quota({ store, limits, clock, maxWaitMs: 0 });
    const transport = { send: () => Promise.reject(bug), close: () => Promise.resolve() };
    const client = setUp(transport, clock, { quota });
    expect(await fail(client.get(request))).toBe(bug);
    await client.close();
    await store.update((state) => {
      expect(state).toMatchObject({ inFlight: [], unaccounted: { count: 1 } });
      return { state, result: undefined };
    });
  });

  it.each(['', 'two words', 'line\nbreak', 'schlüssel', '"'.repeat(0)])(
    'refuses a key that no header can carry (%j) without showing it',
    (secret) => {
      const clock = createVirtualClock();
      const credentials = { kind: 'api-key', secret } as const;
      expect(() => setUp(createScriptedTransport(clock, []), clock, { credentials })).toThrow(
        /holds characters that no HTTP header can carry/,
      );
    },
  );

  it('warns once of a reset that cannot be', async () => {
    const warnings: string[] = [];
    const headers = { 'x-ratelimit-reset': '4102444800' };
    const { client } = script(() => ({ status: 200, headers }), {
      onWarning: (message) => warnings.push(message),
    });
    await client.get(request);
    await client.get(request);
    expect(warnings).toHaveLength(1);
  });
});
