import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { AbortedError } from '../../src/model/errors.ts';
import type { EndedSync } from '../../src/notify/notify-accounts.ts';
import { parseMetrics } from '../metrics/parse-metrics.ts';
import { createAccountsFlow } from '../support/accounts-flow.ts';
import { defaultEngine } from '../../src/cli/default-engine.ts';

const names = ['slow', 'b', 'revoked'];

it('a schedule over accounts tries those again that can go on, and names each in its metrics', async () => {
  const flow = createAccountsFlow({
    names,
    revoked: ['revoked'],
    accounts: [{ name: 'slow', rateLimit: { requestsPerHour: 6 } }],
  });
  const file = join(flow.folder, 'm.prom');
  const stop = new AbortController();
  const ended = new AbortedError('stopped by SIGTERM', { code: 'aborted', hint: 'Again.', exitCode: 143 });
  const runsOf: Record<string, number> = { slow: 0, b: 0, revoked: 0 };
  let writes = 0;
  const line = await flow.run(
    [
      'schedule',
      '--cron',
      '0 6 * * *',
      '--timezone',
      'UTC',
      '--jitter',
      '0',
      '--now',
      '--max-wait',
      '0',
      '--metrics-file',
      file,
    ],
    {
      signal: stop.signal,
      engine: {
        collectMetrics: async (settings, run, nowMs) => {
          const name = names.find((one) => settings?.stateDir.endsWith(`/${one}`) === true) ?? '';
          if (run !== undefined) runsOf[name] = (runsOf[name] ?? 0) + 1;
          return defaultEngine.collectMetrics(settings, run, nowMs);
        },
        writeMetricsFile: async (path, text) => {
          await defaultEngine.writeMetricsFile(path, text);
          writes += 1;
          // After the first run, and after the one that tried again.
          if (writes === 2) stop.abort(ended);
        },
      },
    },
  );
  expect(line.exitCode).toBe(143);
  expect(runsOf).toEqual({ slow: 2, b: 1, revoked: 1 });
  expect(line.stderr).toContain(
    '1 of 3 accounts complete, 1 failed (revoked), 1 to be continued (slow), exit code 5',
  );
  expect(line.stderr).toContain('the run is retried');
  const samples = (name: string) =>
    parseMetrics(readFileSync(file, 'utf8')).find((one) => one.name === name)?.samples ?? [];
  expect(
    Object.fromEntries(
      samples('sluice_last_run_exit_code').map(({ labels, value }) => [labels['account'], value]),
    ),
  ).toEqual({ slow: 0, b: 0, revoked: 3 });
  expect(samples('sluice_requests_total').map(({ labels }) => labels['account'])).toContain('slow');
});

const daily = ['schedule', '--cron', '0 6 * * *', '--timezone', 'UTC'];

it.each([
  ['a wrong setting of all', { notify: { command: ['true'] } }, undefined],
  [
    'a missing key of each',
    { source: { connector: 'analytics-read', apiKey: '${file:./none/${account}}' } },
    undefined,
  ],
  ['a wrong setting of each', {}, { slow: { streems: {} }, b: { streems: {} }, revoked: { streems: {} } }],
])('a schedule over accounts ends at its start with exit code 2 for %s', async (_, config, own) => {
  const flow = createAccountsFlow({ names, config, ...(own && { own }) });
  const { exitCode, stderr } = await flow.run(daily, {
    engine: { runSchedule: () => Promise.reject(new Error('it ran on')) },
  });
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 2 });
});

it('a schedule over accounts starts where the config of one cannot be used', async () => {
  const flow = createAccountsFlow({ names, own: { slow: { streems: {} } } });
  let runs = 0;
  const { exitCode, stderr } = await flow.run(daily, {
    engine: {
      runSchedule: () => {
        runs += 1;
        return Promise.resolve();
      },
    },
  });
  expect({ exitCode, runs, stderr }).toMatchObject({ exitCode: 0, runs: 1 });
});

it('a schedule over accounts logs what kept the file that joins them from being written, and tells it', async () => {
  const flow = createAccountsFlow({
    names: ['acme', 'globex'],
    config: { destination: { duckdb: './accounts/${account}.duckdb', combined: './all.duckdb' } },
  });
  writeFileSync(join(flow.folder, 'all.duckdb'), 'a file of somebody else');
  const stop = new AbortController();
  const told: EndedSync[] = [];
  const { stderr } = await flow.run([...daily, '--now'], {
    signal: stop.signal,
    engine: {
      notifyAccounts: (_, end) => {
        told.push(end);
        const reason = { code: 'aborted', hint: 'Again.', exitCode: 143 } as const;
        stop.abort(new AbortedError('stopped by SIGTERM', reason));
        return Promise.resolve([]);
      },
    },
  });
  const file = join(flow.folder, 'all.duckdb');
  expect(stderr).toContain(`all accounts together: ${file} was not written by Sluice`);
  expect(stderr).toContain('Name another file in the config');
  expect(told).toMatchObject([{ exitCode: 5, joint: { code: 'publish_refused' } }]);
});
