import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine, RunningSimulator } from '../../../src/cli/frame/engine.ts';
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
