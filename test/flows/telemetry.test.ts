import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { defaultEngine } from '../../src/cli/default-engine.ts';
import { systemClock } from '../../src/model/clock.ts';
import { toSyncError } from '../../src/model/errors.ts';
import type { EndedRun } from '../../src/model/run-observer.ts';
import type { FollowedRun, Telemetry } from '../../src/model/telemetry.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import { openTelemetry } from '../../src/telemetry/open-telemetry.ts';
import { createAccountsFlow } from '../support/accounts-flow.ts';
import { nameLineage, type OtlpReceiver, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { createFlow, type Flow, noBuiltIns, type RunOptions, START_MS } from '../support/sync-harness.ts';

let receiver: OtlpReceiver;

beforeAll(async () => {
  receiver = await startOtlpReceiver();
});

afterAll(async () => {
  await receiver.close();
});

afterEach(() => {
  vi.unstubAllEnvs();
});

const records = Array.from({ length: 250 }, (_, n) => ({
  id: n + 1,
  name: `item ${n + 1}`,
  date: '2026-01-30',
}));
const items = { path: 'items', paginated: true };

function makeFlow(rateLimit = { requestsPerHour: 1_000, burstPerSecond: 1_000 }): Flow {
  return createFlow({
    simulator: {
      builtIns: false,
      rateLimit,
      endpoints: { items: { paginated: true, records: () => records } },
    },
    config: { streams: { ...noBuiltIns, items } },
  });
}

/** Telemetry that goes to the receiver; the exporters read the environment of the process. */
async function open(
  flow: Pick<Flow, 'clock'>,
  env: Readonly<Record<string, string>> = {},
): Promise<Telemetry> {
  const all = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    ...env,
  };
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
  const { telemetry, warnings } = await openTelemetry({
    env: process.env,
    clock: { ...flow.clock, sleep: neverWake },
    mask: (text) => text,
    isWithinTrace: true,
  });
  expect(warnings).toEqual([]);
  if (telemetry === undefined) throw new Error('there is no telemetry');
  return telemetry;
}

/** Sending may take as long as it takes here. */
function neverWake(_ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

interface TracedOptions extends RunOptions {
  readonly run?: FollowedRun;
  readonly env?: Readonly<Record<string, string>>;
}

/** Syncs, and returns the spans of that run. */
async function syncTraced(flow: Flow, { run = {}, env, ...options }: TracedOptions = {}) {
  const telemetry = await open(flow, env);
  const observer = telemetry.followRun(run);
  const startedAtMs = flow.clock.now();
  const ended: EndedRun = await flow
    .sync({ ...options, onProgress: (event) => observer.onEvent?.(event) })
    .then(
      (report) => ({ startedAtMs, report }),
      (thrown: unknown) => ({ startedAtMs, error: toSyncError(thrown) }),
    );
  await observer.onEnd?.(ended);
  const before = receiver.spans.length;
  expect(await telemetry.flush()).toEqual([]);
  const spans = receiver.spans.slice(before);
  return { ended, spans, find: (name: string) => spans.find((span) => span.name === name) };
}

describe('the traces of a run', () => {
  it('show streams, pages, the commit and what was published, below the trace of who started it', async () => {
    const env = { TRACEPARENT: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    const { spans, find } = await syncTraced(makeFlow(), { env, run: { account: 'acme', token: 3 } });
    expect(new Set(spans.map((span) => nameLineage(spans, span)))).toEqual(
      new Set([
        'sluice.run',
        'sluice.run > sluice.stream',
        'sluice.run > sluice.stream > sluice.scan',
        'sluice.run > sluice.stream > sluice.scan > http GET',
        'sluice.run > sluice.stream > sluice.load',
        'sluice.run > sluice.stream > sluice.commit',
        'sluice.run > sluice.publish',
      ]),
    );
    expect(find('sluice.run')).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      parentSpanId: 'b7ad6b7169203331',
      error: undefined,
      attributes: { 'sluice.account': 'acme', 'sluice.token': 3, 'sluice.exit_code': 0 },
      resource: { 'service.name': 'sluice' },
    });
    expect(find('sluice.stream')?.attributes).toMatchObject({
      'sluice.stream': 'items',
      'sluice.verdict': 'verified',
      'sluice.rows_inserted': 250,
    });
    const requests = spans.filter(({ name }) => name === 'http GET');
    expect(requests.length).toBeGreaterThan(2);
    for (const { attributes } of requests)
      expect(attributes).toMatchObject({
        'http.request.method': 'GET',
        'http.response.status_code': 200,
        'url.path': expect.stringMatching(/\/items$/) as string,
      });
  });

  it('hold neither the key nor a query', async () => {
    const before = receiver.messages.length;
    await syncTraced(makeFlow());
    const sent = receiver.messages
      .slice(before)
      .map(({ body }) => body.toString('utf8'))
      .join('\n');
    expect(sent).toContain('sluice.scan');
    expect(sent).not.toContain(DEMO_KEY);
    expect(sent).not.toMatch(/limit=|offset=/);
  });

  it('of a failed run are errors, with its exit code', async () => {
    const { find, spans } = await syncTraced(makeFlow(), {
      config: { source: { apiKey: 'sim-wrong-key-0123456789' } },
    });
    expect(find('sluice.run')).toMatchObject({
      error: { message: expect.any(String) as string },
      attributes: { 'sluice.exit_code': 3, 'error.type': 'key_rejected' },
    });
    expect(find('http GET')).toMatchObject({
      error: {},
      attributes: { 'http.response.status_code': 401, 'error.type': '401' },
    });
    expect(JSON.stringify(spans)).not.toContain('sim-wrong-key');
  });

  it('show how long a run waited for its quota', async () => {
    const { find, spans } = await syncTraced(makeFlow({ requestsPerHour: 2, burstPerSecond: 1 }));
    const scan = find('sluice.scan');
    expect(scan?.events.map(({ name }) => name)).toContain('sluice.wait');
    expect(scan?.events.find(({ name }) => name === 'sluice.wait')?.attributes).toMatchObject({
      'sluice.until': expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
    });
    const waits = spans.map(({ attributes }) => Number(attributes['sluice.quota_wait_ms'] ?? 0));
    expect(Math.max(...waits)).toBeGreaterThan(60_000);
  });

  it('are a share of them where a sampler says so', async () => {
    expect((await syncTraced(makeFlow(), { env: { OTEL_TRACES_SAMPLER: 'always_off' } })).spans).toEqual([]);
  });
});

describe('a receiver that is away', () => {
  it('changes nothing in the run, and what is lost is one warning', async () => {
    const flow = makeFlow();
    const gone = await startOtlpReceiver();
    await gone.close();
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', gone.endpoint);
    vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json');
    // The virtual clock does not wait for the network.
    const { telemetry } = await openTelemetry({
      env: process.env,
      clock: flow.clock,
      mask: (text) => text,
      isWithinTrace: true,
    });
    const observer = telemetry?.followRun({});
    const report = await flow.sync({ onProgress: (event) => observer?.onEvent?.(event) });
    expect(report.exitCode).toBe(0);
    await observer?.onEnd?.({ startedAtMs: START_MS, report });
    const warnings = (await telemetry?.flush()) ?? [];
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^OpenTelemetry: \d+ spans could not be sent/);
  });
});

describe('a sync of several accounts', () => {
  it('has a trace of each account, and metrics with its name', async () => {
    const flow = createAccountsFlow({ names: ['acme', 'globex'], revoked: ['globex'] });
    const telemetry = await open(flow);
    const before = receiver.spans.length;
    const { exitCode } = await flow.run(['sync'], {
      engine: { openTelemetry: () => Promise.resolve({ telemetry, warnings: [] }) },
    });
    expect(exitCode).not.toBe(0);
    const runs = receiver.spans.slice(before).filter(({ name }) => name === 'sluice.run');
    const ends = runs.map(({ attributes, error }) => [
      attributes['sluice.account'],
      attributes['sluice.exit_code'],
      error !== undefined,
    ]);
    expect(ends.toSorted()).toEqual([
      ['acme', 0, false],
      ['globex', 3, true],
    ]);
    expect(new Set(runs.map(({ traceId }) => traceId)).size).toBe(2);
    const exits = receiver.samples.filter(({ name }) => name === 'sluice_last_run_exit_code');
    expect(exits.map(({ labels, value }) => [labels['account'], value]).toSorted()).toEqual([
      ['acme', 0],
      ['globex', 3],
    ]);
    const requests = receiver.samples.find(
      ({ name, labels }) => name === 'sluice_requests_total' && labels['account'] === 'acme',
    );
    expect(requests).toMatchObject({ kind: 'counter', value: expect.any(Number) as number });
  });
});

describe('without an endpoint', () => {
  it('nothing is opened', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', undefined);
    const effects = { env: {}, clock: systemClock, mask: (text: string) => text, isWithinTrace: true };
    expect(await openTelemetry(effects)).toEqual({ telemetry: undefined, warnings: [] });
    expect(await defaultEngine.openTelemetry(effects)).toEqual({ telemetry: undefined, warnings: [] });
  });
});
