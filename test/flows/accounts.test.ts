import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AccountsReport } from '../../src/model/accounts-report.ts';
import { AbortedError } from '../../src/model/errors.ts';
import { parseMetrics } from '../metrics/parse-metrics.ts';
import { type AccountsFlow, createAccountsFlow, TABLES } from '../support/accounts-flow.ts';
import { queryCopy } from '../support/published.ts';
import { HOUR_MS } from '../support/sync-harness.ts';

const codesOf = ({ accounts }: AccountsReport) =>
  Object.fromEntries(accounts.map(({ account, exitCode }) => [account, exitCode]));

/** What an account's tables hold has to be what it alone gives, and no row of another account. */
async function expectClean(flow: AccountsFlow, account: string): Promise<void> {
  const alone = await flow.clean(account);
  for (const table of TABLES) {
    const rows = await flow.rows(account, table);
    expect(rows, `${account}.${table}`).toEqual(await alone.rows(account, table));
    expect(new Set(rows.map(({ workspace }) => workspace)), `${account}.${table}`).toEqual(
      new Set([account]),
    );
  }
}

describe('a sync of several accounts', () => {
  it('gives each what it alone would have, and one failure stays in its account', async () => {
    const names = ['acme', 'globex', 'initech', 'umbrella', 'hooli'];
    const flow = createAccountsFlow({
      names,
      revoked: ['initech'],
      simulator: { rateLimit: { requestsPerHour: 600, burstPerSecond: 10 } },
      config: { concurrency: 3 },
    });
    const report = await flow.sync();
    expect(report.exitCode).toBe(5);
    expect(codesOf(report)).toEqual({ acme: 0, globex: 0, initech: 3, umbrella: 0, hooli: 0 });
    expect(flow.simulator.log.filter(({ status }) => status === 429)).toEqual([]);
    expect(flow.isPublished('initech')).toBe(false);
    for (const name of names.filter((one) => one !== 'initech')) await expectClean(flow, name);
  });

  it('syncs what is new of each on the next day, and asks nothing of those that are fresh', async () => {
    const flow = createAccountsFlow({
      names: ['acme', 'globex'],
      config: { defaults: { freshness: '20h' } },
    });
    await flow.sync();
    const before = flow.simulator.log.length;
    expect((await flow.sync()).exitCode).toBe(0);
    expect(flow.simulator.log.length).toBe(before);
    flow.simulator.advanceDay();
    await flow.clock.sleep(24 * HOUR_MS);
    expect((await flow.sync()).exitCode).toBe(0);
    for (const name of ['acme', 'globex']) await expectClean(flow, name);
  });

  it('lets one wait for its window while the others finish, and reads nothing of it twice', async () => {
    const flow = createAccountsFlow({
      names: ['slow', 'b', 'c', 'd'],
      accounts: [{ name: 'slow', rateLimit: { requestsPerHour: 3 } }],
      config: { concurrency: 1 },
    });
    const report = await flow.sync();
    expect(codesOf(report)).toEqual({ slow: 0, b: 0, c: 0, d: 0 });
    const [slow] = report.accounts;
    expect(slow?.runs).toBeGreaterThan(1);
    expect(flow.simulator.log.filter(({ status }) => status === 429)).toEqual([]);
    // The others were served in the first window of the one that waits.
    const last = flow.simulator.log.findLastIndex(({ account }) => account !== 'slow');
    expect(flow.simulator.log.slice(last + 1).some(({ account }) => account === 'slow')).toBe(true);
    await expectClean(flow, 'slow');
    const alone = await flow.clean('slow');
    // What it costs to be continued: one look at each stream that was not done.
    const own = flow.simulator.log.filter(({ account }) => account === 'slow').length;
    expect(own).toBeLessThanOrEqual(alone.simulator.log.length + (slow?.runs ?? 0) * 2);
  });

  it('reads everything of each once with --full-refresh, in however many windows', async () => {
    const flow = createAccountsFlow({
      names: ['a', 'b'],
      simulator: { rateLimit: { requestsPerHour: 6 } },
    });
    expect((await flow.sync()).exitCode).toBe(0);
    await flow.clock.sleep(HOUR_MS);
    const report = await flow.sync(['--full-refresh']);
    expect(codesOf(report)).toEqual({ a: 0, b: 0 });
    for (const { report: run } of report.accounts)
      expect(run?.streams.map(({ mode, status }) => [mode, status])).toEqual(
        TABLES.map(() => ['full', 'complete']),
      );
  });

  it('ends with 75 and the earliest time where only the quota keeps some from being done', async () => {
    const flow = createAccountsFlow({
      names: ['slow', 'b'],
      accounts: [{ name: 'slow', rateLimit: { requestsPerHour: 2 } }],
    });
    const report = await flow.sync(['--max-wait', '0']);
    expect(report.exitCode).toBe(75);
    expect(codesOf(report)).toEqual({ slow: 75, b: 0 });
    expect(report.resumeAt).toBe(report.accounts[0]?.resumeAt);
    expect(Date.parse(report.resumeAt ?? '')).toBeGreaterThan(flow.clock.now());
    const text = await flow.run(['sync', '--max-wait', '0']);
    expect(text.exitCode).toBe(75);
    expect(text.stdout).toContain('1 of 2 accounts complete, 1 to be continued (slow)');
    await flow.clock.sleep(HOUR_MS);
    expect((await flow.sync()).exitCode).toBe(0);
    await expectClean(flow, 'slow');
  });

  it('runs the accounts that are named, and refuses names that the config does not have', async () => {
    const flow = createAccountsFlow({ names: ['acme', 'globex', 'globex-eu'] });
    const report = await flow.sync(['--accounts', 'glob*']);
    expect(codesOf(report)).toEqual({ globex: 0, 'globex-eu': 0 });
    expect(flow.isPublished('acme')).toBe(false);
    const wrong = await flow.run(['sync', '--accounts', 'globx']);
    expect(wrong).toMatchObject({ exitCode: 2 });
    expect(wrong.stderr).toContain('no account is called "globx"; did you mean "globex"?');
  });

  it('keeps a mistake in what one account says for itself in that account', async () => {
    const flow = createAccountsFlow({ names: ['acme', 'globex'] });
    await flow.sync();
    flow.simulator.advanceDay();
    await flow.clock.sleep(24 * HOUR_MS);
    flow.writeConfig(['acme', 'globex'], { globex: { streams: { prompts_analytics: { keey: ['id'] } } } });
    const { stdout, exitCode } = await flow.run(['sync']);
    expect(exitCode).toBe(5);
    expect(stdout).toContain('accounts.globex.streams.prompts_analytics.keey');
    await expectClean(flow, 'acme');
    const status = JSON.parse(
      readFileSync(join(flow.folder, '.sluice/globex/refused.json'), 'utf8'),
    ) as object;
    expect(status).toMatchObject({ refused: { error: { code: 'config_invalid' } } });
  });

  it('says once what keeps all of them from being synced', async () => {
    const flow = createAccountsFlow({ names: ['a', 'b', 'c'], config: { defaults: { lookback: '1h' } } });
    // The config is not certain: a refusal is only recorded in a folder that a sync has used.
    for (const name of ['a', 'b', 'c']) {
      mkdirSync(join(flow.folder, '.sluice', name), { recursive: true });
      writeFileSync(join(flow.folder, '.sluice', name, 'lock.sqlite'), '');
    }
    for (const command of ['sync', 'sync --dry-run', 'status', 'plan', 'check', 'verify', 'runs', 'report']) {
      const { stdout, stderr, exitCode } = await flow.run(command.split(' '));
      expect({ command, exitCode, stdout }).toEqual({ command, exitCode: 2, stdout: '' });
      expect(stderr.match(/must be at least 1d/g), command).toHaveLength(1);
      const json = await flow.run([...command.split(' '), '--json']);
      expect(JSON.parse(json.stdout), command).toMatchObject({
        ok: false,
        exitCode: 2,
        result: null,
        error: { code: 'config_invalid', message: expect.stringMatching(/lookback: must be/) as string },
      });
    }
    expect(flow.simulator.log).toEqual([]);
    for (const name of ['a', 'b', 'c']) {
      const told = readFileSync(join(flow.folder, `.sluice/${name}/refused.json`), 'utf8');
      expect(JSON.parse(told)).toMatchObject({ refused: { error: { code: 'config_invalid' } } });
    }
  });

  it('counts metrics of each where none of them was begun', async () => {
    const flow = createAccountsFlow({ names: ['a', 'b'], config: { notifyy: {} } });
    const file = join(flow.folder, 'sluice.prom');
    expect((await flow.run(['sync', '--metrics-file', file])).exitCode).toBe(2);
    expect(readFileSync(file, 'utf8')).toContain('sluice_last_run_exit_code{account="b"} 2');
  });

  it.each([
    ['what all share', {}],
    ['one account', { b: { notifyy: {} } }],
  ])('keeps the series of streams in the file where the config of %s is broken', async (_, own) => {
    const flow = createAccountsFlow({ names: ['a', 'b'] });
    const file = join(flow.folder, 'sluice.prom');
    await flow.sync(['--metrics-file', file]);
    const samples = (name: string) =>
      parseMetrics(readFileSync(file, 'utf8'))
        .filter((one) => one.name === name)
        .map((one) => one.samples.map(({ labels, value }) => [labels['account'], value]));
    const [before] = samples('sluice_stream_rows');
    expect(before).toHaveLength(2 * TABLES.length);
    flow.writeConfig(['a', 'b'], own);
    const path = join(flow.folder, 'sluice.yaml');
    if (!('b' in own)) writeFileSync(path, readFileSync(path, 'utf8').replace('{', '{"notifyy":{},'));
    expect((await flow.run(['sync', '--metrics-file', file])).exitCode).not.toBe(0);
    expect(samples('sluice_stream_rows').map((all) => all.toSorted())).toEqual([before?.toSorted()]);
    expect(samples('sluice_last_run_exit_code')[0]).toContainEqual(['b', 2]);
  });

  it('goes on with the others where one corrects for itself what all share', async () => {
    const flow = createAccountsFlow({
      names: ['a', 'b', 'c'],
      config: { defaults: { lookback: '1h' } },
      own: { b: { defaults: { lookback: '2d' } } },
    });
    const { stdout, exitCode } = await flow.run(['sync']);
    expect(exitCode).toBe(5);
    expect(stdout).toMatch(/^a, c: .*must be at least 1d/m);
    expect(stdout).toContain('1 of 3 accounts complete, 2 failed (a, c)');
  });

  it('says that nothing was due', async () => {
    const flow = createAccountsFlow({ names: ['a', 'b'], config: { defaults: { freshness: '20h' } } });
    expect((await flow.run(['sync'])).stdout).not.toContain('Nothing was due');
    expect((await flow.run(['sync'])).stdout).toContain(
      'Nothing was due: every stream was synced recently, and no request was sent (--force syncs them anyway).',
    );
  });

  it('keeps the data of an account that is renamed, where its places are moved', async () => {
    const flow = createAccountsFlow({
      names: ['acme', 'globex'],
      config: { defaults: { freshness: '20h' } },
    });
    await flow.sync();
    const before = await flow.rows('acme', 'prompts_analytics');
    const asked = flow.simulator.log.length;
    const move = (from: string, to: string) => renameSync(join(flow.folder, from), join(flow.folder, to));
    move('.sluice/acme', '.sluice/hooli');
    move('lake/account=acme', 'lake/account=hooli');
    move('accounts/acme.duckdb', 'accounts/hooli.duckdb');
    flow.writeConfig(['hooli', 'globex']);
    move('keys/acme', 'keys/hooli');
    expect((await flow.sync()).exitCode).toBe(0);
    expect(flow.simulator.log.length).toBe(asked);
    expect(await flow.rows('hooli', 'prompts_analytics')).toEqual(before);
    expect((await flow.run(['verify'])).exitCode).toBe(0);
    const { stdout } = await flow.run([
      'query',
      '--json',
      'SELECT DISTINCT account FROM prompts_analytics ORDER BY 1',
    ]);
    expect(stdout).toContain('hooli');
    expect(stdout).not.toContain('acme');
  });

  it('never runs an account twice at once: a second process does the others', async () => {
    const flow = createAccountsFlow({ names: ['a', 'b', 'c'], config: { concurrency: 3 } });
    const [first, second] = await Promise.all([flow.sync(), flow.sync()]);
    for (const name of ['a', 'b', 'c']) {
      const codes = [codesOf(first)[name], codesOf(second)[name]];
      expect(codes).toContain(0);
      expect(codes.every((code) => code === 0 || code === 75)).toBe(true);
      await expectClean(flow, name);
    }
  });

  it('keeps what each has when it is stopped, and begins no other', async () => {
    const flow = createAccountsFlow({ names: ['a', 'b', 'c', 'd'], config: { concurrency: 1 } });
    const stop = new AbortController();
    const reason = new AbortedError('stopped by SIGTERM', { code: 'aborted', hint: 'Again.', exitCode: 143 });
    const stopped = once(stop.signal, 'abort');
    const report = await flow.sync([], {
      signal: stop.signal,
      engine: {
        // The second one begins while the first one publishes, and must not be done by then.
        runSync: async (settings, run) => {
          if (settings.stateDir.endsWith(`${sep}b`)) await stopped;
          return flow.engine.runSync(settings, run);
        },
        settleRefusal: () => {
          stop.abort(reason);
          return Promise.resolve();
        },
      },
    });
    expect(report.exitCode).toBe(143);
    expect(codesOf(report)).toEqual({ a: 0, b: 143, c: 143, d: 143 });
    expect((await flow.sync()).exitCode).toBe(0);
    for (const name of ['a', 'b', 'c', 'd']) await expectClean(flow, name);
  });

  it('joins them in views, in a combined file and in queries, and keeps those whose run failed', async () => {
    const flow = createAccountsFlow({
      names: ['a', 'b', 'c'],
      config: {
        destination: {
          parquet: './lake/account=${account}',
          duckdb: './accounts/${account}.duckdb',
          combined: './all.duckdb',
        },
      },
    });
    const report = await flow.sync();
    expect([report.exitCode, report.error ?? undefined]).toEqual([0, undefined]);
    expect(report.files.map(({ path, isReplaced, leftOut }) => [path, isReplaced, leftOut])).toEqual([
      [join(flow.folder, 'lake/lake.duckdb'), true, []],
      [join(flow.folder, 'all.duckdb'), true, []],
    ]);
    const counted =
      'SELECT account, count(*)::INTEGER AS n FROM main.prompts_analytics GROUP BY 1 ORDER BY 1';
    const expected = await Promise.all(
      ['a', 'b', 'c'].map(async (account) => ({
        account,
        n: (await flow.rows(account, 'prompts_analytics')).length,
      })),
    );
    const asked = async (...args: string[]) => {
      const { stdout } = await flow.run(['query', counted, '--format', 'json', ...args]);
      return JSON.parse(stdout) as unknown;
    };
    for (const { path } of report.files) expect((await queryCopy(path, counted)).rows).toEqual(expected);
    expect(await asked()).toEqual(expected);
    expect(await asked('--accounts', 'b')).toEqual(expected.slice(1, 2));

    expect((await flow.sync()).files.map(({ isReplaced }) => isReplaced)).toEqual([false, false]);
    flow.simulator.advanceDay();
    flow.writeConfig(['a', 'b', 'c'], { b: { defaults: { lookback: 'soon' } } });
    const next = await flow.sync(['--force']);
    expect(codesOf(next)).toEqual({ a: 0, b: 2, c: 0 });
    expect(next.files.map(({ isReplaced, leftOut }) => [isReplaced, leftOut])).toEqual([
      [true, []],
      [true, []],
    ]);
    const [all] = (await queryCopy(join(flow.folder, 'all.duckdb'), counted)).rows.filter(
      ({ account }) => account === 'b',
    );
    expect(all).toEqual(expected[1]);
  });

  it('does not end with 0 where the file that joins them cannot be written', async () => {
    const flow = createAccountsFlow({
      names: ['a', 'b'],
      config: { destination: { duckdb: './accounts/${account}.duckdb', combined: './all.duckdb' } },
    });
    writeFileSync(join(flow.folder, 'all.duckdb'), 'a file of somebody else');
    const report = await flow.sync();
    expect(codesOf(report)).toEqual({ a: 0, b: 0 });
    expect(report).toMatchObject({ exitCode: 5, files: [], error: { code: 'publish_refused', exitCode: 2 } });
    expect(readFileSync(join(flow.folder, 'all.duckdb'), 'utf8')).toBe('a file of somebody else');
    expect((await flow.run(['sync'])).stdout).toContain('all accounts together: ');
  });

  it('writes metrics in which each series names its account', async () => {
    const flow = createAccountsFlow({ names: ['a', 'b'], revoked: ['b'] });
    const file = join(flow.folder, 'm.prom');
    await flow.sync(['--metrics-file', file]);
    const samples = (name: string) =>
      parseMetrics(readFileSync(file, 'utf8')).find((one) => one.name === name)?.samples ?? [];
    expect(
      samples('sluice_last_run_exit_code').map(({ labels, value }) => [labels['account'], value]),
    ).toEqual([
      ['a', 0],
      ['b', 3],
    ]);
    expect(samples('sluice_stream_rows')).toHaveLength(TABLES.length);
    await flow.sync(['--metrics-file', file, '--metrics-without-streams']);
    expect(samples('sluice_stream_rows').map(({ labels }) => labels)).toEqual([
      { account: 'a', stream: '', slice: '' },
    ]);
  });
});

it('lists all accounts where the config of one is broken, and says what is wrong', async () => {
  const flow = createAccountsFlow({ names: ['a', 'b'], own: { b: { streams: { items: 5 } } } });
  const list = await flow.run(['accounts', 'list']);
  expect(list.exitCode).toBe(5);
  expect(list.stdout).toMatch(/^a .*yes.*^b .*yes.*^b: .*streams\.items.*^ {2}next: Correct/ms);
  const { result } = JSON.parse((await flow.run(['accounts', 'list', '--json'])).stdout) as {
    result: { accounts: { account: string; error?: { code: string } }[] };
  };
  expect(result.accounts.map(({ account, error }) => [account, error?.code])).toEqual([
    ['a', undefined],
    ['b', 'config_invalid'],
  ]);
});

describe('accounts that leave', () => {
  it('are named, deleted only when asked, and nothing of the others is touched', async () => {
    const flow = createAccountsFlow({ names: ['acme', 'old'] });
    await flow.sync();
    flow.writeConfig(['acme']);
    const list = await flow.run(['accounts', 'list']);
    expect(list.stdout).toMatch(/No longer in the config: old\..*sluice -c \S+ accounts remove old --data/s);
    expect((await flow.run(['accounts', 'remove', 'old'])).stdout).toContain('Nothing was deleted');
    expect((await flow.run(['accounts', 'remove', 'old', '--data'])).exitCode).toBe(2);
    expect(flow.isPublished('old')).toBe(true);
    expect(await flow.run(['accounts', 'remove', 'old', '--data', '--yes'])).toMatchObject({ exitCode: 0 });
    for (const place of ['.sluice/old', 'accounts/old.duckdb', 'lake/account=old'])
      expect(existsSync(join(flow.folder, place)), place).toBe(false);
    expect((await flow.run(['accounts', 'list'])).stdout).not.toContain('old');
    await expectClean(flow, 'acme');
    expect((await flow.sync()).exitCode).toBe(0);
    expect((await flow.run(['accounts', 'remove', 'old', '--data', '--yes'])).exitCode).toBe(2);
  });

  it.each(['../acme', '..', '/etc', 'a/b', '.sluice', 'ACME', ''])('cannot be called %j', async (name) => {
    const flow = createAccountsFlow({ names: ['acme'] });
    const { exitCode, stderr } = await flow.run(['accounts', 'remove', '--data', '--yes', '--', name]);
    expect(exitCode).toBe(2);
    expect(stderr).not.toContain('at ');
  });

  it('keep what is in the config, what is a link, and what is not ours', async () => {
    const flow = createAccountsFlow({ names: ['acme', 'old'] });
    await flow.sync();
    const inConfig = await flow.run(['accounts', 'remove', 'old', '--data', '--yes']);
    expect(inConfig).toMatchObject({ exitCode: 2 });
    expect(inConfig.stderr).toContain('is in the config');
    flow.writeConfig(['acme']);
    rmSync(join(flow.folder, 'accounts', 'old.duckdb'));
    writeFileSync(join(flow.folder, 'accounts', 'old.duckdb'), 'not a database of ours');
    const foreign = await flow.run(['accounts', 'remove', 'old', '--data', '--yes']);
    expect(foreign.exitCode).toBe(2);
    expect(existsSync(join(flow.folder, '.sluice/old/work.duckdb'))).toBe(true);
    symlinkSync(join(flow.folder, 'accounts', 'acme.duckdb'), join(flow.folder, 'accounts', 'linked.duckdb'));
    const linked = await flow.run(['accounts', 'remove', 'linked', '--data', '--yes']);
    expect(linked.exitCode).toBe(2);
    expect(linked.stderr).toContain('is a link');
    await expectClean(flow, 'acme');
  });
});
