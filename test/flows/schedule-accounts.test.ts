import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { EndedAccount } from '../../src/cli/frame/engine.ts';
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

/** What a schedule told and counted in two runs; `breakConfig` is called between them. */
async function breakBetweenRuns(breakConfig: (flow: ReturnType<typeof createAccountsFlow>) => void) {
  const flow = createAccountsFlow({
    names: ['acme', 'globex'],
    config: { notify: { onFailure: '/bin/true' } },
  });
  const stop = new AbortController();
  const told: (readonly EndedAccount[])[] = [];
  const file = join(flow.folder, 'm.prom');
  const line = await flow.run([...daily, '--now', '--metrics-file', file], {
    signal: stop.signal,
    engine: {
      notifyAccounts: (accounts) => {
        told.push(accounts);
        if (told.length === 1) breakConfig(flow);
        return Promise.resolve(told.length === 2 ? ['nobody was there'] : []);
      },
      writeMetricsFile: async (path, text) => {
        await defaultEngine.writeMetricsFile(path, text);
        const runs = parseMetrics(text).find(({ name }) => name === 'sluice_last_run_exit_code');
        const reason = { code: 'aborted', hint: 'Again.', exitCode: 143 } as const;
        if (runs?.samples.some(({ value }) => value === 2) === true)
          stop.abort(new AbortedError('stopped by SIGTERM', reason));
      },
    },
  });
  const samples = (name: string) =>
    parseMetrics(readFileSync(file, 'utf8')).find((one) => one.name === name)?.samples ?? [];
  const exitCodes = samples('sluice_last_run_exit_code').map(({ labels, value }) => [
    labels['account'],
    value,
  ]);
  const verified = samples('sluice_stream_verified_timestamp_seconds').map(({ labels }) => labels['account']);
  const ends = told.at(-1)?.map(({ account, settings, run }) => ({
    account,
    code: run.error?.code,
    asks: settings.notify.failure !== undefined,
  }));
  return { ...line, ends, runs: told.length, exitCodes, verified: [...new Set(verified)] };
}

it.each([
  ['can no longer be read', '{ "accounts": '],
  ['has a mistake that all accounts share', '{ "version": "x", "accounts": { "acme": {}, "globex": {} } }'],
  ['has no accounts any more', '{ "source": { "connector": "analytics-read" } }'],
])('a schedule over accounts notifies by the config it read last when it %s', async (_, text) => {
  const found = await breakBetweenRuns(({ folder }) => writeFileSync(join(folder, 'sluice.yaml'), text));
  expect(found.runs).toBe(2);
  expect(found.ends).toMatchObject([
    { account: 'acme', code: expect.stringMatching(/_invalid$/) as string, asks: true },
    { account: 'globex', code: expect.stringMatching(/_invalid$/) as string, asks: true },
  ]);
  expect(found.stderr).toContain('WARN: nobody was there');
  expect(found.exitCodes).toEqual([
    ['acme', 2],
    ['globex', 2],
  ]);
  expect(found.verified).toEqual(['acme', 'globex']);
});

it('a schedule over accounts notifies by what it read last of an account whose own config breaks', async () => {
  const found = await breakBetweenRuns((flow) =>
    flow.writeConfig(['acme', 'globex'], { acme: { streems: {} } }),
  );
  expect(found.ends).toEqual([
    { account: 'acme', code: 'config_invalid', asks: true },
    { account: 'globex', code: undefined, asks: true },
  ]);
  expect(found.exitCodes).toEqual([
    ['acme', 2],
    ['globex', 0],
  ]);
  expect(found.verified).toEqual(['acme', 'globex']);
});
