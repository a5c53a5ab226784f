import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { z } from 'zod';
import { startMetricsServer } from '../../src/metrics/metrics-server.ts';
import { startSimulatorServer } from '../../src/simulator/server.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { cliEntry } from '../support/cli-entry.ts';
import { startNode } from '../support/run-node.ts';
import { root } from './dockerfile.ts';
import { listSelectors, panels, rulesFile } from './monitoring-files.ts';
import { printFleet } from './printed-metrics.ts';

const KEY = 'example-key-0123456789';
const MOST_MS = 120_000;
const ASK_AGAIN_MS = 250;

/** How many queries the dashboard's panels have, and the panels of those that have no series while all is well. */
export interface AskedPanels {
  readonly asked: number;
  readonly empty: readonly string[];
}

/**
 * Asks a Prometheus, which scrapes a schedule after a sync of the simulated API and the metrics of a fleet, every query
 * of the dashboard. Fails where one has no answer though its series are printed, or where an alert is raised.
 */
export async function askPanels(prometheus: string, folder: string): Promise<AskedPanels> {
  const open: (() => Promise<unknown>)[] = [];
  try {
    const api = await startSimulatorServer(createSimulator({ keys: [KEY] }));
    open.push(() => api.close());
    const fleetText = await printFleet();
    const fleet = await startMetricsServer({
      host: '127.0.0.1',
      port: 0,
      paths: { '/metrics': () => ({ status: 200, type: 'text/plain; version=0.0.4', body: fleetText }) },
    });
    open.push(() => fleet.close());
    const schedule = startSchedule(folder, api.baseUrl);
    open.push(() => end(schedule.child));
    const origin = await schedule.origin;
    const port = await findFreePort();
    const server = startPrometheus(prometheus, folder, { origin, fleet: fleet.origin, port });
    open.push(() => end(server));
    return await askAll(`http://127.0.0.1:${port}`, origin, fleetText);
  } finally {
    for (const close of open.toReversed()) await close();
  }
}

/** A schedule that syncs once and then waits for a time that is far away. */
function startSchedule(folder: string, baseUrl: string) {
  const file = join(folder, 'sluice.yaml');
  const config = {
    source: { connector: 'analytics-read', baseUrl, apiKey: '${EXAMPLE_KEY}', keyExpiresAt: '2999-12-31' },
    destination: { duckdb: './warehouse.duckdb' },
    stateDir: './state',
  };
  writeFileSync(file, stringify(config));
  const args = ['schedule', '--cron', '@yearly', '--now', '--metrics-port', '0', '--log-format', 'json'];
  const child = startNode(cliEntry, [...args, '--config', file], {
    cwd: folder,
    env: { EXAMPLE_KEY: KEY, XDG_STATE_HOME: join(folder, 'quota') },
  });
  const origin = new Promise<string>((resolve, reject) => {
    let told = '';
    child.stderr?.on('data', (chunk) => {
      told += String(chunk);
      const [, found] = /"metricsOrigin":"([^"]+)"/.exec(told) ?? [];
      // The first run has ended then.
      if (found !== undefined && told.includes('"type":"next-run"')) resolve(found);
    });
    child.once('close', () => reject(new Error(`the schedule ended: ${told}`)));
  });
  return { child, origin };
}

function startPrometheus(
  prometheus: string,
  folder: string,
  { origin, fleet, port }: { readonly origin: string; readonly fleet: string; readonly port: number },
): ChildProcess {
  const target = (address: string) => [{ targets: [new URL(address).host] }];
  const config = join(folder, 'prometheus.yml');
  writeFileSync(
    config,
    stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [join(root, rulesFile)],
      scrape_configs: [
        { job_name: 'sluice', static_configs: target(origin) },
        { job_name: 'sluice-fleet', static_configs: target(fleet) },
      ],
    }),
  );
  const args = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(folder, 'series')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  return spawn(prometheus, args, { stdio: 'ignore' });
}

async function askAll(server: string, origin: string, fleetText: string): Promise<AskedPanels> {
  const queries = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })));
  const metrics = `${await (await fetch(`${origin}/metrics`)).text()}${fleetText}`;
  const printed = new Set([...metrics.matchAll(/^(sluice_\w+)/gm)].map(([name]) => name));
  const untilMs = performance.now() + MOST_MS;
  let unanswered = queries;
  // Rates need two scrapes.
  for (;;) {
    const answers = await Promise.all(
      unanswered.map(async (query) => ({ query, count: await countSeries(server, query.expr) })),
    );
    unanswered = answers.filter(({ count }) => count === 0).map(({ query }) => query);
    const missing = unanswered.filter(({ expr }) =>
      listSelectors(expr, 'sluice').every(({ name }) => printed.has(name)),
    );
    if (missing.length === 0) break;
    assert.ok(performance.now() < untilMs, `no series for ${missing.map(({ expr }) => expr).join('\n')}`);
    await sleep(ASK_AGAIN_MS);
  }
  await checkRules(server, untilMs);
  return { asked: queries.length, empty: [...new Set(unanswered.map(({ title }) => title))] };
}

/** How many series answer a query; undefined while the server does not answer. */
async function countSeries(server: string, expr: string): Promise<number> {
  // A filter that leaves out what is 0 says nothing about the series.
  const query = expr.replaceAll(/\$(?:account|stream)/g, '.*').replace(/ > 0$/, '');
  const url = `${server}/api/v1/query?query=${encodeURIComponent(query)}`;
  const answer = await fetch(url).catch(() => undefined);
  // It answers 503 until it has read its config.
  if (answer === undefined || answer.status === 503) return 0;
  const { status, data, error } = answerSchema.parse(await answer.json());
  assert.equal(status, 'success', `${query}: ${error}`);
  return data?.result.length ?? 0;
}

const answerSchema = z.object({
  status: z.string(),
  error: z.string().optional(),
  data: z.object({ result: z.array(z.unknown()) }).optional(),
});
const rulesSchema = z.object({
  data: z.object({
    groups: z.array(
      z.object({
        rules: z.array(
          z.object({
            name: z.string(),
            health: z.string(),
            state: z.string(),
            lastError: z.string().default(''),
            lastEvaluation: z.string(),
          }),
        ),
      }),
    ),
  }),
});

/** The first may have begun before all was scraped, and so may the one that was going on. */
const EVALUATIONS = 3;

/** Every alert can be evaluated, and none is raised where all is well and was scraped. */
async function checkRules(server: string, untilMs: number): Promise<void> {
  const times = new Map<string, Set<string>>();
  for (;;) {
    const { data } = rulesSchema.parse(await (await fetch(`${server}/api/v1/rules`)).json());
    const rules = data.groups.flatMap((group) => group.rules);
    for (const { name, lastEvaluation } of rules)
      times.set(name, (times.get(name) ?? new Set()).add(lastEvaluation));
    if (rules.length > 0 && [...times.values()].every((seen) => seen.size >= EVALUATIONS)) {
      const wrong = rules.filter(({ health, state }) => health !== 'ok' || state !== 'inactive');
      assert.deepEqual(wrong, []);
      return;
    }
    assert.ok(performance.now() < untilMs, 'the alerts were not evaluated');
    await sleep(ASK_AGAIN_MS);
  }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'close');
}
