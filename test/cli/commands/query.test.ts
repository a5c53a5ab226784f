import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { AbortedError, ConfigError } from '../../../src/model/errors.ts';
import type { QueryResult } from '../../../src/model/reports.ts';
import { createOutput } from '../../../src/cli/terminal/output.ts';
import { printRows, holdRows } from '../../../src/cli/commands/query-rows.ts';
import { createWorld, run, type World } from '../support/capture.ts';

const result = {
  columns: [{ name: 'n', type: 'BIGINT' }],
  rows: [['9007199254740993'], [null]],
};
const engine = answer(result);

/** An engine that gives these portions until no more are wanted, then fails if it has to. */
function answer(...portions: readonly (QueryResult | Error)[]): NonNullable<World['engine']> {
  return {
    streamPublished: async (_path, _sql, { take }) => {
      for (const portion of portions) {
        if (portion instanceof Error) throw portion;
        if (!(await take(portion))) return;
      }
    },
  };
}

describe('query', () => {
  it('asks the published file, without a key', async () => {
    const { calls } = await run(['query', 'select 1'], { engine });
    expect(calls.map(({ name }) => name)).toEqual(['loadOfflineSettings', 'streamPublished']);
    expect(calls[1]?.arguments).toEqual([
      '/data/warehouse.duckdb',
      'select 1',
      { signal: expect.any(AbortSignal) as unknown, take: expect.any(Function) as unknown },
    ]);
  });

  it('writes the format asked for, and nothing else, to stdout', async () => {
    await expect(run(['query', 'x', '--format', 'csv'], { engine })).resolves.toMatchObject({
      stdout: 'n\r\n9007199254740993\r\n\r\n',
      stderr: '',
    });
  });

  it('puts columns and rows into the result of --json', async () => {
    const { stdout } = await run(['query', 'x', '--json', '--format', 'csv'], { engine });
    expect(JSON.parse(stdout)).toMatchObject({ command: 'query', ok: true, result });
  });

  it('shows a terminal the first thousand rows and says so', async () => {
    const rows = Array.from({ length: 1_001 }, (_, i) => [i]);
    const many = answer({ columns: result.columns, rows });
    const endless = answer({ columns: result.columns, rows }, new Error('more rows were read'));
    const { stdout, stderr } = await run(['query', 'x'], { engine: endless, columns: 80 });
    expect(stdout.trimEnd().split('\n')).toHaveLength(1_001);
    expect(stderr).toContain('Only the first 1,000 rows are shown');
    await expect(run(['query', 'x'], { engine: many })).resolves.toMatchObject({ stderr: '' });
  });

  it('fails with exit code 2 and the hint of the engine', async () => {
    const error = new ConfigError('no such table: x', { code: 'query_failed', hint: 'Tables: a, b' });
    const failing = answer(error);
    const { exitCode, stderr } = await run(['query', 'x'], { engine: failing });
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: 'error: no such table: x\nTables: a, b\n' });
  });

  it('ends its statement when it is stopped', async () => {
    await expect(run(['query', 'x'], { engine })).resolves.toMatchObject({ stop: 'close' });
  });
});

const parts = [[['1'], ['2']], [['3']], [['4']]].map((rows) => ({ columns: result.columns, rows }));

describe('rows that come in portions', () => {
  it.each([
    ['csv', 'n\r\n1\r\n2\r\n3\r\n4\r\n'],
    ['json', '[{"n":1},\n {"n":2},\n {"n":3},\n {"n":4}]\n'],
    ['ndjson', '{"n":1}\n{"n":2}\n{"n":3}\n{"n":4}\n'],
    ['markdown', '| n |\n| ---: |\n| 1 |\n| 2 |\n| 3 |\n| 4 |\n'],
    ['table', 'n\n1\n2\n3\n4\n'],
  ])('are one text as %s', async (format, stdout) => {
    const end = await run(['query', 'x', '--format', format], { engine: answer(...parts) });
    expect(end).toMatchObject({ exitCode: 0, stdout, stderr: '' });
  });

  it.each([
    ['csv', 'n\r\n'],
    ['json', '[]\n'],
    ['ndjson', ''],
    ['markdown', '| n |\n| ---: |\n'],
  ])('and have no rows are written as %s as well', async (format, stdout) => {
    const none = answer({ columns: result.columns, rows: [] });
    expect(await run(['query', 'x', '--format', format], { engine: none })).toMatchObject({
      exitCode: 0,
      stdout,
    });
  });

  it('and fail after some say that they are not all, and a list stays open', async () => {
    const failure = new ConfigError('the query failed: boom', { code: 'query_failed', hint: 'Tables: t' });
    const argv = ['query', 'x', '--format', 'json'];
    expect(await run(argv, { engine: answer(...parts, failure) })).toEqual({
      ...(await run(argv, { engine })),
      calls: expect.any(Array) as unknown,
      exitCode: 2,
      stdout: '[{"n":1},\n {"n":2},\n {"n":3},\n {"n":4}',
      stderr: 'error: the query failed: boom\nThe output ends after 4 rows and is incomplete. Tables: t\n',
    });
    const stopped = new AbortedError('stopped by SIGINT', {
      code: 'aborted',
      hint: 'Nothing is left half done.',
    });
    expect(await run(argv, { engine: answer(...parts, stopped) })).toMatchObject({
      exitCode: 130,
      stderr: expect.stringMatching(/ends after 4 rows and is incomplete\. Run the command again/) as unknown,
    });
  });

  it('and fail as a table or as --json leave stdout without rows', async () => {
    const failing = answer(...parts, new ConfigError('boom', { code: 'query_failed', hint: 'Tables: t' }));
    expect(await run(['query', 'x'], { engine: failing })).toMatchObject({ exitCode: 2, stdout: '' });
    const { stdout } = await run(['query', 'x', '--json', '--format', 'csv'], { engine: failing });
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, exitCode: 2, result: null });
  });
});

/** The stdout of a process whose reader takes its time: there is room once it says so. */
class SlowPipe extends EventEmitter {
  readonly written: string[] = [];

  write(text: string): boolean {
    this.written.push(text);
    this.emit('written');
    return false;
  }
}

function openPipe(signal?: AbortSignal) {
  const stdout = new SlowPipe();
  const { context } = createWorld(signal && { signal });
  const output = createOutput({ stdout, stderr: stdout, env: {}, mask: (text) => text });
  return { stdout, rows: printRows({ ...context, output }, 'csv') };
}

const portion = { columns: result.columns, rows: [['1']] };

describe('printed rows', () => {
  it('wait for the reader', async () => {
    const { stdout, rows } = openPipe();
    let isTaken = false;
    const taking = rows.take(portion).finally(() => (isTaken = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect({ isTaken, written: stdout.written }).toEqual({ isTaken: false, written: ['n\r\n1\r\n'] });
    stdout.emit('drain');
    expect(await taking).toBe(true);
    expect(stdout.listenerCount('drain')).toBe(0);
  });

  it('end quietly once the reader has gone', async () => {
    const { stdout, rows } = openPipe();
    const taking = rows.take(portion);
    stdout.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    expect(await taking).toBe(false);
    expect(await rows.take(portion)).toBe(false);
    await rows.finish();
    expect(stdout.written).toEqual(['n\r\n1\r\n']);
  });

  it('wait for nobody once the process is to stop', async () => {
    const stop = new AbortController();
    const { rows } = openPipe(stop.signal);
    const taking = rows.take(portion);
    stop.abort();
    expect(await taking).toBe(false);
  });

  it('are written in parts where a portion is long', async () => {
    const { stdout, rows } = openPipe();
    stdout.on('written', () => setImmediate(() => stdout.emit('drain')));
    const taking = rows.take({
      columns: result.columns,
      rows: Array.from({ length: 5 }, () => ['x'.repeat(50_000)]),
    });
    expect(await taking).toBe(true);
    expect(stdout.written.map(({ length }) => length)).toEqual([100_007, 100_004, 50_002]);
  });
});

describe('rows that are held', () => {
  const rows = Array.from({ length: 100 }, (_, i) => [String(i)]);

  it('are refused, with what to do, where they need more memory than there is', async () => {
    const { take, held } = holdRows({ mostRows: Infinity, what: 'a table', mostBytes: 1_000 });
    expect(await take({ columns: result.columns, rows })).toBe(false);
    expect(held).toThrow(/too large for a table.*more than \d+ rows/);
    expect(held).toThrow(
      expect.objectContaining({
        exitCode: 2,
        hint: expect.stringContaining('--format csv') as unknown,
      }) as Error,
    );
  });

  it('count as what a table makes of them: one long value widens each line', async () => {
    const long = { columns: result.columns, rows: [['x'.repeat(1_000)], ...rows] };
    const table = holdRows({ mostRows: Infinity, what: 'a table', mostBytes: 50_000 });
    expect(await table.take(long)).toBe(false);
    const json = holdRows({ mostRows: Infinity, what: '--json', mostBytes: 50_000 });
    expect(await json.take(long)).toBe(true);
    expect(json.held().rows).toHaveLength(101);
  });

  it('are at most as many as are asked for', async () => {
    const { take, held } = holdRows({ mostRows: 10, what: 'a table' });
    expect(await take({ columns: result.columns, rows })).toBe(false);
    expect(held().rows).toHaveLength(10);
  });
});
