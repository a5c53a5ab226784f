import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/cli/frame/engine.ts';
import { noFacts } from '../../../src/metrics/metric-facts.ts';
import type { MetricsServerOptions } from '../../../src/metrics/metrics-server.ts';
import {
  AbortedError,
  AuthError,
  ConfigError,
  type ErrorCode,
  type ExitCode,
} from '../../../src/model/errors.ts';
import type { Settings, SyncOptions } from '../../../src/model/settings.ts';
import { parseCron } from '../../../src/schedule/cron-schedule.ts';
import { runSchedule } from '../../../src/schedule/run-schedule.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { run, type World } from '../support/capture.ts';
import { SECRET } from '../support/fake-engine.ts';
import { makeRunReport, makeStreamReport } from '../support/reports.ts';
import { makePathRequest } from '../support/path-request.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-schedule-'));
afterAll(() => rmSync(folder, { recursive: true }));

const START_MS = Date.parse('2026-11-20T12:10:00Z');
const settings = {
  stateDir: '/data/.sluice',
  credentials: { kind: 'api-key', secret: SECRET },
  notify: {},
  destinations: [],
} as unknown as Settings;

const emptyStatus = {
  duckdbPath: '',
  published: undefined,
  streams: [],
  quota: undefined,
  lastRun: undefined,
  refused: undefined,
  quarantined: 0,
};

type Answers = Readonly<Record<string, { readonly status: number; readonly body: string }>>;

/** Plays `schedule` over a virtual clock, with the real loop, until as many runs were made. */
async function play(
  argv: readonly string[],
  options: { readonly runs: number; readonly engine?: Partial<Engine>; readonly world?: World },
) {
  const clock = options.world?.clock ?? createVirtualClock({ startMs: START_MS });
  const controller = new AbortController();
  const began: string[] = [];
  const seen: Answers[] = [];
  let paths: MetricsServerOptions['paths'] = {};
  const stop = () => controller.abort(new AbortedError('stop', { code: 'aborted', hint: '', exitCode: 143 }));
  const captured = await run(['schedule', ...argv], {
    ...options.world,
    clock,
    signal: controller.signal,
    engine: {
      parseCron: (...given) => Promise.resolve(parseCron(given[0], given[1] ?? 'UTC', given[2])),
      startMetricsServer(server) {
        paths = server.paths;
        return Promise.resolve({ origin: 'http://127.0.0.1:9464', close: () => Promise.resolve() });
      },
      renderMetrics: (_facts, schedule) => Promise.resolve(JSON.stringify(schedule)),
      ...options.engine,
      async runSync(...given) {
        began.push(new Date(clock.now()).toISOString().slice(11, 19));
        return options.engine?.runSync?.(...given) ?? Promise.resolve(makeRunReport());
      },
      runSchedule: (given) =>
        runSchedule({
          ...given,
          async onEvent(event) {
            await given.onEvent(event);
            if (event.type !== 'waiting') return;
            const entries = Object.entries(paths).map(
              async ([path, read]) =>
                [path, await read(makePathRequest(path, { headers: { host: 'localhost:9464' } }))] as const,
            );
            seen.push(Object.fromEntries(await Promise.all(entries)));
            if (seen.length > options.runs) stop();
          },
        }),
    },
  });
  return { ...captured, began, seen };
}

describe('schedule', () => {
  it('needs --cron, and checks everything before the config is read', async () => {
    const lines = [
      [],
      ['--cron', '0 6 * *'],
      ['--cron', '@daily', '--metrics-host', '0.0.0.0'],
      ['--cron', '@daily', '--metrics-file', 'x.txt'],
      ['--cron', '@daily', '--metrics-file', join(folder, 'none', 'x.prom')],
      ['--cron', '@daily', '--jitter', 'soon'],
      ['--cron', '@daily', '--run-id', 'x'],
    ];
    for (const argv of lines) {
      const { exitCode, stderr, stdout, calls } = await play(argv, { runs: 0 });
      expect({ argv, exitCode, stdout }).toEqual({ argv, exitCode: 2, stdout: '' });
      expect(stderr).toMatch(/example|Create the folder|--cron '0 6 \* \* \*'|--help/);
      expect(calls.filter(({ name }) => name === 'loadSettings')).toEqual([]);
    }
  });

  it('ends with 2 where the config is broken at its start', async () => {
    const engine = {
      loadSettings: () =>
        Promise.reject(new ConfigError('broken', { code: 'config_invalid', hint: 'Mend it.' })),
    };
    const { calls, ...ended } = await play(['--cron', '@daily'], { runs: 0, engine });
    expect(ended).toMatchObject({ exitCode: 2, began: [] });
    expect(calls.filter(({ name }) => name === 'keepRefusal').map((call) => call.arguments)).toEqual([
      [
        { stateDir: '/data/.sluice', guessed: false },
        {
          startedAt: new Date(START_MS).toISOString(),
          error: { code: 'config_invalid', message: 'broken', hint: 'Mend it.', exitCode: 2 },
        },
      ],
    ]);
  });

  it('says when it runs and where it is watched, runs, and ends with the code of the signal', async () => {
    const argv = ['--cron', '30 * * * *', '--jitter', '0', '--metrics-port', '9464'];
    const { exitCode, stdout, stderr, began } = await play(argv, { runs: 2 });
    expect(stdout).toBe(
      [
        'Syncs at 30 * * * * (UTC).',
        'Next time: 12:30 UTC.',
        'Report: http://127.0.0.1:9464/',
        'Watch it: http://127.0.0.1:9464/metrics, http://127.0.0.1:9464/healthz, http://127.0.0.1:9464/readyz',
        'Ctrl-C stops it.\n',
      ].join('\n'),
    );
    expect(stderr).toContain('next run 2026-11-20 12:30:00 UTC, in 20 min');
    expect(stderr).toContain('run run-1 complete: 100 new');
    expect({ exitCode, began }).toEqual({ exitCode: 143, began: ['12:30:00', '13:30:00'] });
  });

  it('prints one object with --json, and log lines as JSON', async () => {
    const argv = ['--cron', '@hourly', '--jitter', '0', '--json', '--log-format', 'json'];
    const { stdout, stderr } = await play(argv, { runs: 1 });
    expect(JSON.parse(stdout)).toMatchObject({
      command: 'schedule',
      ok: true,
      result: { cron: '@hourly', timezone: 'UTC', nextTime: '2026-11-20T13:00:00.000Z', metricsOrigin: null },
    });
    const lines = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ type }) => type)).toEqual(['next-run', 'run-ended', 'next-run', 'schedule-stopped']);
    expect(lines[1]).toMatchObject({ level: 'info', exitCode: 0, runId: 'run-1' });
    expect(lines[3]).toMatchObject({ level: 'info', msg: 'stopped after 1 run', runs: 1 });
  });

  it('writes nothing but JSON lines where the log is JSON', async () => {
    const { stdout, stderr } = await play(['--cron', '@hourly', '--jitter', '0', '--log-format', 'json'], {
      runs: 0,
    });
    expect(stdout).toBe('');
    const [first] = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(first).toMatchObject({
      type: 'schedule-started',
      cron: '@hourly',
      nextTime: '2026-11-20T13:00:00.000Z',
    });
  });

  it.each([
    [['--now'], false, 'asked'],
    [[], true, 'catch-up'],
  ])('with %j and a run owed (%s), it runs at the start', async (more, owes) => {
    const engine = { owesRun: () => Promise.resolve(owes) };
    const { began, stdout } = await play(['--cron', '30 * * * *', '--jitter', '0', ...more], {
      runs: 0,
      engine,
    });
    expect(began).toEqual(['12:10:00']);
    expect(stdout).toContain('First run: now.');
  });

  it('hands the options of a run on, and no others', async () => {
    const given: SyncOptions[] = [];
    const engine: Partial<Engine> = {
      runSync(_settings, { signal: _signal, observers: _observers, ...rest }) {
        given.push(rest);
        return Promise.resolve(makeRunReport());
      },
    };
    const argv = '--cron @hourly --force --max-requests 9 --max-wait 0 --deadline 50m --strict'.split(' ');
    await play(argv, { runs: 1, engine });
    expect(given).toEqual([
      { force: true, maxRequests: 9, maxWaitMs: 0, deadlineMs: 3_000_000, strict: true },
    ]);
  });

  it('refuses a stream the config does not have, before it waits for its time', async () => {
    const engine = { loadSettings: () => Promise.resolve({ ...settings, streams: [], disabledStreams: [] }) };
    const { exitCode, began } = await play(['--cron', '@daily', '--streams', 'none'], { runs: 1, engine });
    expect({ exitCode, began }).toEqual({ exitCode: 2, began: [] });
  });

  it('continues whatever the outcome of a run, and shows it where it is watched', async () => {
    const refused = new AuthError('the key was refused', { code: 'key_rejected', hint: 'Make a new one.' });
    const outcomes: readonly (() => ReturnType<Engine['runSync']>)[] = [
      () => Promise.reject(refused),
      () => Promise.reject(new Error('nobody knows')),
      () => Promise.resolve(makeRunReport({ exitCode: 75, status: 'stopped' })),
      () => Promise.resolve(makeRunReport()),
    ];
    let at = 0;
    const engine: Partial<Engine> = {
      runSync: () => outcomes[at++]?.() ?? Promise.resolve(makeRunReport()),
      collectMetrics: () =>
        Promise.resolve({
          facts: { ...noFacts, status: emptyStatus },
          warnings: [],
        }),
    };
    const argv = ['--cron', '@hourly', '--jitter', '0', '--metrics-port', '0'];
    const { seen, stderr, exitCode } = await play(argv, { runs: 4, engine });
    const ready = seen.map((answers) => [
      answers['/readyz']?.status,
      (JSON.parse(answers['/readyz']?.body ?? '{}') as { reason?: unknown }).reason,
    ]);
    expect(ready).toEqual([
      [200, null],
      [503, 'key_rejected'],
      [503, 'bug'],
      [200, null],
      [200, null],
    ]);
    expect(seen.map((answers) => answers['/healthz']?.status)).toEqual([200, 200, 200, 200, 200]);
    expect(JSON.parse(seen[1]?.['/metrics']?.body ?? '')).toEqual({
      run: undefined,
      nextRunAtMs: Date.parse('2026-11-20T14:00:00Z'),
      skippedTicks: 0,
    });
    expect(stderr).toMatch(/ERROR: Error: nobody knows .*schedule\.test\.ts/);
    expect(stderr).toMatch(/ERROR: the key was refused\n.*ERROR: Make a new one\./);
    expect(exitCode).toBe(143 satisfies ExitCode);
  });

  it.each([
    ['the network failed', 'network_unreachable', 503],
    ['the quota is used up', 'quota_exhausted', 200],
    ['another run holds the folder', 'state_locked', 200],
  ] as const)('tries again while %s, and is ready or not after an hour of it', async (_, code, status) => {
    const error = { code, message: 'no way through', hint: 'Wait.', exitCode: 75 } as const;
    const engine: Partial<Engine> = {
      runSync: () => Promise.resolve(makeRunReport({ exitCode: 75, status: 'stopped', error })),
      collectMetrics: () => Promise.resolve({ facts: { ...noFacts, status: emptyStatus }, warnings: [] }),
    };
    const argv = ['--cron', '0 13 * * *', '--jitter', '0', '--metrics-port', '0'];
    const { seen, began, stderr } = await play(argv, { runs: 8, engine });
    expect(began).toEqual(
      '13:00:00 13:00:30 13:01:30 13:03:30 13:07:30 13:15:30 13:31:30 14:01:30'.split(' '),
    );
    expect(stderr).toContain('the run is retried 2026-11-20 13:00:30 UTC, in 30 s');
    expect(seen.map((answers) => answers['/readyz']?.status)).toEqual([
      ...Array.from({ length: 8 }, () => 200),
      status,
    ]);
    const metrics = JSON.parse(seen.at(-1)?.['/metrics']?.body ?? '') as { outageSinceMs?: number };
    expect(metrics.outageSinceMs).toBe(status === 503 ? Date.parse('2026-11-20T13:00:00Z') : undefined);
  });

  it('forces again only what a run that is tried again has not completed', async () => {
    const given: unknown[] = [];
    const streams = ['a', 'b', 'c'].map((name) => ({ name }));
    const left = makeStreamReport({ stream: 'b', status: 'stopped' });
    const engine: Partial<Engine> = {
      loadSettings: () => Promise.resolve({ ...settings, streams } as unknown as Settings),
      runSync(_settings, { force, streams: names }) {
        given.push([force, names]);
        return Promise.resolve(
          given.length > 2
            ? makeRunReport()
            : makeRunReport({
                exitCode: 75,
                status: 'stopped',
                streams: [makeStreamReport({ stream: 'a' }), left],
              }),
        );
      },
    };
    await play(['--cron', '0 13 * * *', '--force'], { runs: 4, engine });
    expect(given).toEqual([
      [true, undefined],
      [true, ['b']],
      [true, ['b']],
      [true, undefined],
    ]);
  });

  it('is not ready after a run that an earlier process was refused, until it has made one', async () => {
    const refused = {
      startedAt: '2026-11-20T12:00:00.000Z',
      since: '2026-11-20T12:00:00.000Z',
      times: 1,
      error: { code: 'storage_failed', message: 'no space', hint: 'Free some.', exitCode: 6 },
    } as const;
    const facts = (given?: typeof refused) => ({
      status: {
        duckdbPath: '',
        published: undefined,
        streams: [],
        quota: undefined,
        lastRun: undefined,
        refused: given,
        quarantined: 0,
      },
      totals: undefined,
      lastRun: undefined,
      keyExpiresAt: undefined,
    });
    const engine: Partial<Engine> = {
      collectMetrics: (_settings, ended) =>
        Promise.resolve({ facts: facts(ended === undefined ? refused : undefined), warnings: [] }),
    };
    const argv = ['--cron', '@hourly', '--jitter', '0', '--metrics-port', '0'];
    const { seen, calls } = await play(argv, { runs: 1, engine });
    expect(seen.map((answers) => answers['/readyz']?.body.trim())).toEqual([
      '{"ready":false,"reason":"storage_failed","exitCode":6}',
      '{"ready":true,"reason":null,"exitCode":0}',
    ]);
    expect(calls.filter(({ name }) => name === 'settleRefusal').map((call) => call.arguments)).toEqual([
      ['/data/.sluice', ['config_not_found', 'config_invalid', 'usage_invalid', 'key_missing']],
      ['/data/.sluice'],
    ]);
  });

  it('is not ready while the published file is not where it was', async () => {
    const published = { bytes: 1, modifiedAt: '2026-11-20T12:00:00.000Z' };
    const engine = (duckdbPath: string): Partial<Engine> => ({
      collectMetrics: () =>
        Promise.resolve({
          facts: {
            status: {
              duckdbPath,
              published,
              streams: [],
              quota: undefined,
              lastRun: undefined,
              refused: undefined,
              quarantined: 0,
            },
            totals: undefined,
            lastRun: undefined,
            keyExpiresAt: undefined,
          },
          warnings: [],
        }),
    });
    const argv = ['--cron', '@hourly', '--jitter', '0', '--metrics-port', '0'];
    const bodies = async (path: string) =>
      (await play(argv, { runs: 1, engine: engine(path) })).seen.map((answers) => answers['/readyz']?.body);
    expect((await bodies('/no/such/warehouse.duckdb')).join('')).toMatch(
      /^\{"ready":false,"reason":"state_unreadable","exitCode":null\}\n/,
    );
    expect((await bodies(import.meta.filename)).join('')).toMatch(/^\{"ready":true,/);
  });

  it('keeps what a run was refused for, in the folder of the last good config', async () => {
    let read = 0;
    const { calls } = await play(['--cron', '@hourly', '--jitter', '0'], {
      runs: 1,
      engine: {
        loadSettings: () =>
          ++read === 1
            ? Promise.resolve(settings)
            : Promise.reject(new ConfigError('line 3', { code: 'config_invalid', hint: 'Mend it.' })),
      },
    });
    expect(calls.filter(({ name }) => name === 'keepRefusal').map((call) => call.arguments[0])).toEqual([
      { stateDir: settings.stateDir, guessed: false },
    ]);
  });

  it('says that the clock was set back, and when the next run is since then', async () => {
    const clock = createVirtualClock({ startMs: START_MS });
    let isAhead = false;
    const { began, stderr } = await play(['--cron', '@hourly', '--jitter', '0', '--now'], {
      runs: 2,
      world: { clock },
      engine: {
        runSync: () => {
          if (!isAhead) clock.stepWall(-48 * 3_600_000);
          isAhead = true;
          return Promise.resolve(makeRunReport());
        },
      },
    });
    expect(began).toEqual(['12:10:00', '13:00:00', '14:00:00']);
    expect(stderr).toContain('WARN: the clock was set back by 2 d');
  });

  it('reads the config again for each run, notifies by the last good one, and continues when it is broken', async () => {
    let read = 0;
    const told: unknown[] = [];
    const engine: Partial<Engine> = {
      loadSettings() {
        read += 1;
        if (read === 3)
          return Promise.reject(new ConfigError('line 3 is broken', { code: 'config_invalid', hint: '' }));
        return Promise.resolve({ ...settings, stateDir: `/data/${read}` });
      },
      notifyRun(given, { error }) {
        told.push([given.stateDir, error?.code]);
        return Promise.resolve(['nobody was there']);
      },
    };
    const { began, stderr } = await play(['--cron', '@hourly', '--jitter', '0'], { runs: 3, engine });
    expect(began).toEqual(['13:00:00', '15:00:00']);
    expect(told).toEqual([
      ['/data/2', undefined],
      ['/data/2', 'config_invalid'],
      ['/data/4', undefined],
    ]);
    expect(stderr).toContain('ERROR: line 3 is broken');
    expect(stderr).toContain('WARN: nobody was there');
  });

  it('writes the metrics file at each wait, and once more at its end, without a schedule', async () => {
    const written: unknown[] = [];
    const engine: Partial<Engine> = {
      writeMetricsFile(file, text) {
        written.push([file, text === '' ? undefined : (JSON.parse(text) as unknown)]);
        return Promise.reject(new Error('disk full'));
      },
      renderMetrics: (_facts, schedule) =>
        Promise.resolve(schedule === undefined ? '' : JSON.stringify(schedule)),
    };
    const argv = ['--cron', '@hourly', '--jitter', '0', '--metrics-file', 'x.prom'];
    const { stderr, exitCode } = await play(argv, { runs: 1, engine, world: { cwd: folder } });
    const file = join(folder, 'x.prom');
    expect(written).toEqual([
      [file, expect.not.objectContaining({ run: expect.anything() as unknown })],
      [file, expect.not.objectContaining({ run: expect.anything() as unknown })],
      [file, undefined],
    ]);
    expect(stderr).toContain(`the metrics file ${file} could not be written: unexpected: disk full`);
    expect(exitCode).toBe(143);
    expect(existsSync(file)).toBe(false);
  });
});

describe('sync', () => {
  const refuse = (code: ErrorCode) => Promise.reject(new ConfigError('no', { code, hint: '' }));
  const outcomes: readonly [string, Partial<Engine>, ExitCode, boolean][] = [
    ['a run that ended', {}, 0, true],
    ['a run that failed', { runSync: () => Promise.resolve(makeRunReport({ exitCode: 4 })) }, 4, true],
    [
      'a run that could not begin',
      { runSync: () => Promise.reject(new ConfigError('no', { code: 'identity_mismatch', hint: '' })) },
      2,
      true,
    ],
    [
      'a config that is broken',
      { loadSettings: () => refuse('config_invalid'), loadOfflineSettings: () => refuse('config_invalid') },
      2,
      false,
    ],
    ['a key that is missing', { loadSettings: () => refuse('key_missing') }, 2, true],
  ];

  it.each(outcomes)('with %s writes metrics and tells people', async (_, engine, exitCode, tells) => {
    const { calls, stderr, ...captured } = await run(['sync', '--metrics-file', 'x.prom'], {
      cwd: folder,
      engine: { ...engine, notifyRun: () => Promise.resolve(['nobody was there']) },
    });
    expect(captured.exitCode).toBe(exitCode);
    const [counted] = calls.filter(({ name }) => name === 'collectMetrics');
    expect(counted?.arguments[1]).toMatchObject({ exitCode });
    expect(counted?.arguments[0] !== undefined).toBe(tells);
    expect(calls.filter(({ name }) => name === 'writeMetricsFile')).toHaveLength(1);
    expect(calls.filter(({ name }) => name === 'notifyRun')).toHaveLength(tells ? 1 : 0);
    expect(stderr.includes('nobody was there')).toBe(tells);
  });

  it('keeps its exit code whatever happens to a notice', async () => {
    const engine = { notifyRun: () => Promise.reject(new Error('a defect')) };
    const { exitCode, stderr } = await run(['sync'], { engine });
    expect(exitCode).toBe(0);
    expect(stderr).toContain('WARN: no notice of the run could be sent: unexpected: a defect');
  });

  it('counts nothing where no metrics are wanted, and nothing of a plan', async () => {
    const { calls } = await run(['sync']);
    expect(calls.map(({ name }) => name)).toEqual(['loadSettings', 'runSync', 'settleRefusal', 'notifyRun']);
    const dry = await run(['sync', '--dry-run', '--metrics-file', 'x.prom'], { cwd: folder });
    expect(dry.calls.map(({ name }) => name)).toEqual(['loadSettings', 'planSync']);
  });

  it('that was stopped by a signal keeps nobody waiting for notices', async () => {
    const controller = new AbortController();
    const { calls } = await run(['sync'], {
      signal: controller.signal,
      engine: {
        runSync() {
          controller.abort(new AbortedError('stop', { code: 'aborted', hint: '', exitCode: 143 }));
          return Promise.resolve(makeRunReport({ exitCode: 143, status: 'interrupted' }));
        },
      },
    });
    expect(calls.filter(({ name }) => name === 'notifyRun')).toEqual([]);
  });
});
