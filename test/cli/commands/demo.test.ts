import { mkdir, mkdtemp, readFile, readdir, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defaultEngine } from '../../../src/cli/default-engine.ts';
import type { Engine, RunningSimulator, SimulatorRequest } from '../../../src/cli/frame/engine.ts';
import type { AccountsReport } from '../../../src/model/accounts-report.ts';
import { run } from '../support/capture.ts';
import { makeRunReport, makeStreamReport } from '../support/reports.ts';

let cwd: string;
beforeEach(async () => (cwd = await mkdtemp(join(tmpdir(), 'sluice-demo-'))));
afterEach(() => rm(cwd, { recursive: true }));

function createSimulator(events: string[]): RunningSimulator {
  return {
    baseUrl: 'http://127.0.0.1:5/api/v1',
    origin: 'http://127.0.0.1:5',
    key: 'demo-key',
    advanceDay: () => void events.push('advance'),
    close: () => {
      events.push('close');
      return Promise.resolve();
    },
  };
}

function createEngine(events: string[], answers: Partial<Engine> = {}): Partial<Engine> {
  return {
    startSimulator: ({ day }) => {
      events.push(`start ${day}`);
      return Promise.resolve(createSimulator(events));
    },
    runSync: (_settings, { force }) => {
      events.push(`sync ${force === true ? 'force' : ''}`);
      const grown = events.includes('advance') ? 130 : 100;
      return Promise.resolve(makeRunReport({ streams: [makeStreamReport({ rowsInTable: grown })] }));
    },
    queryPublished: () => {
      events.push('query');
      return Promise.resolve({ columns: [{ name: 'topic_id', type: 'VARCHAR' }], rows: [['tp_1']] });
    },
    ...answers,
  };
}

describe('demo', () => {
  it('shows next steps that a shell takes, in a folder with a space as well', async () => {
    const { stdout } = await run(['demo', '--dir', 'de mo'], { cwd, engine: createEngine([]) });
    expect(stdout).toContain("  npx sluice status -c 'de mo/sluice.yaml'\n");
    expect(stdout).toContain(`  npx sluice query "from _sluice.runs" -c 'de mo/sluice.yaml'\n`);
  });

  it('syncs, lets a day pass, syncs again, asks a question and closes the server', async () => {
    const events: string[] = [];
    const { exitCode, stdout, calls } = await run(['demo'], { cwd, engine: createEngine(events) });
    expect(exitCode).toBe(0);
    expect(events).toEqual(['start 2026-11-19', 'sync force', 'advance', 'sync force', 'query', 'close']);
    expect(stdout).toMatch(/prompts_analytics +100 +130/);
    expect(stdout).toContain('tp_1');
    expect(stdout).toContain('read_only=True');
    expect(stdout).toContain('npx sluice init');
    expect(await readFile(join(cwd, 'sluice-demo', 'sluice.yaml'), 'utf8')).toContain('127.0.0.1:5');
    // The demo must see neither the user's key nor the user's quota ledger.
    expect(calls.find(({ name }) => name === 'loadSettings')?.arguments[0]).toMatchObject({
      env: { ANALYTICS_API_KEY: 'demo-key' },
    });
  });

  it('is one object with --json', async () => {
    const { stdout } = await run(['demo', '--json'], { cwd, engine: createEngine([]) });
    expect(JSON.parse(stdout)).toMatchObject({
      command: 'demo',
      ok: true,
      result: { first: { runId: 'run-1' }, second: { runId: 'run-1' }, query: { rows: [['tp_1']] } },
    });
  });

  it('rebuilds its own folder and keeps what others put there', async () => {
    await run(['demo'], { cwd, engine: createEngine([]) });
    await writeFile(join(cwd, 'sluice-demo', 'my.ipynb'), '{}');
    await writeFile(join(cwd, 'sluice-demo', 'warehouse.duckdb'), 'old');
    await expect(run(['demo'], { cwd, engine: createEngine([]) })).resolves.toMatchObject({ exitCode: 0 });
    expect((await readdir(join(cwd, 'sluice-demo'))).sort()).toEqual([
      '.sluice-demo',
      'my.ipynb',
      'sluice.yaml',
    ]);
  });

  it('refuses a folder whose config was changed', async () => {
    await run(['demo'], { cwd, engine: createEngine([]) });
    const config = join(cwd, 'sluice-demo', 'sluice.yaml');
    const text = `${await readFile(config, 'utf8')}# mine\n`;
    await writeFile(config, text);
    const events: string[] = [];
    const { exitCode, stderr } = await run(['demo'], { cwd, engine: createEngine(events) });
    expect({ exitCode, events }).toEqual({ exitCode: 2, events: [] });
    expect(stderr).toContain('sluice.yaml was changed since the demo wrote it; nothing in');
    expect(await readFile(config, 'utf8')).toBe(text);
    await unlink(config);
    await expect(run(['demo'], { cwd, engine: createEngine([]) })).resolves.toMatchObject({ exitCode: 0 });
  });

  it('refuses a file in place of a folder', async () => {
    const file = join(cwd, 'file');
    await writeFile(file, 'mine');
    for (const [dir, what] of [
      ['file', 'file is a file'],
      ['file/in', 'a part of the path file/in is a file'],
    ] as const) {
      const { exitCode, stderr } = await run(['demo', '--dir', dir], { cwd });
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`${what}, and the demo needs a folder; nothing was touched`);
    }
    expect(await readFile(file, 'utf8')).toBe('mine');
  });

  it('refuses a folder it did not make', async () => {
    const dir = join(cwd, 'mine');
    await mkdir(dir);
    await writeFile(join(dir, 'sluice.yaml'), 'mine');
    const events: string[] = [];
    const { exitCode, stderr } = await run(['demo', '--dir', 'mine'], { cwd, engine: createEngine(events) });
    expect({ exitCode, events }).toEqual({ exitCode: 2, events: [] });
    expect(stderr).toContain('--dir ./other-demo');
    expect(await readFile(join(dir, 'sluice.yaml'), 'utf8')).toBe('mine');
  });

  it('stops after a first sync that failed, closes the server and has its exit code', async () => {
    const events: string[] = [];
    const runSync = () => Promise.resolve(makeRunReport({ exitCode: 130, status: 'interrupted' }));
    const { exitCode } = await run(['demo'], { cwd, engine: createEngine(events, { runSync }) });
    expect({ exitCode, events }).toEqual({ exitCode: 130, events: ['start 2026-11-19', 'close'] });
  });

  it('closes the server when something breaks', async () => {
    const events: string[] = [];
    const runSync = () => Promise.reject(new Error('broken'));
    await run(['demo'], { cwd, engine: createEngine(events, { runSync }) });
    expect(events.at(-1)).toBe('close');
  });
});

/** An engine that reads and writes the config for real, and records what it was asked. */
function createAccountsEngine(events: string[], answers: Partial<Engine> = {}): Partial<Engine> {
  return createEngine(events, {
    startSimulator: ({ accounts = [] }: SimulatorRequest) => {
      events.push(`start ${accounts.map(({ name, key }) => `${name} ${key}`).join(', ')}`);
      return Promise.resolve(createSimulator(events));
    },
    buildConfigTemplate: (values) => defaultEngine.buildConfigTemplate(values),
    listAccounts: (request) => defaultEngine.listAccounts(request),
    loadSettings: (request) => defaultEngine.loadSettings(request),
    runSync: ({ readersFile, credentials }, { force }) => {
      const account = basename(readersFile, '.duckdb');
      events.push(`sync ${account} ${credentials.secret} ${force === true ? 'force' : ''}`);
      return Promise.resolve(makeRunReport());
    },
    queryPublished: (file) => {
      events.push(`query ${basename(file)}`);
      return Promise.resolve({
        columns: [],
        rows: [['prompts_analytics', file.includes('acme') ? 130 : 1_040]],
      });
    },
    ...answers,
  });
}

describe('demo --accounts', () => {
  it('tells the same story of several accounts, each with its key and its file', async () => {
    const events: string[] = [];
    const { exitCode, stdout, calls } = await run(['demo', '--accounts', '2'], {
      cwd,
      engine: createAccountsEngine(events),
      env: { HOME: '/home/somebody' },
    });
    expect(exitCode).toBe(0);
    const syncs = ['sync acme demo-key-of-acme force', 'sync globex demo-key-of-globex force'];
    expect(events).toEqual([
      'start acme demo-key-of-acme, globex demo-key-of-globex',
      ...syncs,
      'advance',
      ...syncs,
      ...['query acme.duckdb', 'query globex.duckdb'],
      'close',
    ]);
    expect(stdout).toContain('A simulated API for 2 accounts is up at http://127.0.0.1:5/api/v1.');
    expect(stdout).toMatch(/TABLE +ACME +GLOBEX\nprompts_analytics +130 +1,040\n/);
    expect(stdout).toContain('npx sluice status -c sluice-demo/sluice.yaml\n');
    expect(stdout).toContain(`npx sluice query --accounts '*' "SELECT account, count(*)`);
    // The demo must see neither the user's keys nor the user's quota ledgers.
    const loads = calls.filter(({ name }) => name === 'loadSettings');
    expect(loads.length).toBeGreaterThanOrEqual(4);
    for (const {
      arguments: [request],
    } of loads)
      expect(request).toMatchObject({ env: {} });
  });

  it('leaves a config and, beside it, keys that only their owner can read', async () => {
    await run(['demo', '--accounts', '9'], { cwd, engine: createAccountsEngine([]) });
    const dir = join(cwd, 'sluice-demo');
    const names = (await readdir(join(dir, 'keys'))).sort();
    expect(names).toHaveLength(9);
    for (const name of names) {
      expect(await readFile(join(dir, 'keys', name), 'utf8')).toBe(`demo-key-of-${name}\n`);
      expect((await stat(join(dir, 'keys', name))).mode & 0o777).toBe(0o600);
    }
    const known = await defaultEngine.listAccounts({ path: join(dir, 'sluice.yaml'), env: {}, nowMs: 0 });
    expect(known?.accounts.map(({ name }) => name).sort()).toEqual(names);
  });

  it('is one object with --json', async () => {
    const engine = createAccountsEngine([]);
    const { stdout } = await run(['demo', '--accounts', '2', '--json'], { cwd, engine });
    const both = [
      { account: 'acme', exitCode: 0, report: { runId: 'run-1' } },
      { account: 'globex', exitCode: 0, report: { runId: 'run-1' } },
    ];
    expect(JSON.parse(stdout)).toMatchObject({
      command: 'demo',
      ok: true,
      result: {
        first: { exitCode: 0, accounts: both },
        second: { exitCode: 0, accounts: both },
        tables: [
          {
            account: 'acme',
            duckdb: join(cwd, 'sluice-demo/accounts/acme.duckdb'),
            rows: { prompts_analytics: 130 },
          },
          { account: 'globex', rows: { prompts_analytics: 1_040 } },
        ],
      },
    });
  });

  it('stops after a first sync in which an account failed, and says which', async () => {
    const events: string[] = [];
    const runSync: Engine['runSync'] = ({ readersFile }) =>
      Promise.resolve(makeRunReport(readersFile.includes('globex') ? { exitCode: 3, status: 'failed' } : {}));
    const engine = createAccountsEngine(events, { runSync });
    const { exitCode, stdout } = await run(['demo', '--accounts', '2', '--json'], { cwd, engine });
    expect({ exitCode, last: events.at(-1), events: events.length }).toEqual({
      exitCode: 5,
      last: 'close',
      events: 2,
    });
    const { summary, result } = JSON.parse(stdout) as {
      readonly summary: string;
      readonly result: { readonly first: AccountsReport };
    };
    expect(summary).toContain('1 of 2 accounts complete, 1 failed (globex)');
    expect(result.first.accounts.map((one) => one.exitCode)).toEqual([0, 3]);
  });

  it.each(['1', '10', 'acme'])('refuses %s accounts before it makes a folder', async (count) => {
    const events: string[] = [];
    const engine = createAccountsEngine(events);
    const { exitCode, stderr } = await run(['demo', '--accounts', count], { cwd, engine });
    expect({ exitCode, events, made: await readdir(cwd) }).toEqual({ exitCode: 2, events: [], made: [] });
    expect(stderr).toContain('--accounts must be a whole number from 2 to 9');
  });

  it('makes room for a demo without accounts, and keeps what others put there', async () => {
    await run(['demo', '--accounts', '3'], { cwd, engine: createAccountsEngine([]) });
    const dir = join(cwd, 'sluice-demo');
    await writeFile(join(dir, 'keys', 'mine'), 'mine');
    await mkdir(join(dir, 'lake', 'account=acme'), { recursive: true });
    await run(['demo'], { cwd, engine: createEngine([]) });
    expect((await readdir(dir)).sort()).toEqual(['.sluice-demo', 'keys', 'sluice.yaml']);
    expect(await readdir(join(dir, 'keys'))).toEqual(['mine']);
  });
});
