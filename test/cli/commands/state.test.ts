import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { OfflineSettings } from '../../../src/model/settings.ts';
import type { StateChange, StateChangeReport, StateReport } from '../../../src/model/state-report.ts';
import type { ChangeRequest } from '../../../src/cli/frame/engine.ts';
import { run } from '../support/capture.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-state-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const report: StateReport = {
  source: 'work file',
  isInUse: false,
  path: '/data/.sluice/work.duckdb',
  state: {
    format: 'sluice-state',
    version: 1,
    exportedAt: '2026-11-20T13:48:00.000Z',
    connector: 'analytics-read',
    baseUrl: 'https://analytics.example.com/api/v1',
    checkpoints: [
      {
        stream: 'items',
        slice: 'entity=acme',
        fingerprint: 'f',
        cursorField: 'date',
        cursorState: 'proved',
        watermark: '2026-11-19',
        keyFields: ['id', 'date'],
        keyOrigin: 'learned',
        keyProvedOn: [],
        lastFullScanAt: '2026-11-01T00:00:00.000Z',
        lastVerifiedAt: undefined,
        lastVerdict: 'verified',
        rowsDeclared: 10,
        head: undefined,
        rules: undefined,
        runId: 'nightly',
      },
    ],
  },
};

const change: StateChange = {
  stream: 'items',
  slice: '',
  what: 'forgotten',
  watermarkBefore: '2026-11-19',
  watermarkAfter: undefined,
  rowsDropped: 1_200,
};

/** An engine that asks before it changes something. */
function asking(changes: readonly StateChange[] = [change]) {
  const answer = async (_: unknown, request: ChangeRequest): Promise<StateChangeReport> => ({
    changes,
    cancelled: !(await request.confirm(changes, ['a warning'])),
    warnings: [],
    published: undefined,
  });
  return {
    readState: () => Promise.resolve(report),
    resetState: answer,
    importState: (settings: unknown, _text: string, request: ChangeRequest) => answer(settings, request),
  };
}

describe('state show', () => {
  it('shows each checkpoint', async () => {
    const { exitCode, stdout, calls } = await run(['state', 'show', 'items'], { engine: asking() });
    expect(exitCode).toBe(0);
    expect(calls[1]).toMatchObject({
      name: 'readState',
      arguments: [expect.anything(), { streams: ['items'] }],
    });
    expect(stdout).toMatch(
      /items \(entity=acme\) +2026-11-19 +verified +2026-11-01 00:00:00 UTC +date \(proved\) +id, date +nightly/,
    );
    expect(stdout).toContain('1 checkpoint in /data/.sluice/work.duckdb.');
  });

  it('says when there is none, and when it may be late', async () => {
    const none = { ...report, source: 'nothing', state: { ...report.state, checkpoints: [] } } as const;
    const readState = () => Promise.resolve(none);
    expect((await run(['state', 'show'], { engine: { readState } })).stdout).toContain(
      'nothing has been synced',
    );
    const late = { ...report, source: 'published file' } as const;
    const show = async (shown: StateReport) =>
      (await run(['state', 'show'], { engine: { readState: () => Promise.resolve(shown) } })).stdout;
    expect(await show(late)).toMatch(
      /may be missing the last commit because the state folder has no work file/,
    );
    expect(await show({ ...late, isInUse: true })).toMatch(
      /the last commit because a run has the work file open/,
    );
    expect(await show({ ...none, isInUse: true })).toMatch(
      /A run has the work file open, and nothing is published yet/,
    );
  });
});

describe('state export', () => {
  it('writes JSON to stdout, or into a file', async () => {
    const { stdout } = await run(['state', 'export'], { engine: asking() });
    expect(JSON.parse(stdout)).toEqual(JSON.parse(JSON.stringify(report.state)));
    const path = join(folder, 'state.json');
    const named = await run(['state', 'export', '--output', path], { engine: asking() });
    expect(named.stdout).toContain(`Written: ${path}`);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(JSON.parse(stdout));
  });

  it('goes to stdout with --output -, as without it', async () => {
    const plain = await run(['state', 'export'], { engine: asking() });
    const dash = await run(['state', 'export', '--output', '-'], { engine: asking(), cwd: folder });
    expect(dash.stdout).toBe(plain.stdout);
    expect(existsSync(join(folder, '-'))).toBe(false);
  });

  it('replaces an earlier export, and no other file', async () => {
    const path = join(folder, 'again.json');
    for (const [before, isReplaced] of [
      [`${JSON.stringify(report.state)}\n`, true],
      ['', true],
      ['{ "name": "package" }', false],
      ['source: {}\n', false],
    ] as const) {
      writeFileSync(path, before);
      const { exitCode, stderr } = await run(['state', 'export', '--output', path], { engine: asking() });
      expect([before, exitCode]).toEqual([before, isReplaced ? 0 : 2]);
      if (isReplaced) continue;
      expect(stderr).toContain('is not what `sluice state export` wrote; it was not touched');
      expect(readFileSync(path, 'utf8')).toBe(before);
    }
  });

  it.each([
    ['.', '. is a folder'],
    ['no/x', 'the folder of no/x does not exist'],
  ])('refuses --output %s', async (output, message) => {
    const { exitCode, stderr } = await run(['state', 'export', '--output', output], {
      engine: asking(),
      cwd: folder,
    });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
  });

  it('writes nothing where the state or published data are', async () => {
    const root = mkdtempSync(join(folder, 'own-'));
    for (const name of ['.sluice', 'lake', 'quota']) mkdirSync(join(root, name));
    writeFileSync(join(root, 'sluice.yaml'), '');
    symlinkSync('.sluice', join(root, 'link'));
    const settings = {
      configPath: join(root, 'sluice.yaml'),
      stateDir: join(root, '.sluice'),
      ledgerDir: join(root, 'quota'),
      destinations: [
        { kind: 'duckdb', path: join(root, 'w.duckdb') },
        { kind: 'parquet', path: join(root, 'lake') },
      ],
      notify: {},
    } as unknown as OfflineSettings;
    const engine = { ...asking(), loadOfflineSettings: () => Promise.resolve(settings) };
    for (const [output, message] of [
      ['sluice.yaml', 'sluice.yaml is the config itself'],
      ['w.duckdb', 'w.duckdb is the published file itself'],
      ['lake/x.json', 'lake/x.json is inside the lake'],
      ['.sluice/x.json', '.sluice/x.json is inside the state folder'],
      ['link/x.json', 'link/x.json is inside the state folder'],
      ['quota/x.json', 'quota/x.json is inside the folder of the quota ledger'],
    ] as const) {
      const { exitCode, stderr } = await run(['state', 'export', '--output', output], { engine, cwd: root });
      expect(exitCode).toBe(2);
      expect(stderr).toContain(message);
      if (output !== 'sluice.yaml') expect(existsSync(join(root, output))).toBe(false);
    }
    expect((await run(['state', 'export', '--output', 'x.json'], { engine, cwd: root })).exitCode).toBe(0);
  });
});

it.each([
  ['nothing was synced', false, 2, 'there is no state to export'],
  ['the first run still goes on', true, 75, 'a run has the work file open'],
] as const)('state export replaces no file where %s', async (_, isInUse, exitCode, message) => {
  const none = {
    ...report,
    source: 'nothing',
    isInUse,
    state: { ...report.state, checkpoints: [] },
  } as const;
  const path = join(folder, 'good.json');
  const good = JSON.stringify(report.state);
  writeFileSync(path, good);
  for (const output of [['--output', path], []]) {
    const engine = { readState: () => Promise.resolve(none) };
    const ended = await run(['state', 'export', ...output], { engine });
    expect([ended.exitCode, ended.stdout]).toEqual([exitCode, '']);
    expect(ended.stderr).toContain(message);
  }
  expect(readFileSync(path, 'utf8')).toBe(good);
});

describe.each([
  ['reset', ['state', 'reset', 'items']],
  ['import', ['state', 'import', join(folder, 'import.json')]],
])('state %s', (_, argv) => {
  writeFileSync(join(folder, 'import.json'), '{}');

  it('shows what it would change, and asks', async () => {
    const asked: string[] = [];
    const prompt = (answer: string) => (question: string) => {
      asked.push(question);
      return Promise.resolve(answer);
    };
    const yes = await run(argv, { engine: asking(), prompt: prompt('y') });
    expect(yes.stderr).toContain(
      'items: forgets its checkpoint (2026-11-19); drops its table with 1,200 rows',
    );
    expect(yes.stderr).toContain('warning: a warning');
    expect(yes.stdout).toContain('1 checkpoint changed.');
    const no = await run(argv, { engine: asking(), prompt: prompt('no') });
    expect(no.stdout).toContain('Nothing was changed.');
    expect(asked).toHaveLength(2);
  });

  it('changes nothing where nobody can answer, unless --yes is given', async () => {
    const { exitCode, stderr } = await run(argv, { engine: asking() });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('give --yes');
    expect((await run([...argv, '--yes'], { engine: asking() })).exitCode).toBe(0);
    expect((await run([...argv, '--json'], { engine: asking() })).exitCode).toBe(2);
  });
});

describe('state import', () => {
  it.each([
    ['no-such-file', 'no-such-file does not exist'],
    ['.', '. is a folder'],
    ['/dev/zero', '/dev/zero has more than 256 MB'],
  ])('says what is wrong with %s', async (file, message) => {
    const { exitCode, stderr } = await run(['state', 'import', file], { engine: asking(), cwd: folder });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).toContain('Nothing was imported.');
  });
});
