import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  check,
  defineConfig,
  plan,
  type ProgressEvent,
  type RunObserver,
  sync,
  SyncError,
} from '../../src/index.ts';
import { type SimulatorServer, startSimulatorServer } from '../../src/simulator/server.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { queryCopy } from '../support/published.ts';
import { startNode, waitForEnd } from '../support/run-node.ts';
import { buildConfig, makeFolder, unlimited } from '../support/sync-harness.ts';

const simulator = createSimulator({
  rateLimit: unlimited,
  sizes: { historyDays: 4, prompts: 10, mentionsPerDay: 5, categories: 3, productsPerCategory: 10 },
});
let server: SimulatorServer;
beforeAll(async () => {
  server = await startSimulatorServer(simulator);
});
afterAll(() => server.close());

function createProject(folder = makeFolder()) {
  const duckdb = join(folder, 'warehouse.duckdb');
  const places = { duckdbPath: duckdb, stateDir: join(folder, 'state'), ledgerDir: join(folder, 'quota') };
  return { folder, duckdb, config: buildConfig(places, { source: { baseUrl: server.baseUrl } }) };
}

/** What a library must leave alone. */
function readProcess() {
  return {
    listeners: process.eventNames().map((name) => [String(name), process.listenerCount(name)]),
    env: { ...process.env },
    cwd: process.cwd(),
    umask: process.umask(),
    exitCode: process.exitCode,
    title: process.title,
  };
}

describe('the library', () => {
  it('runs the example as a user would', async () => {
    const folder = makeFolder();
    const example = startNode(join(import.meta.dirname, '../../examples/sync.ts'), [], {
      cwd: folder,
      env: {
        ANALYTICS_BASE_URL: server.baseUrl,
        ANALYTICS_API_KEY: DEMO_KEY,
        XDG_STATE_HOME: folder,
        HOME: folder,
      },
    });
    const end = await waitForEnd(example);
    expect(end).toMatchObject({ exitCode: 0, stderr: '' });
    expect(end.stdout.split('\n')).toEqual([
      'visibility_mentions is done',
      'prompts_analytics is done',
      'commerce_category_products is done',
      'commerce_top_products is done',
      'visibility_mentions: complete, verified, 20 new rows',
      'prompts_analytics: complete, verified, 40 new rows',
      'commerce_category_products: complete, verified, 30 new rows',
      expect.stringMatching(/^commerce_top_products: complete, verified, \d+ new rows$/),
      'commerce_category_products verified',
      'commerce_top_products verified',
      'prompts_analytics verified',
      'visibility_mentions verified',
      '',
    ]);
    const { rows } = await queryCopy(
      join(folder, 'warehouse.duckdb'),
      'SELECT count(*) AS n FROM main.prompts_analytics',
    );
    expect(rows).toEqual([{ n: 40 }]);
  });

  it('lets observers see a run and its end, and warns of one that fails', async () => {
    const { config } = createProject();
    const seen: string[] = [];
    const broken: RunObserver = {
      name: 'broken',
      onEvent: () => {
        throw new Error('no screen');
      },
      onEnd: () => Promise.reject(new Error('no network')),
    };
    const watching: RunObserver = {
      name: 'watching',
      onEvent: ({ type }) => void seen.push(type),
      onEnd: (ended) => {
        seen.push(`ended ${ended.report?.status ?? ended.error?.code ?? ''}`);
        return Promise.resolve(['it noticed something']);
      },
    };
    const report = await sync(config, { observers: [broken, watching] });
    expect(report.exitCode).toBe(0);
    expect(report.warnings).toEqual([
      'broken threw: no screen',
      'broken threw: no network',
      'it noticed something',
    ]);
    expect([seen[0], ...seen.slice(-2)]).toEqual(['run-started', 'run-finished', 'ended complete']);

    seen.length = 0;
    const refused = sync(join(makeFolder(), 'missing.yaml'), { observers: [broken, watching] });
    await expect(refused).rejects.toMatchObject({ code: 'config_not_found' });
    expect(seen).toEqual(['ended config_not_found']);
  });

  it('leaves the process as it was: listeners, environment, folder, umask', async () => {
    const { config } = createProject();
    // The first run may load the engine; what that does is not ours.
    await sync(config);
    const before = readProcess();
    await sync(config, { force: true, signal: new AbortController().signal, onProgress: () => undefined });
    await plan(config);
    await check(config);
    await sync(config, { streams: ['nope'] }).catch(() => undefined);
    expect(readProcess()).toEqual(before);
  });

  it('leaves no listener on the signal it was given', async () => {
    const { config } = createProject();
    const { signal } = new AbortController();
    let open = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      open += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      open -= 1;
      remove(...args);
    };
    expect((await sync(config, { signal })).exitCode).toBe(0);
    expect(open).toBe(0);
  });

  it('takes the path of a sluice.yaml as well', async () => {
    const folder = makeFolder();
    const path = join(folder, 'sluice.yaml');
    writeFileSync(
      path,
      `source:\n  connector: analytics-read\n  baseUrl: ${server.baseUrl}\n  apiKey: ${DEMO_KEY}\n` +
        `  quota: { ledgerDir: ./quota, burstPerSecond: 1000 }\ndestination:\n  duckdb: ./out.duckdb\n`,
    );
    const report = await sync(path);
    expect(report).toMatchObject({ exitCode: 0, published: { path: join(folder, 'out.duckdb') } });
  });

  it('runs two projects side by side', async () => {
    const [one, two] = [createProject(), createProject()];
    const reports = await Promise.all([sync(one.config), sync(two.config)]);
    expect(reports.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    const sql = 'SELECT * EXCLUDE (_run_id, _synced_at) FROM main.prompts_analytics ORDER BY ALL';
    expect((await queryCopy(one.duckdb, sql)).rows).toEqual((await queryCopy(two.duckdb, sql)).rows);
  });

  it('throws only what keeps a run from starting, as an error with a code and a hint', async () => {
    const { config } = createProject();
    const broken = { ...config, source: { ...config.source, connector: 'analytics-reed' } };
    const failure = await sync(broken).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(SyncError);
    expect(failure).toMatchObject({ code: 'config_invalid', exitCode: 2 });
    expect((failure as SyncError).message).toMatch(/analytics-reed.*analytics-read/);
    expect((failure as SyncError).hint).not.toBe('');
  });

  it('plans what the sync then spends, and checks without changing anything', async () => {
    const { config, duckdb } = createProject();
    const checked = await check(config);
    expect(checked).toMatchObject({ ok: true, exitCode: 0 });
    expect(checked.requestsSpent).toBeLessThanOrEqual(4);
    const planned = await plan(config);
    const report = await sync(config);
    expect(planned.totals.requests).toBe(report.requests);
    expect(planned.totals.rows).toBe(report.rows.read);
    const offline = await plan(config, { offline: true });
    expect(offline).toMatchObject({ requestsSpent: 0, totals: { requests: 0 } });
    expect((await queryCopy(duckdb, 'SELECT count(*) AS n FROM _sluice.runs')).rows).toEqual([{ n: 1 }]);
  });

  it('reports its progress as values that survive JSON', async () => {
    const { config } = createProject();
    const events: ProgressEvent[] = [];
    await sync(config, { onProgress: (event) => events.push(event) });
    expect(events.length).toBeGreaterThan(10);
    for (const event of events) {
      expect(JSON.parse(JSON.stringify(event))).toMatchObject({ type: event.type });
    }
  });

  it('gives a config back as it was written, once it is right', () => {
    const { config } = createProject();
    expect(defineConfig(config)).toBe(config);
    expect(() => defineConfig({ ...config, stateDir: 7 as never })).toThrow(/stateDir/);
  });
});
