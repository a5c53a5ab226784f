import { tellEvent } from '../../../src/model/run-observer.ts';
import { describe, expect, it } from 'vitest';
import type { PlanReport } from '../../../src/model/plan-report.ts';
import type { SyncOptions } from '../../../src/model/settings.ts';
import { run } from '../support/capture.ts';
import { NOW_MS, makeRunReport } from '../support/reports.ts';

async function readOptions(argv: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<SyncOptions> {
  const { calls } = await run(argv, { env });
  const call = calls.find(({ name }) => name === 'runSync');
  const {
    observers: _observers,
    signal: _signal,
    ...options
  } = call?.arguments[1] as Record<string, unknown>;
  return options;
}

const plan: PlanReport = {
  offline: false,
  streams: [
    {
      stream: 'prompts_analytics',
      slice: '',
      action: 'incremental',
      from: '2026-11-17',
      rows: 1_240,
      pages: 13,
      requests: 14,
      note: undefined,
      error: undefined,
    },
  ],
  totals: { rows: 1_240, pages: 13, requests: 14 },
  requestsSpent: 1,
  quota: {
    limit: 600,
    remaining: 500,
    resetAtMs: NOW_MS + 60_000,
    notBeforeMs: undefined,
    requestsPerHour: 600,
    windowSeconds: 3_600,
  },
  windows: 1,
  etaMs: 3_000,
  disk: undefined,
};

describe('sync', () => {
  it('hands every option on, in milliseconds and numbers', async () => {
    const argv =
      'sync --streams a,b --limit 5 --force --run-id n-1 --max-requests 9 --max-wait 30m --deadline 50m';
    await expect(
      readOptions([...argv.split(' '), '--full-refresh', '--allow-empty', '--strict']),
    ).resolves.toEqual({
      streams: ['a', 'b'],
      limit: 5,
      force: true,
      runId: 'n-1',
      maxRequests: 9,
      maxWaitMs: 1_800_000,
      deadlineMs: 3_000_000,
      fullRefresh: true,
      allowEmpty: true,
      strict: true,
    });
  });

  it('hands nothing on that was not given', async () => {
    await expect(readOptions(['sync'])).resolves.toEqual({});
  });

  it('reads twins of the environment', async () => {
    const env = { SLUICE_STREAMS: 'a', SLUICE_MAX_WAIT: '0', SLUICE_FROM: '2026-01-31' };
    await expect(readOptions(['sync'], env)).resolves.toEqual({
      streams: ['a'],
      maxWaitMs: 0,
      from: '2026-01-31',
    });
  });

  it('reads the config named on the command line, else in the environment, else ./sluice.yaml', async () => {
    const readPath = async (argv: readonly string[], env: NodeJS.ProcessEnv) => {
      const { calls } = await run(argv, { env });
      return (calls[0]?.arguments[0] as { path: string }).path;
    };
    await expect(readPath(['sync', '-c', 'a.yaml'], { SLUICE_CONFIG: 'b.yaml' })).resolves.toBe('a.yaml');
    await expect(readPath(['sync'], { SLUICE_CONFIG: 'b.yaml' })).resolves.toBe('b.yaml');
    await expect(readPath(['sync'], {})).resolves.toBe('./sluice.yaml');
  });

  it('refuses --full-refresh with --from before the config is read', async () => {
    const { exitCode, calls } = await run(['sync', '--full-refresh', '--from', '2026-01-31']);
    expect({ exitCode, calls }).toEqual({ exitCode: 2, calls: [] });
  });

  it('writes progress to stderr and the summary to stdout', async () => {
    const { stdout, stderr } = await run(['sync'], {
      engine: {
        runSync: (_settings, { observers = [] }) => {
          tellEvent(observers, { type: 'run-started', runId: 'run-1', streams: ['prompts_analytics'] });
          tellEvent(observers, { type: 'warning', message: 'the key expires soon' });
          return Promise.resolve(makeRunReport());
        },
      },
    });
    expect(stderr).toContain('INFO: run run-1: 1 stream');
    expect(stderr).toContain('WARN: the key expires soon');
    expect(stdout).toContain('STREAM');
    expect(stdout).toContain('42 requests used');
  });

  it('writes the log as JSON lines where that is asked for', async () => {
    const { stderr } = await run(['sync', '--log-format', 'json'], {
      engine: {
        runSync: (_settings, { observers = [] }) => {
          tellEvent(observers, { type: 'run-started', runId: 'run-1', streams: [] });
          return Promise.resolve(makeRunReport());
        },
      },
    });
    expect(JSON.parse(stderr)).toEqual({
      level: 'info',
      time: '2026-11-20T13:48:00.000Z',
      type: 'run-started',
      runId: 'run-1',
      streams: [],
      msg: 'run run-1: 0 streams',
    });
  });
});

describe('sync --dry-run and plan', () => {
  const engine = { planSync: () => Promise.resolve(plan) };

  it('plan and do not sync', async () => {
    const { calls, stdout, exitCode } = await run(['sync', '--dry-run', '--limit', '10'], { engine });
    expect(calls.map(({ name }) => name)).toEqual(['loadSettings', 'planSync']);
    expect(calls[1]?.arguments[1]).toMatchObject({ limit: 10 });
    expect(stdout).toContain('The next sync takes 14 requests, about 3 s.');
    expect(exitCode).toBe(0);
  });

  it('need no key with --offline', async () => {
    const planOffline = () => Promise.resolve({ ...plan, offline: true, requestsSpent: 0 });
    const { calls, stdout } = await run(['plan', '--offline', '--limit', '10'], { engine: { planOffline } });
    expect(calls.map(({ name }) => name)).toEqual(['loadOfflineSettings', 'planOffline']);
    expect(calls[1]?.arguments[1]).toEqual({ limit: 10 });
    expect(stdout).toContain('No request was spent on this plan.');
  });

  it('never wait for the quota, and say what stopped several streams once', async () => {
    const error = { code: 'quota_exhausted', message: 'used up', hint: 'h', exitCode: 75 } as const;
    const streams = ['a', 'b'].map((stream) => {
      return { ...plan.streams[0], stream, action: 'failed', error } as PlanReport['streams'][number];
    });
    const planSync = () => Promise.resolve({ ...plan, streams });
    const { calls, stdout } = await run(['plan'], { engine: { planSync } });
    expect(calls[1]?.arguments[1]).toMatchObject({ maxWaitMs: 0 });
    expect(stdout).toContain('a, b failed: used up\n  next: Plan again then');
  });

  it('fail with the code of the streams that fail', async () => {
    const error = { code: 'key_forbidden', message: 'm', hint: 'h', exitCode: 3 } as const;
    const [stream] = plan.streams;
    if (stream === undefined) throw new Error('no stream');
    const failed = { ...stream, stream: 'other', action: 'failed', error } as const;
    const readExitCode = async (streams: PlanReport['streams']) =>
      (await run(['plan'], { engine: { planSync: () => Promise.resolve({ ...plan, streams }) } })).exitCode;
    await expect(readExitCode([failed])).resolves.toBe(3);
    await expect(readExitCode([failed, stream])).resolves.toBe(5);
    const stopped = { ...failed, error: { ...error, exitCode: 75 } } as const;
    await expect(readExitCode([stopped, stream])).resolves.toBe(75);
  });
});
