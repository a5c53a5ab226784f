import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/model/errors.ts';
import type { CheckReport, RunSummary, StatusReport } from '../../../src/model/reports.ts';
import { run } from '../support/capture.ts';
import { NOW_MS, makeRunReport } from '../support/reports.ts';

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
    requestsSpent: 1,
    quota,
  };

  it('shows a line an item and a fix for each failure', async () => {
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

  it('names the first failure as the error of --json', async () => {
    const engine = { runChecks: () => Promise.resolve(report) };
    const { stdout } = await run(['check', '--json'], { engine });
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      error: { code: 'key_rejected', message: 'key: refused (401)', hint: 'Make a new key.' },
    });
  });
});

describe('status', () => {
  const report: StatusReport = {
    duckdbPath: '/data/warehouse.duckdb',
    published: { bytes: 4_200_000, modifiedAt: '2026-11-20T13:00:00.000Z' },
    streams: [
      {
        stream: 'prompts_analytics',
        verdict: 'verified',
        rows: 12_400,
        watermark: '2026-11-19',
        verifiedAt: '2026-11-20T13:00:00.000Z',
        fresh: true,
        keyColumns: ['prompt_id', 'date'],
        keyState: 'provisional',
      },
      {
        stream: 'commerce_top_products',
        verdict: undefined,
        rows: undefined,
        watermark: undefined,
        verifiedAt: undefined,
        fresh: false,
        keyColumns: undefined,
        keyState: undefined,
      },
    ],
    quota,
    lastRun: makeRunReport(),
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
    expect(stdout).toContain('Quota: 558 of 600 requests left until 14:00 UTC.');
    expect(stdout).toContain('Published: /data/warehouse.duckdb (4.2 MB)');
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
    expect(stdout).toMatch(/run-1 +2026-11-20 13:00:00 UTC +3 min 20 s +complete +0 +42 +10 +2 +988/);
  });

  it('shows one in detail, as a report or as what is left of it', async () => {
    await expect(run(['runs', 'run-1'])).resolves.toMatchObject({
      stdout: expect.stringMatching(/status +complete[\s\S]+STREAM/) as string,
    });
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
      ] as const);
    const { stdout } = await run(['config', 'show'], { engine: { explainConfig } });
    expect(stdout).toMatch(/source\.apiKey +\*\*\* +environment ANALYTICS_API_KEY/);
    expect(stdout).toMatch(/stateDir +\.\/\.sluice +default$/m);
  });
});
