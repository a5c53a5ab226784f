import { describe, expect, it } from 'vitest';
import { createUndiciTransport } from '../../src/http/undici-transport.ts';
import { ConfigError, LockedError } from '../../src/model/errors.ts';
import {
  breakConnection,
  errorStatus,
  respondWith,
  serverError,
  unauthorized,
} from '../../src/simulator/fault-effects.ts';
import { type Fault, when } from '../../src/simulator/faults.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { startSimulatorServer } from '../../src/simulator/server.ts';
import { expectRows } from '../support/published.ts';
import {
  countScanRequests,
  createFlow,
  createItemsFlow,
  eventsOf,
  type Flow,
  type ItemsOptions,
  makeItems,
  noBuiltIns,
  offsetsOf,
  streamOf,
  unlimited,
} from '../support/sync-harness.ts';

const ITEMS = makeItems(600);
const CLEAN = countScanRequests(600);
const statuses = (report: Awaited<ReturnType<Flow['sync']>>) => report.streams.map(({ status }) => status);

function createFaultyFlow(faults: readonly Fault[], options: ItemsOptions = {}): Flow {
  return createItemsFlow(ITEMS, { ...options, simulator: { ...options.simulator, faults } });
}

describe('a refused key', () => {
  it('ends with 3 after exactly one request; nothing else is tried', async () => {
    const flow = createFlow({ simulator: { keys: [{ key: DEMO_KEY, state: 'expired' }] } });
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 3, requests: 1, status: 'failed' });
    expect(flow.arrivals).toHaveLength(1);
    expect(statuses(report)).toEqual(['failed', 'not-run', 'not-run', 'not-run']);
    expect(report.error).toMatchObject({ code: 'key_rejected', exitCode: 3 });
    expect(report.error?.message).toMatch(/visibility_mentions.*401/);
    expect(report.error?.hint).toMatch(/Settings > API Keys/);
    expect(flow.isPublished()).toBe(false);
  });

  it('in mid-run ends with 3, and the next run continues from the pages that came, with a new key', async () => {
    const flow = createFaultyFlow([when({ nth: 5, count: Infinity }, unauthorized())], {
      config: { quota: { burstPerSecond: 1 } },
    });
    expect(await flow.sync()).toMatchObject({ exitCode: 3, requests: 5 });
    flow.simulator.setFaults([]);
    flow.simulator.setKeyState('another-key-0123', 'active');
    const report = await flow.sync({ config: { source: { apiKey: 'another-key-0123' } } });
    expect(report).toMatchObject({ exitCode: 0, requests: CLEAN - 4 + 1 });
    expect(offsetsOf(flow.arrivals)).not.toContain(99);
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
  });

  it('after some streams ends with 3 and publishes those', async () => {
    const flow = createFlow();
    flow.simulator.setFaults([when({ path: 'commerce/top-products' }, unauthorized())]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(3);
    expect(statuses(report)).toEqual(['complete', 'complete', 'complete', 'failed']);
    expect(await flow.rows('prompts_analytics')).toHaveLength(1800);
  });
});

describe('what is said to be safe', () => {
  it.each([401, 403, 404, 500])('after other streams were committed is the own table: %s', async (status) => {
    const flow = createFlow({ config: { streams: { commerce_top_products: {} } } });
    const fails = when({ path: 'commerce/top-products', count: Infinity }, errorStatus(status));
    flow.simulator.setFaults([fails]);
    const first = streamOf(await flow.sync(), 'commerce_top_products').error;
    expect(first?.hint).not.toMatch(/No table|Its table/);
    flow.simulator.setFaults([]);
    expect(await flow.sync()).toMatchObject({ exitCode: 0 });
    flow.simulator.setFaults([fails]);
    const report = await flow.sync({ force: true });
    expect(statuses(report).slice(0, 3)).toEqual(['complete', 'complete', 'complete']);
    const hint = streamOf(report, 'commerce_top_products').error?.hint;
    expect(hint).toContain('Its table is unchanged.');
    expect(hint).not.toContain('No table');
    if (status === 401) expect(report.error?.hint).toBe(hint);
  });
});

describe('a key without permission', () => {
  it('for one stream ends with 5, and the others are committed', async () => {
    const keys = [{ key: DEMO_KEY, forbidden: ['prompts/analytics'] }];
    const flow = createFlow({ simulator: { keys } });
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 5, status: 'partial' });
    expect(statuses(report)).toEqual(['complete', 'failed', 'complete', 'complete']);
    expect(streamOf(report, 'prompts_analytics').error).toMatchObject({ code: 'key_forbidden', exitCode: 3 });
    expect(streamOf(report, 'prompts_analytics').requests).toBe(1);
    expect(await flow.query('SELECT stream, status FROM _sluice.stream_runs ORDER BY stream')).toContainEqual(
      {
        stream: 'prompts_analytics',
        status: 'failed',
      },
    );
  });

  it('for every stream ends with 3', async () => {
    const flow = createFlow();
    flow.simulator.setFaults([errorStatus(403)]);
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 3, requests: 4 });
    expect(flow.isPublished()).toBe(false);
  });
});

describe('an endpoint that answers 404', () => {
  const missing = (path: string) => when({ path }, errorStatus(404, 'No such endpoint.'));

  it('is unavailable and no failure when it is a built-in one that nobody named', async () => {
    const flow = createFlow();
    flow.simulator.setFaults([missing('commerce/top-products')]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(0);
    expect(statuses(report)).toEqual(['complete', 'complete', 'complete', 'unavailable']);
    expect(streamOf(report, 'commerce_top_products')).toMatchObject({ requests: 1, error: undefined });
  });

  it('is a failure when config names the stream', async () => {
    const flow = createFlow({ config: { streams: { commerce_top_products: {} } } });
    flow.simulator.setFaults([missing('commerce/top-products')]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(5);
    expect(streamOf(report, 'commerce_top_products').error).toMatchObject({ code: 'stream_not_found' });
  });

  it('keeps the table that an earlier run filled', async () => {
    const flow = createFaultyFlow([]);
    await flow.sync();
    flow.simulator.setFaults([missing('items')]);
    expect(await flow.sync({ force: true })).toMatchObject({ exitCode: 4, requests: 1 });
    expect(await flow.rows('items')).toHaveLength(600);
  });

  it('everywhere ends with 4 and points at the base URL', async () => {
    const flow = createFlow({ simulator: { basePath: '/other/v1' } });
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 4, requests: 4 });
    expect(statuses(report)).toEqual(Array(4).fill('unavailable'));
    expect(report.error?.message).toMatch(/127\.0\.0\.1:9\/api\/v1/);
    expect(report.error?.hint).toMatch(/baseUrl/);
    expect(flow.isPublished()).toBe(false);
  });

  it('for an id in its params is shown with the API’s own words', async () => {
    const flow = createFlow({
      config: {
        streams: {
          ...noBuiltIns,
          visibility_mentions: { enabled: true, params: { topicIds: ['topic_nope'] } },
        },
      },
    });
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(report.streams[0]?.error?.message).toMatch(/404 NOT_FOUND: Unknown topic ID: topic_nope/);
  });
});

describe('a request the API rejects', () => {
  it('is sent once only and ends with 4', async () => {
    const flow = createFlow({
      simulator: { requireEntity: true },
      config: { streams: { ...noBuiltIns, visibility_mentions: { enabled: true } } },
    });
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 4, requests: 1 });
    expect(report.streams[0]?.error?.message).toMatch(/VALIDATION_ERROR.*entity is required/);
  });

  it('ends with 4 at a redirect, which is not followed', async () => {
    const flow = createFaultyFlow([
      respondWith({ status: 302, body: '', headers: { location: 'https://elsewhere.example/login?x=1' } }),
    ]);
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 4, requests: 1 });
    expect(streamOf(report).error?.message).toMatch(/redirect to elsewhere\.example/);
    expect(streamOf(report).error?.message).not.toMatch(/login/);
  });

  it.each([418, 410])('ends with 4 at once at status %i', async (status) => {
    expect(await createFaultyFlow([errorStatus(status)]).sync()).toMatchObject({ exitCode: 4, requests: 1 });
  });
});

describe('a server that fails', () => {
  it.each([500, 503, 520, 408, 425])('twice with %i, then answers: complete', async (status) => {
    const flow = createFaultyFlow([when({ nth: 3, count: 2 }, errorStatus(status))]);
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, retries: 2, requests: CLEAN + 2 });
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
  });

  it('for ever ends with 75 after a bounded number of spaced tries', async () => {
    const flow = createFaultyFlow([serverError()]);
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 75, requests: 5, status: 'stopped' });
    expect(streamOf(report)).toMatchObject({ status: 'stopped' });
    expect(streamOf(report).error).toMatchObject({ code: 'server_failed' });
    const times = flow.arrivals.map(({ atMs }) => atMs);
    times.slice(1).forEach((atMs, at) => expect(atMs).toBeGreaterThan(times[at] ?? 0));
  });

  it('from some page on ends with 75, and the next run continues there', async () => {
    const flow = createFaultyFlow([when({ nth: 4, count: Infinity }, serverError())], {
      config: { quota: { burstPerSecond: 1 } },
    });
    // Five tries of the page, and five of the head, to know whether the server is down or the page broken.
    expect(await flow.sync()).toMatchObject({ exitCode: 75, requests: 3 + 5 + 5 });
    flow.simulator.setFaults([]);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: CLEAN - 3 + 1 });
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
  });

  it('at one offset while others answer ends with 4, names the offset and skips nothing', async () => {
    for (const offset of [99, 297]) {
      const flow = createFaultyFlow([when({ offset }, serverError())]);
      const report = await flow.sync();
      expect(report.exitCode).toBe(4);
      expect(streamOf(report).error?.message).toMatch(
        new RegExp(`^the page at offset ${offset} fails while others work: the API answered 500`),
      );
      expect(flow.isPublished()).toBe(false);
      flow.simulator.setFaults([]);
      expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 3 });
      expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
    }
  });

  it('at the last offset, with nobody else left to ask, ends with 4 as well', async () => {
    const flow = createFaultyFlow([when({ offset: 495 }, serverError())]);
    for (const requests of [CLEAN - 2 + 11, 1 + 11]) {
      const report = await flow.sync();
      expect(report.exitCode).toBe(4);
      expect(streamOf(report).error?.message).toContain('offset 495');
      expect(report.requests).toBe(requests);
    }
  });

  it('at one offset ends with 4 also when one request at a time is all there is', async () => {
    const flow = createFaultyFlow([when({ offset: 297 }, serverError())], {
      config: { quota: { burstPerSecond: 1 } },
    });
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(streamOf(report).error?.message).toContain('offset 297');
    // Three pages, five tries, the head, five tries.
    expect(report.requests).toBe(3 + 5 + 1 + 5);
  });

  it('from some page on ends with 75 also with many requests on their way: no page is blamed', async () => {
    const flow = createFaultyFlow([when({ nth: 4, count: Infinity }, serverError())]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(75);
    expect(streamOf(report).error?.code).toBe('server_failed');
    expect(report.requests).toBeLessThanOrEqual(3 + 5 * 5 + 5);
  });

  it('for as long as the tries take, and then no longer: complete', async () => {
    const flow = createFaultyFlow([when({ nth: 4, count: 5 }, serverError())], {
      config: { quota: { burstPerSecond: 1 } },
    });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: CLEAN + 5 + 1 });
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
  });

  it('on one stream ends with 5, and the others are committed', async () => {
    const flow = createFlow();
    flow.simulator.setFaults([when({ path: 'prompts/analytics' }, errorStatus(400))]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(5);
    expect(statuses(report)).toEqual(['complete', 'failed', 'complete', 'complete']);
  });
});

describe('a connection that fails', () => {
  it.each(['drop', 'cut'] as const)('once (%s) is tried again', async (how) => {
    const flow = createFaultyFlow([when({ nth: 3 }, breakConnection(how))]);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: CLEAN + 1 });
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
  });

  it('for ever ends with 75', async () => {
    const flow = createFaultyFlow([breakConnection('drop')]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(75);
    expect(report.requests).toBeLessThanOrEqual(6);
    expect(streamOf(report).error?.code).toBe('network_unreachable');
  });

  it('because nobody listens there ends with 75 and names the host', async () => {
    const server = await startSimulatorServer(createSimulator());
    await server.close();
    const baseUrl = server.baseUrl;
    const flow = createFlow({
      config: { source: { baseUrl }, streams: { ...noBuiltIns, visibility_mentions: { enabled: true } } },
      transport: createUndiciTransport({ baseUrl: new URL(baseUrl), userAgent: 'test' }),
    });
    const report = await flow.sync();
    expect(report.exitCode).toBe(75);
    expect(report.streams[0]?.error?.message).toContain(`127.0.0.1:${server.port}`);
    expect(flow.isPublished()).toBe(false);
  });

  it('over real sockets, in the middle of a body and between requests, loses nothing', async () => {
    const simulator = createSimulator({
      builtIns: false,
      rateLimit: unlimited,
      endpoints: { items: { paginated: true, records: () => ITEMS } },
      faults: [when({ nth: 2 }, breakConnection('cut')), when({ nth: 5 }, breakConnection('drop'))],
    });
    const server = await startSimulatorServer(simulator, { keepAliveTimeoutMs: 1 });
    try {
      const flow = createFlow({
        simulator,
        config: {
          source: { baseUrl: server.baseUrl },
          streams: { ...noBuiltIns, items: { path: 'items', paginated: true } },
        },
        transport: createUndiciTransport({ baseUrl: new URL(server.baseUrl), userAgent: 'test' }),
      });
      expect((await flow.sync()).exitCode).toBe(0);
      expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
    } finally {
      await server.close();
    }
  });
});

describe('--strict', () => {
  const twice = [...ITEMS, { ...ITEMS[0], name: 'again' }];

  it('turns a warning into exit 4, with what was synced committed and published', async () => {
    const flow = createItemsFlow(twice, { stream: { key: ['id'] } });
    const report = await flow.sync({ strict: true });
    expect(report.exitCode).toBe(4);
    expect(report.error).toMatchObject({ code: 'strict_breach' });
    expect(await flow.rows('items')).toHaveLength(600);
    expect(await flow.query('SELECT status, exit_code FROM _sluice.runs')).toEqual([
      { status: 'failed', exit_code: 4 },
    ]);
  });

  it('changes nothing without a warning', async () => {
    expect((await createFaultyFlow([]).sync({ strict: true })).exitCode).toBe(0);
  });

  it('does not hide a worse failure', async () => {
    const flow = createItemsFlow(twice, { stream: { key: ['id'] } });
    flow.simulator.setFaults([unauthorized()]);
    expect((await flow.sync({ strict: true })).exitCode).toBe(3);
  });
});

describe('--limit', () => {
  it('loads so many rows, moves no watermark and grants no freshness', async () => {
    const flow = createFaultyFlow([], { endpoint: { dateField: 'date' } });
    const report = await flow.sync({ limit: 150 });
    expect(report).toMatchObject({ exitCode: 0, rows: { read: 150, inserted: 150 } });
    expect(streamOf(report)).toMatchObject({ verdict: 'partial', watermark: undefined, rowsInTable: 150 });
    expect(report.requests).toBeLessThanOrEqual(CLEAN);
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS.slice(0, 150)));

    const next = await flow.sync();
    expect(streamOf(next)).toMatchObject({ status: 'complete', mode: 'full', verdict: 'verified' });
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
  });

  it('of one page asks for one page', async () => {
    const flow = createFaultyFlow([]);
    expect(await flow.sync({ limit: 10 })).toMatchObject({ exitCode: 0, requests: 1, rows: { read: 10 } });
  });

  it('above the rows there are is not a limit', async () => {
    const flow = createFaultyFlow([]);
    const report = await flow.sync({ limit: 5_000 });
    expect(report.exitCode).toBe(0);
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
  });

  it('keeps the watermark an earlier run reached, and deletes nothing', async () => {
    const flow = createFaultyFlow([], { endpoint: { dateField: 'date' } });
    const { watermark } = streamOf(await flow.sync());
    const report = await flow.sync({ limit: 20 });
    expect(streamOf(report)).toMatchObject({ watermark, rowsInTable: 600 });
  });
});

describe('--from', () => {
  it('asks from that date and never moves the watermark past what a normal run would', async () => {
    const flow = createFaultyFlow([], { endpoint: { dateField: 'date' } });
    const { watermark } = streamOf(await flow.sync());
    const report = await flow.sync({ from: '2026-01-03' });
    expect(report.exitCode).toBe(0);
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', watermark, rows: { read: 500 } });
    expect(new URLSearchParams(flow.arrivals[0]?.query).get('startDate')).toBe('2026-01-03');
  });

  it('on a first run leaves everything before it to the next one', async () => {
    const flow = createFaultyFlow([], { endpoint: { dateField: 'date' } });
    const first = await flow.sync({ from: '2026-01-10' });
    expect(first.exitCode).toBe(0);
    expect(streamOf(first)).toMatchObject({ watermark: undefined, rowsInTable: 150 });
    const second = await flow.sync();
    expect(streamOf(second)).toMatchObject({ status: 'complete', mode: 'full' });
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
  });

  it('is said to be ignored where a stream has no cursor', async () => {
    const flow = createFaultyFlow([], { stream: { cursor: false } });
    const report = await flow.sync({ from: '2026-01-10' });
    expect(report.exitCode).toBe(0);
    expect(report.warnings).toEqual([expect.stringMatching(/--from is ignored for items/)]);
    expect(streamOf(report).rowsInTable).toBe(600);
  });
});

describe('what keeps a run from starting', () => {
  it('is an unknown stream name: exit 2 and no request', async () => {
    const flow = createFlow();
    const failure = await flow.sync({ streams: ['promts_analytics'] }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConfigError);
    expect(failure).toMatchObject({ exitCode: 2, code: 'usage_invalid' });
    expect((failure as Error).message).toMatch(/promts_analytics.*prompts_analytics/);
    expect(flow.arrivals).toEqual([]);
  });

  it('is a state folder that another run holds: LockedError with its pid, and no request', async () => {
    const flow = createFaultyFlow([]);
    let failure: unknown;
    const attempts: Promise<unknown>[] = [];
    const report = await flow.sync({
      onProgress: ({ type }) => {
        if (type !== 'run-started') return;
        const other = createItemsFlow(ITEMS, { folder: flow.folder });
        attempts.push(
          other.sync().catch((error: unknown) => {
            failure = error;
            expect(other.arrivals).toEqual([]);
          }),
        );
      },
    });
    await Promise.all(attempts);
    expect(failure).toBeInstanceOf(LockedError);
    expect(failure).toMatchObject({ exitCode: 75, code: 'state_locked' });
    expect((failure as Error).message).toContain(`pid ${process.pid}`);
    expect(report.exitCode).toBe(0);
  });

  it('is a state that belongs to another base URL: exit 2 and no request', async () => {
    const flow = createFaultyFlow([]);
    await flow.sync();
    const config = { source: { baseUrl: 'http://127.0.0.1:9/other/v1' } };
    await expect(flow.sync({ config })).rejects.toMatchObject({ exitCode: 2, code: 'identity_mismatch' });
    expect(flow.arrivals).toEqual([]);
    expect((await flow.sync()).exitCode).toBe(0);
  });

  it('is not another key: keys expire', async () => {
    const flow = createFaultyFlow([], { simulator: { keys: [DEMO_KEY, 'another-key-0123'] } });
    await flow.sync();
    const report = await flow.sync({ force: true, config: { source: { apiKey: 'another-key-0123' } } });
    expect(report.exitCode).toBe(0);
    expect(new Set(flow.arrivals.map(({ keyId }) => keyId)).size).toBe(1);
  });

  it('is not a run id that was used: the later run gets a number behind it', async () => {
    const flow = createFaultyFlow([]);
    await flow.sync({ runId: 'mine' });
    const report = await flow.sync({ runId: 'mine', force: true });
    expect(report).toMatchObject({ exitCode: 0, runId: 'mine-2' });
    const runs = await flow.query('SELECT run_id FROM _sluice.runs ORDER BY run_id');
    expect(runs).toEqual([{ run_id: 'mine' }, { run_id: 'mine-2' }]);
  });
});

describe('the record of runs', () => {
  it('has the runs of which nothing was committed as well, once something is', async () => {
    const flow = createFaultyFlow([unauthorized()]);
    const refused = await flow.sync();
    flow.simulator.setFaults([]);
    const complete = await flow.sync();
    expect(await flow.query('SELECT run_id, exit_code FROM _sluice.runs ORDER BY exit_code')).toEqual([
      { run_id: complete.runId, exit_code: 0 },
      { run_id: refused.runId, exit_code: 3 },
    ]);
  });

  it('reports its end to observers, last of all', async () => {
    const flow = createFaultyFlow([]);
    const report = await flow.sync();
    expect(flow.events[0]?.type).toBe('run-started');
    expect(flow.events.at(-1)).toEqual({ type: 'run-finished', report });
    expect(eventsOf(flow, 'page-staged').at(-1)).toMatchObject({ rowsDone: 600, rowsDeclared: 600 });
  });
});
