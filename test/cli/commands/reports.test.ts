import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/model/errors.ts';
import type { CheckReport, RunSummary, StatusReport } from '../../../src/model/reports.ts';
import { toRunSummary } from '../../../src/render/render-runs.ts';
import { run, stoppedClock } from '../support/capture.ts';
import { createFakeEngine } from '../support/fake-engine.ts';
import { NOW_MS, makeRunReport } from '../support/reports.ts';
import { makeStatusRow } from '../support/status-rows.ts';

const quota = { limit: 600, remaining: 558, resetAtMs: NOW_MS + 720_000, notBeforeMs: undefined };

describe('check', () => {
  const report: CheckReport = {
    ok: false,
    exitCode: 3,
    items: [
      { name: 'config', status: 'ok', detail: 'sluice.yaml', fix: undefined },
      { name: 'key', status: 'failed', detail: 'refused (401)', fix: 'Make a new key.' },
      { name: 'prompts_analytics', status: 'skipped', detail: 'after the key', fix: undefined },
    ],
    error: { code: 'key_rejected', message: 'refused (401)', hint: 'Make a new key.', exitCode: 3 },
    requestsSpent: 1,
    quota,
  };

  it('shows one line per item and a fix for each failure', async () => {
    const { exitCode, stdout } = await run(['check'], {
      engine: { runChecks: () => Promise.resolve(report) },
    });
    expect(exitCode).toBe(3);
    expect(stdout).toBe(
      [
        'ok      config             sluice.yaml',
        'FAILED  key                refused (401)',
        '        fix: Make a new key.',
        'skipped prompts_analytics  after the key',
        '',
        '1 check failed. 1 request used; 558 of 600 requests left until 14:00 UTC.',
        '',
      ].join('\n'),
    );
  });

  it('names a stream once, and wraps between words', async () => {
    const detail = 'prompts_analytics, offset 0: the server answered 500 and nothing else at all';
    const item = { name: 'prompts_analytics', status: 'failed', detail, fix: 'Try later.' } as const;
    const error = { code: 'server_failed', message: item.detail, hint: item.fix, exitCode: 75 } as const;
    const engine = { runChecks: () => Promise.resolve({ ...report, items: [item], error }) };
    const { stdout } = await run(['check'], { engine, columns: 60, env: { NO_COLOR: '1' } });
    expect(stdout).toMatch(/^FAILED +prompts_analytics {2}offset 0: the server answered 500\n {27}and/);
    const { stdout: json } = await run(['check', '--json'], { engine });
    expect(JSON.parse(json)).toMatchObject({ error: { message: detail } });
  });

  it('warns of a program that no notice could start, and is content otherwise', async () => {
    const failure = { kind: 'command', program: '/nowhere/tell.sh', args: [], cwd: '/' } as const;
    const sound = { ...report, ok: true, exitCode: 0, items: report.items.slice(0, 1), error: undefined };
    const { exitCode, stdout } = await run(['check'], {
      engine: {
        loadSettings: async () => ({
          ...(await createFakeEngine().engine.loadSettings({} as never)),
          notify: { failure },
        }),
        runChecks: () => Promise.resolve(sound),
      },
    });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^warning notify {2}notify\.onFailure: the program \/nowhere\/tell\.sh does not exist\n {8}fix: /m,
    );
    expect(stdout).toContain('Nothing failed, 1 warning.');
  });

  it('names the failure of its exit code as the error of --json', async () => {
    const engine = { runChecks: () => Promise.resolve(report) };
    const { stdout } = await run(['check', '--json'], { engine });
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      error: { code: 'key_rejected', message: 'key: refused (401)', hint: 'Make a new key.' },
    });
  });
});

describe('status', () => {
  const first = makeStatusRow({
    verifiedAt: '2026-11-20T13:00:00.000Z',
    keyColumns: ['prompt_id', 'date'],
    keyState: 'provisional',
  });
  const second = makeStatusRow({
    stream: 'commerce_top_products',
    verdict: undefined,
    rows: undefined,
    watermark: undefined,
    verifiedAt: undefined,
    fresh: false,
    keyColumns: undefined,
    keyState: undefined,
  });
  const report: StatusReport = {
    duckdbPath: '/data/warehouse.duckdb',
    published: { bytes: 4_200_000, modifiedAt: '2026-11-20T13:00:00.000Z' },
    streams: [first, second],
    quota,
    lastRun: makeRunReport(),
    refused: undefined,
    quarantined: 0,
  };

  it('needs no key and shows each stream, the quota and the last run', async () => {
    const { stdout, calls } = await run(['status'], {
      engine: { readStatus: () => Promise.resolve(report) },
    });
    expect(calls.map(({ name }) => name)).toEqual(['loadOfflineSettings', 'readStatus']);
    expect(stdout).toMatch(
      /prompts_analytics +verified +12,400 +2026-11-19 +48 min ago, fresh +prompt_id, date \(provisional\)/,
    );
    expect(stdout).toMatch(/commerce_top_products +never +- +- +- +-/);
    expect(stdout).toContain('Quota when that run ended: 558 of 600 requests left until 14:00 UTC.');
    expect(stdout).toContain('Published: /data/warehouse.duckdb (4.2 MB)');
  });

  it('names every place that the config publishes to', async () => {
    const elsewhere = [
      { destination: 'postgres://db/warehouse.public (Postgres)', publishedAt: '2026-11-20T13:00:00.000Z' },
      { destination: 'cat.example.com wh.analytics (Iceberg)', publishedAt: undefined },
    ];
    const { stdout } = await run(['status'], {
      engine: { readStatus: () => Promise.resolve({ ...report, elsewhere }) },
    });
    expect(stdout).toContain(
      'Published: postgres://db/warehouse.public (Postgres), 2026-11-20 13:00:00 UTC.',
    );
    expect(stdout).toContain(
      'Nothing was published to cat.example.com wh.analytics (Iceberg) by a run on record.',
    );
  });

  it.each([40, 60, 80])('cuts nothing on a terminal %i wide', async (columns) => {
    const engine = { readStatus: () => Promise.resolve(report) };
    const { stdout } = await run(['status'], { engine, columns });
    expect(stdout).toContain('commerce_top_products');
    expect(stdout).toMatch(/ago, fresh/);
    expect(stdout).not.toContain('…');
    expect(stdout.split('\n').filter((line) => line.length > columns)).toEqual([]);
  });

  describe('the morning after', () => {
    const error = {
      code: 'contract_broken',
      message: 'prompts_analytics: 38 of 332 records are no JSON objects',
      hint: 'Check the path.',
      exitCode: 4,
    } as const;
    const unsettled = { runId: 'run-0', startedAt: '', status: 'failed', error } as const;
    const show = (more: Partial<StatusReport>, argv: readonly string[] = []) =>
      run(['status', ...argv], { engine: { readStatus: () => Promise.resolve({ ...report, ...more }) } });

    it('shows what failed, why, what to do and where to read more', async () => {
      const streams = [{ ...first, unsettled }, second];
      const { stdout } = await show({ streams });
      expect(stdout).toMatch(/prompts_analytics +failed +12,400/);
      expect(stdout).toContain(
        [
          'prompts_analytics failed: 38 of 332 records are no JSON objects',
          '  next: Check the path.',
          'See: sluice runs run-0',
        ].join('\n'),
      );
      const { stdout: json } = await show({ streams }, ['--json']);
      expect(JSON.parse(json)).toMatchObject({
        summary: '0 of 2 streams verified, 1 fresh, 1 failed',
        result: { streams: [{ verdict: 'verified', unsettled: { error: { hint: 'Check the path.' } } }, {}] },
      });
    });

    it('tells the word of a run that failed though its streams did not, and of one that all failed of once', async () => {
      const lake = { ...error, code: 'publish_refused', message: 'the lake is not a folder' } as const;
      const lastRun = makeRunReport({ status: 'failed', exitCode: 2, error: lake });
      const { stdout } = await show({ lastRun });
      expect(stdout).toMatch(/prompts_analytics +verified/);
      expect(stdout).toContain(
        'the last run failed: the lake is not a folder\n  next: Check the path.\nSee: sluice runs run-1',
      );
      const { stdout: json } = await show({ lastRun }, ['--json']);
      expect(JSON.parse(json)).toMatchObject({
        summary: '1 of 2 streams verified, 1 fresh, the last run failed',
      });
      const refused = { ...unsettled, runId: 'run-1', error: lake };
      const { stdout: both } = await show({
        lastRun,
        streams: [{ ...first, unsettled: refused }],
      });
      expect(both.match(/the lake is not a folder/g)).toHaveLength(1);
    });

    it('is short where many streams failed, and keeps to their words', async () => {
      const streams = Array.from({ length: 8 }, (_, at) => ({
        ...first,
        stream: `s${at}`,
        unsettled: { ...unsettled, error: { ...error, message: 'x\u001B[2J' } },
      }));
      const { stdout } = await show({ streams });
      expect(stdout.match(/ failed: x/g)).toHaveLength(5);
      expect(stdout).toContain('3 more streams did not end well.');
      expect(stdout).not.toContain('\u001B[2J');
    });

    it('distinguishes data that is out of date from a sync that is', async () => {
      const newest = { date: '2026-11-17', since: '2026-11-18T05:00:00.000Z', usualMs: 1, stale: true };
      const names = ['prompts_analytics', 'b', 'c', 'd'];
      const streams = names.map((stream) => ({ ...first, stream, newest }));
      const { stdout } = await show({ streams: streams.slice(0, 1) });
      expect(stdout).toMatch(/prompts_analytics +verified +12,400 +2026-11-19, stale +48 min ago, fresh/);
      expect(stdout).toContain(
        'prompts_analytics is stale: nothing newer than 2026-11-17 has arrived since 2026-11-18 05:00:00 UTC, although it was synced\n  next: ask',
      );
      expect((await show({ streams })).stdout).toContain('\n1 more stream is stale.\n');
      expect(JSON.parse((await show({ streams }, ['--json'])).stdout)).toMatchObject({
        summary: '4 of 4 streams verified, 4 fresh, 4 stale',
        result: { streams: [{ newest }, {}, {}, {}] },
      });
      expect((await show({})).stdout).not.toContain('stale');
    });

    it('says which streams are verified from a day on only', async () => {
      const partial = { wholeAt: undefined, provedFrom: '2026-11-17' };
      const streams = ['prompts_analytics', 'b', 'c', 'd', 'e', 'f', 'g'].map((stream) => ({
        ...first,
        stream,
        ...partial,
      }));
      const { stdout } = await show({ streams: streams.slice(0, 1) });
      expect(stdout).toContain(
        'prompts_analytics is verified from 2026-11-17 on only: no full scan of it was verified\n  next: sluice sync --full-refresh',
      );
      expect((await show({ streams })).stdout).toMatch(/\nThe same is true of \d more streams?\.\n/);
      const whole = { ...first, ...partial, wholeAt: '2026-11-20T13:00:00.000Z' };
      expect((await show({ streams: [whole] })).stdout).not.toContain('on only');
    });

    it('counts what is in quarantine', async () => {
      const streams = [{ ...first, quarantined: 38 }, second];
      const { stdout } = await show({ streams, quarantined: 38 });
      expect(stdout).toContain('Quarantine: 38 records (prompts_analytics); see: sluice quarantine list');
      expect((await show({})).stdout).not.toContain('Quarantine');
    });
  });

  it.each([
    ['running', 'Under way: run run-1, since 2026-11-20 13:46:55 UTC.'],
    ['killed', 'Last: run run-1, started 2026-11-20 13:46:55 UTC, did not record its end: it was killed,'],
  ] as const)('tells of a run that is %s', async (status, line) => {
    const open = { ...report, lastRun: makeRunReport({ status }) };
    const { stdout } = await run(['status'], { engine: { readStatus: () => Promise.resolve(open) } });
    expect(stdout).toContain(line);
    expect(stdout).toContain('Quota when last seen: 558');
    const json = await run(['status', '--json'], { engine: { readStatus: () => Promise.resolve(open) } });
    expect(JSON.parse(json.stdout)).toMatchObject({
      result: { lastRun: { status, exitCode: null, finishedAt: null } },
    });
  });

  it.each(['killed', 'running', 'failed'] as const)('lists the end of a run that is %s', async (status) => {
    const report = { ...makeRunReport({ status }), exitCode: 1 as const };
    const engine = {
      readRuns: () => Promise.resolve([toRunSummary(report)]),
      readRun: () => Promise.resolve(report),
      findRefusal: () => Promise.resolve(undefined),
    };
    const end =
      status === 'failed'
        ? { exitCode: 1, finishedAt: report.finishedAt }
        : { exitCode: null, finishedAt: null };
    const all = await run(['runs', '--json'], { engine });
    expect(JSON.parse(all.stdout)).toMatchObject({ result: [{ status, ...end }] });
    const one = await run(['runs', report.runId, '--json'], { engine });
    expect(JSON.parse(one.stdout)).toMatchObject({ result: { status, ...end } });
  });

  it('looks again with --watch until the run has ended', async () => {
    const waiting = { reason: 'hourly-quota', until: new Date(NOW_MS + 720_000).toISOString() } as const;
    const read = { pagesDone: 12, pagesPlanned: 60, rowsDone: 1_200, rowsDeclared: 6_000 };
    const streams = [{ stream: 'prompts_analytics', state: 'reading' as const, ...read }];
    const underWay = { runId: 'run-1', toldAt: '', requests: 3, streams, waiting, quota: undefined };
    const looks = [
      { ...report, lastRun: makeRunReport({ status: 'running' }), underWay },
      { ...report, lastRun: makeRunReport({ status: 'complete' }) },
    ];
    const clock = { ...stoppedClock, sleep: () => Promise.resolve() };
    const engine = { readStatus: () => Promise.resolve(looks.shift() ?? report) };
    const { stdout, exitCode } = await run(['status', '--watch'], { engine, clock });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/prompts_analytics: reading, 12 of 60 pages, 1,200 of 6,000 rows/);
    expect(stdout).toMatch(/waiting for the quota until 14:00 UTC/);
    expect(stdout).toMatch(/Last: run run-1 complete/);
    expect(looks).toEqual([]);
    expect((await run(['status', '--watch', '--json'], { engine })).exitCode).toBe(2);
  });

  it('does not deny a run whose file is there', async () => {
    const moved = { ...report, lastRun: undefined };
    const { stdout } = await run(['status'], { engine: { readStatus: () => Promise.resolve(moved) } });
    expect(stdout).not.toContain('No run yet');
    expect(stdout).toContain('sluice runs');
  });

  it('says when nothing is known yet', async () => {
    const empty = { ...report, published: undefined, streams: [], quota: undefined, lastRun: undefined };
    const { stdout } = await run(['status'], { engine: { readStatus: () => Promise.resolve(empty) } });
    expect(stdout).toContain('run: sluice sync');
    expect(stdout).toContain('No run yet.');
  });
});

describe('runs', () => {
  const summary: RunSummary = {
    runId: 'run-1',
    kind: 'sync',
    startedAt: '2026-11-20T13:00:00.000Z',
    finishedAt: '2026-11-20T13:03:20.000Z',
    status: 'complete',
    exitCode: 0,
    requests: 42,
    waitedMs: 0,
    rowsRead: 1_000,
    rowsInserted: 10,
    rowsUpdated: 2,
    rowsUnchanged: 988,
  };

  it('lists the last ones', async () => {
    const { stdout } = await run(['runs'], { engine: { readRuns: () => Promise.resolve([summary]) } });
    expect(stdout).toMatch(/run-1 +2026-11-20 13:00:00 UTC +3 min 20 s +sync +complete +0 +42 +10 +2 +988/);
  });

  it('shows neither an end nor an exit code of one that has none', async () => {
    const engine = { readRuns: () => Promise.resolve([{ ...summary, status: 'killed', exitCode: 75 }]) };
    const { stdout } = await run(['runs'], { engine });
    expect(stdout).toMatch(/UTC +- +sync +killed +- +42/);
    const readRun = () => Promise.resolve(makeRunReport({ status: 'running', exitCode: 75 }));
    const one = await run(['runs', 'run-1'], { engine: { readRun } });
    expect(one.stdout).toMatch(/^status +running$/m);
    expect(one.stdout).not.toMatch(/took|Run it again|exit code/);
  });

  it('says that only published runs are shown where the state folder cannot be read', async () => {
    const engine = {
      readRuns: () => Promise.resolve([summary]),
      findUnreadableState: () => Promise.resolve('EACCES: permission denied'),
    };
    const { stdout } = await run(['runs'], { engine, columns: 200 });
    expect(stdout).toContain('Only published runs are shown: this user cannot read the state folder');
    expect(stdout).toContain('EACCES');
  });

  it.each([40, 60, 80])('keeps each row whole on a terminal %i wide', async (columns) => {
    const runs = [{ ...summary, runId: '20261120T130000Z-abc123' }];
    const { stdout } = await run(['runs'], { engine: { readRuns: () => Promise.resolve(runs) }, columns });
    expect(stdout).toMatch(/20261120T130000Z-abc123 .*complete/);
    expect(stdout.split('\n').filter((line) => line.length > columns)).toEqual([]);
  });

  it('shows one in detail, as a report or as what is left of it', async () => {
    await expect(run(['runs', 'run-1'])).resolves.toMatchObject({
      stdout: expect.stringMatching(/status +complete[\s\S]+STREAM/) as string,
    });
    const { stdout: json } = await run(['runs', 'run-1', '--json']);
    expect(JSON.parse(json)).toMatchObject({ result: { runId: 'run-1', kind: 'sync', streams: [{}] } });
    const { stdout } = await run(['runs', 'run-1'], { engine: { readRun: () => Promise.resolve(summary) } });
    expect(stdout).toContain('rows       1,000 read: 10 new, 2 changed, 988 unchanged');
  });

  it('refuses an id nobody knows', async () => {
    const error = new ConfigError('no run x', { code: 'usage_invalid', hint: 'See sluice runs.' });
    const engine = { readRun: () => Promise.reject(error) };
    await expect(run(['runs', 'x'], { engine })).resolves.toMatchObject({ exitCode: 2 });
  });
});

describe('config show', () => {
  it('shows each value with its origin', async () => {
    const explainConfig = () =>
      Promise.resolve([
        { key: 'source.apiKey', value: '***', origin: 'environment', detail: 'ANALYTICS_API_KEY' },
        { key: 'stateDir', value: './.sluice', origin: 'default', detail: '' },
        { key: 'source.bearerToken', value: null, origin: 'environment', detail: 'TOKEN' },
      ] as const);
    const { stdout } = await run(['config', 'show'], { engine: { explainConfig } });
    expect(stdout).toMatch(/source\.apiKey +\*\*\* +environment ANALYTICS_API_KEY/);
    expect(stdout).toMatch(/bearerToken +not set +environment TOKEN/);
    const narrow = await run(['config', 'show'], { engine: { explainConfig }, columns: 40 });
    expect(narrow.stdout).toContain('source.apiKey\n  value ***; from environment');
    expect(stdout).toMatch(/stateDir +\.\/\.sluice +default$/m);
  });
});
