import { describe, expect, it } from 'vitest';
import type { FleetEngine, WorkRequest } from '../../../src/cli/frame/fleet-engine.ts';
import type { MetricsServerOptions } from '../../../src/metrics/metrics-server.ts';
import { AbortedError, ConfigError, StorageError, type SyncError } from '../../../src/model/errors.ts';
import type { FleetSettings } from '../../../src/model/fleet.ts';
import type { FleetChange } from '../../../src/model/fleet-report.ts';
import {
  makeFailedAccount,
  makeFleetAccount,
  makeFleetStatus,
  makeFleetWorker,
  secondsAgo,
} from '../../support/fleet-status.ts';
import { run } from '../support/capture.ts';
import type { FakeAnswers } from '../support/fake-engine.ts';
import { makeKnownAccounts } from '../support/known-accounts.ts';
import { makePathRequest } from '../support/path-request.ts';

const PASSWORD = 'the-password-of-the-database';
const settings = {
  place: 'postgres://db.example.com/fleet',
  leaseMs: 60_000,
  secrets: [PASSWORD],
} as unknown as FleetSettings;

/** An engine with these accounts in its config, and these answers of the fleet. */
function makeEngine(fleet: Partial<FleetEngine> = {}, more: FakeAnswers = {}): FakeAnswers {
  return {
    listAccounts: () => Promise.resolve(makeKnownAccounts(['acme', 'eu-north', 'eu-south'])),
    ...more,
    fleet: { loadSettings: () => Promise.resolve(settings), ...fleet },
  };
}

const status = makeFleetStatus(
  [
    makeFleetAccount('acme'),
    makeFailedAccount('eu-north', 's3://bucket/fleet: the object store cannot be reached'),
    makeFleetAccount('eu-south', { state: 'running', worker: 'host-1-1-ab12cd', startedAt: secondsAgo(75) }),
  ],
  {
    workers: [makeFleetWorker('host-1-1-ab12cd'), makeFleetWorker('host-2-9-ffffff', { state: 'stopped' })],
    lastDay: {
      runs: 12,
      byExitCode: { '0': 9, '6': 2, lost: 1 },
      requests: 264,
      rateLimited: 0,
      rowsRead: 24_000,
      rowsChanged: 900,
    },
  },
);
const read = () => Promise.resolve(status);

describe('fleet status', () => {
  it('shows what needs a look, the failed first, with what to do', async () => {
    const { exitCode, stdout } = await run(['fleet', 'status'], {
      engine: makeEngine({ read }),
      columns: 120,
    });
    expect(exitCode).toBe(0);
    expect(stdout).toBe(
      [
        '3 accounts: 1 running, 1 retrying, 1 scheduled; 1 failed; 1 worker with 4 lanes.',
        '',
        'ACCOUNT   STATE                   NEXT     LAST RUN             LAST CLEAN  WORKER',
        'eu-north  retrying                in 15 s  failed (6), 1 h ago  1 h ago     -',
        'eu-south  running for 1 min 15 s  -        complete, 1 h ago    1 h ago     host-1-1-ab12cd',
        '',
        '1 account more; sluice fleet status --all lists it',
        '',
        'WORKER           STATE      BUSY  SEEN     VERSION',
        'host-1-1-ab12cd  working  2 of 4  5 s ago  0.1.0',
        '',
        '1 worker stopped within the last day',
        '',
        'Last day: 12 runs, 9 complete, 2 failed (6), 1 lost; 264 requests, 0 answered 429; 24,000 rows read, 900 changed',
        '',
        'eu-north: s3://bucket/fleet: the object store cannot be reached',
        '  next: Start it.',
        '',
      ].join('\n'),
    );
  });

  it('lists all with --all, and workers that stopped', async () => {
    const { stdout } = await run(['fleet', 'status', '--all'], { engine: makeEngine({ read }) });
    expect(stdout).toMatch(/\nacme +scheduled/);
    expect(stdout).toMatch(/\nhost-2-9-ffffff +stopped/);
    expect(stdout).not.toContain('more;');
  });

  it('says how to begin where nothing was done yet', async () => {
    const empty = makeFleetStatus([]);
    const { stdout } = await run(['fleet', 'status'], {
      engine: makeEngine({ read: () => Promise.resolve(empty) }),
    });
    expect(stdout).toContain('No account yet: sluice fleet init adds those of the config.');
    expect(stdout).toContain('No worker is at work: sluice fleet worker starts one');
    expect(stdout).toContain('No run ended within the last day');
  });

  it('shows at most 30 of many accounts, and says once what they have in common', async () => {
    const many = Array.from({ length: 500 }, (_, at) =>
      makeFailedAccount(`client-${String(at).padStart(3, '0')}`),
    );
    const { stdout } = await run(['fleet', 'status'], {
      engine: makeEngine({ read: () => Promise.resolve(makeFleetStatus(many)) }),
      columns: 80,
    });
    expect(stdout.match(/^client-\d+ /gm)).toHaveLength(30);
    expect(stdout).toContain('470 accounts more');
    expect(stdout).toMatch(/client-000, client-001, .* and 495 more: the\nstore is away/);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it('gives programs everything', async () => {
    const { stdout } = await run(['fleet', 'status', '--json'], { engine: makeEngine({ read }) });
    expect(JSON.parse(stdout)).toMatchObject({
      command: 'fleet status',
      ok: true,
      summary: '3 accounts: 1 running, 1 retrying, 1 scheduled; 1 failed; 1 worker with 4 lanes',
      result: { accounts: [{ account: 'acme' }, { account: 'eu-north' }, { account: 'eu-south' }] },
    });
  });

  /** What `--watch` shows where its looks end so, the first of them well. */
  async function watch(...ends: readonly (SyncError | undefined)[]) {
    const controller = new AbortController();
    let looks = 0;
    const look = () => {
      const end = ends[looks++];
      return end === undefined ? Promise.resolve(status) : Promise.reject(end);
    };
    const sleep = () => {
      if (looks < ends.length) return Promise.resolve();
      const stop = new AbortedError('stopped', { code: 'aborted', hint: '', exitCode: 130 });
      controller.abort(stop);
      return Promise.reject(stop);
    };
    const clock = { now: () => 0, monotonic: () => 0, sleep };
    const engine = makeEngine({ read: look });
    return run(['fleet', 'status', '--watch'], { engine, clock, signal: controller.signal });
  }

  it('waits with --watch for a database that is away, and shows meanwhile what there was', async () => {
    const away = new StorageError('the database does not answer', { code: 'storage_failed', hint: 'Wait.' });
    const { exitCode, stdout } = await watch(undefined, away, away, undefined);
    expect(exitCode).toBe(130);
    expect(stdout.match(/^3 accounts/gm)).toHaveLength(4);
    expect(
      stdout.match(/^the database does not answer\. The above is older; trying again\.$/gm),
    ).toHaveLength(2);
    expect(stdout.trimEnd().endsWith('trying again.')).toBe(false);
  });

  it('ends --watch where trying again does not help', async () => {
    const refused = new ConfigError('the login is refused', { code: 'config_invalid', hint: 'Fix it.' });
    const { exitCode, stderr } = await watch(undefined, refused, undefined);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('the login is refused');
    const away = new StorageError('the database does not answer', { code: 'storage_failed', hint: 'Wait.' });
    expect(await watch(away, undefined)).toMatchObject({ exitCode: 6 });
  });

  it('looks again and again with --watch, until it is stopped', async () => {
    const watched = await watch(undefined, undefined, undefined);
    expect(watched.exitCode).toBe(130);
    expect(watched.stdout.match(/^3 accounts/gm)).toHaveLength(3);
    const engine = makeEngine({ read });
    const { exitCode, stderr } = await run(['fleet', 'status', '--watch', '--json'], { engine });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--watch and --json cannot be combined');
  });

  it('never shows the password of the database', async () => {
    const read = () => Promise.resolve(makeFleetStatus([makeFailedAccount('acme', `refused: ${PASSWORD}`)]));
    for (const argv of [
      ['fleet', 'status'],
      ['fleet', 'status', '--json'],
    ]) {
      const { stdout, stderr } = await run(argv, { engine: makeEngine({ read }) });
      expect(stdout + stderr).not.toContain(PASSWORD);
    }
  });
});

describe('fleet init', () => {
  const made = { database: settings.place, before: 0, version: 2, added: 3, store: 's3://bucket/fleet' };

  it.each<[string, Partial<typeof made>, RegExp]>([
    [
      'a new fleet',
      {},
      /^The tables and the queue were made in postgres.* The store s3:\/\/bucket\/fleet answers\.\n3 accounts in the config, all of them new and due at once\.\nNext: sluice fleet worker/,
    ],
    [
      'one that is there',
      { before: 2, added: 0 },
      /^The tables and the queue are current.*\n3 accounts in the config, all of them known already\./,
    ],
    [
      'an older one',
      { before: 1, added: 1 },
      /^The tables were brought from version 1 to 2.*\n.*1 of them new and due at once\./,
    ],
  ])('says what it did with %s', async (_, more, expected) => {
    const init = () => Promise.resolve({ ...made, ...more });
    const { exitCode, stdout } = await run(['fleet', 'init'], { engine: makeEngine({ init }) });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(expected);
  });
});

describe('fleet run, pause and resume', () => {
  const asked: (readonly unknown[])[] = [];
  const outcomes = {
    run: 'queued',
    'run-unpaused': 'still paused',
    'run-with-new-key': 'queued',
    pause: 'paused',
    resume: 'not paused',
  } as const;
  const engine = makeEngine({
    change(_, accounts, what) {
      asked.push([what, ...accounts]);
      const change = (account: string): FleetChange => ({
        account,
        outcome: outcomes[what],
        worker: undefined,
      });
      return Promise.resolve(accounts.map(change));
    },
  });

  it.each([
    [['run', 'acme'], 'acme is due now; the next free lane takes it\n', ['run', 'acme']],
    [
      ['run', 'ac*'],
      'acme is paused and stays so: sluice fleet resume begins its runs again\n',
      ['run-unpaused', 'acme'],
    ],
    [
      ['run', 'acme', '--accept-new-key'],
      'acme is due now; the next free lane takes it\n',
      ['run-with-new-key', 'acme'],
    ],
    [['pause', 'eu-*'], 'eu-north is paused\neu-south is paused\n', ['pause', 'eu-north', 'eu-south']],
    [
      ['resume', 'acme,eu-s*'],
      'acme was not paused\neu-south was not paused\n',
      ['resume', 'acme', 'eu-south'],
    ],
  ])('take names and patterns: %j', async (argv, text, expected) => {
    const { exitCode, stdout } = await run(['fleet', ...argv], { engine });
    expect({ exitCode, stdout, asked: asked.at(-1) }).toEqual({ exitCode: 0, stdout: text, asked: expected });
  });

  it('accept a new key of accounts by name only', async () => {
    const { exitCode, stderr } = await run(['fleet', 'run', 'ac*', '--accept-new-key'], { engine });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--accept-new-key is for accounts by name');
    expect((await run(['fleet', 'pause', 'acme', '--accept-new-key'], { engine })).exitCode).toBe(2);
  });

  it('refuse a name that the config does not have, and none at all', async () => {
    const unknown = await run(['fleet', 'run', 'akme'], { engine });
    expect(unknown.exitCode).toBe(2);
    expect(unknown.stderr).toMatch(/akme[\s\S]*acme/);
    const none = await run(['fleet', 'pause'], { engine });
    expect(none.exitCode).toBe(2);
    expect(none.stderr).toContain('sluice fleet pause acme');
  });

  it('sum up for programs', async () => {
    const { stdout } = await run(['fleet', 'pause', 'eu-*', '--json'], { engine });
    expect(JSON.parse(stdout)).toMatchObject({ summary: '2 paused', result: { accounts: [{}, {}] } });
  });
});

describe('fleet repair', () => {
  const repair: FleetEngine['repair'] = (_, account, { forgetsState, removesOrphans }) =>
    Promise.resolve({
      account,
      outcome: 'freed',
      worker: 'host-1-1-ab12cd',
      orphans: [`${account}/3-1.state`],
      isRemoved: removesOrphans,
      isForgotten: forgetsState,
    });

  it('says who had it, what is left over, and how to delete that', async () => {
    const { stdout } = await run(['fleet', 'repair', 'acme'], { engine: makeEngine({ repair }) });
    expect(stdout).toBe(
      [
        'acme is free: what its worker still does is refused (host-1-1-ab12cd)',
        'In the store, and no longer needed:',
        '  acme/3-1.state',
        '  next: sluice fleet repair acme --remove-orphans',
        '',
      ].join('\n'),
    );
    const done = await run(['fleet', 'repair', 'acme', '--remove-orphans', '--forget-state'], {
      engine: makeEngine({ repair }),
    });
    expect(done.stdout).toContain('Deleted from the store:\n  acme/3-1.state\n');
    expect(done.stdout).toContain('Its state was forgotten');
  });

  it('takes a name that the config has no more, but no path', async () => {
    const engine = makeEngine({ repair });
    expect((await run(['fleet', 'repair', 'old-client'], { engine })).exitCode).toBe(0);
    const { exitCode, stderr } = await run(['fleet', 'repair', '../acme'], { engine });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('sluice fleet status shows the names');
  });
});

describe('fleet worker', () => {
  const stopped = new AbortedError('stopped by SIGTERM', { code: 'aborted', hint: '', exitCode: 143 });

  /** Plays a worker until it is stopped. */
  async function play(argv: readonly string[], more: FakeAnswers = {}, fleet: Partial<FleetEngine> = {}) {
    const controller = new AbortController();
    const requests: WorkRequest[] = [];
    const engine = makeEngine(
      {
        ...fleet,
        work(request) {
          request.onReady();
          requests.push(request);
          request.onEvent({ type: 'run-started', account: 'acme', token: 1, isTakeover: false });
          request.onOutput('a line of a lane');
          controller.abort(stopped);
          return Promise.resolve();
        },
      },
      more,
    );
    const captured = await run(['fleet', 'worker', ...argv], { engine, signal: controller.signal });
    return { ...captured, requests };
  }

  it('says what it serves, logs, and ends with the code of the signal', async () => {
    const { exitCode, stdout, stderr, requests } = await play([]);
    expect(stdout).toBe(
      'a worker with 4 lanes for 3 accounts, on postgres://db.example.com/fleet; SIGTERM drains it\n',
    );
    expect(stderr).toContain('acme: started');
    expect(stderr).toContain('a line of a lane');
    expect({ exitCode, lanes: requests[0]?.lanes }).toEqual({ exitCode: 143, lanes: 4 });
  });

  it('begins a JSON log with a line of its own, and takes lanes and a folder', async () => {
    const { stdout, stderr, requests } = await play([
      '--lanes',
      '8',
      '--scratch',
      'work',
      '--log-format',
      'json',
    ]);
    expect(stdout).toBe('');
    const [first] = stderr.split('\n');
    expect(JSON.parse(first ?? '')).toMatchObject({ type: 'worker-started', lanes: 8, accounts: 3 });
    expect(requests[0]).toMatchObject({
      lanes: 8,
      scratch: '/nowhere/work',
      config: { path: '/nowhere/sluice.yaml' },
    });
  });

  it('serves metrics and health until it ends', async () => {
    let paths: MetricsServerOptions['paths'] = {};
    const ends: string[] = [];
    const { stdout, requests } = await play(
      ['--metrics-port', '9464', '--without-accounts'],
      {
        startMetricsServer(options) {
          paths = options.paths;
          const close = () => Promise.resolve(void ends.push('server'));
          return Promise.resolve({ origin: 'http://127.0.0.1:9464', close });
        },
      },
      {
        openReader: () => Promise.resolve({ read, close: () => Promise.resolve(void ends.push('reader')) }),
        renderMetrics: (_, { withoutAccounts }) => Promise.resolve(`metrics ${withoutAccounts}\n`),
      },
    );
    expect(stdout).toContain('; watch it at http://127.0.0.1:9464/metrics; SIGTERM drains it');
    expect(await paths['/metrics']?.(makePathRequest('/'))).toMatchObject({
      status: 200,
      body: 'metrics true\n',
    });
    expect(await paths['/readyz']?.(makePathRequest('/'))).toMatchObject({ status: 200 });
    expect(await paths['/healthz']?.(makePathRequest('/'))).toMatchObject({
      status: 200,
      body: '{"status":"draining"}\n',
    });
    expect(requests[0]?.onLook).toBeDefined();
    expect(ends).toEqual(['server', 'reader']);
  });

  it.each([
    [['--metrics-host', '0.0.0.0'], '--metrics-host needs --metrics-port'],
    [['--without-accounts'], '--without-accounts needs --metrics-port'],
    [['--scratch', import.meta.filename], 'is not a folder'],
    [['--lanes', '0'], '--lanes'],
    [['--lanes', '65'], '--lanes'],
  ])('refuses %j before anything is opened', async (argv, words) => {
    const { exitCode, stderr, requests } = await play(argv);
    expect({ exitCode, requests }).toEqual({ exitCode: 2, requests: [] });
    expect(stderr).toContain(words);
  });

  it('ends with 2 where the config has no accounts, or no fleet', async () => {
    const none = await play([], { listAccounts: () => Promise.resolve(undefined) });
    expect(none.exitCode).toBe(2);
    expect(none.stderr).toContain('the config has no accounts');
    const missing = new ConfigError('fleet: is missing', {
      code: 'config_invalid',
      hint: 'Write fleet: {…}.',
    });
    const noFleet = await play([], {}, { loadSettings: () => Promise.reject(missing) });
    expect(noFleet.exitCode).toBe(2);
    expect(noFleet.stderr).toContain('Write fleet: {…}.');
  });
});

describe('report --fleet', () => {
  it('says which key was misspelt', async () => {
    const engine = makeEngine({}, { listAccounts: () => Promise.resolve(undefined) });
    const error = new ConfigError('accountss: unknown key', { code: 'config_invalid', hint: 'Correct it.' });
    const { exitCode, stderr } = await run(['fleet', 'status'], {
      engine: { ...engine, loadOfflineSettings: () => Promise.reject(error) },
    });
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 2, stderr: /accountss: unknown key/ });
  });

  it('ends with a config that has no accounts, and serves nothing', async () => {
    const engine = makeEngine({}, { listAccounts: () => Promise.resolve(undefined) });
    const ended = await run(['report', '--fleet', '--serve'], { engine });
    expect(ended).toMatchObject({ exitCode: 2, stdout: '' });
    expect(ended.stderr).toContain('the config has no accounts');
  });

  it('writes nothing where accounts are named as well', async () => {
    const { exitCode, stderr } = await run(['report', '--fleet', '--accounts', 'acme'], {
      engine: makeEngine(),
    });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--fleet and --accounts cannot be combined');
  });
});

describe('check with a fleet', () => {
  const checks = {
    listAccounts: () => Promise.resolve(makeKnownAccounts(['acme'])),
    runChecks: () =>
      Promise.resolve({
        ok: true,
        exitCode: 0,
        items: [{ name: 'key', status: 'ok' as const, detail: 'works', fix: undefined }],
        error: undefined,
        requestsSpent: 1,
        quota: undefined,
      }),
  };

  it('adds its items once, and its exit code where all else is well', async () => {
    const item = {
      name: 'store',
      status: 'failed' as const,
      detail: 'the folder of the store is not there',
      fix: 'Mount it.',
    };
    const { exitCode, stdout } = await run(['check'], {
      engine: makeEngine({ check: () => Promise.resolve({ items: [item], exitCode: 6 }) }, checks),
    });
    expect(exitCode).toBe(6);
    expect(stdout).toContain(
      'the fleet:\nFAILED  store  the folder of the store is not there\n        fix: Mount it.',
    );
    const json = await run(['check', '--json'], {
      engine: makeEngine({ check: () => Promise.resolve({ items: [item], exitCode: 6 }) }, checks),
    });
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      error: { code: 'storage_failed', message: 'store: the folder of the store is not there' },
      result: { fleet: [item] },
    });
  });

  it('changes nothing for a config without one', async () => {
    const { exitCode, stdout } = await run(['check'], { engine: makeEngine({}, checks) });
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain('fleet');
  });
});
