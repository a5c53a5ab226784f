import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/model/errors.ts';
import { run } from '../support/capture.ts';

const result = {
  columns: [{ name: 'n', type: 'BIGINT' }],
  rows: [['9007199254740993'], [null]],
};
const engine = { queryPublished: () => Promise.resolve(result) };

describe('query', () => {
  it('asks the published file, without a key', async () => {
    const { calls } = await run(['query', 'select 1'], { engine });
    expect(calls.map(({ name }) => name)).toEqual(['loadOfflineSettings', 'queryPublished']);
    expect(calls[1]?.arguments).toEqual([
      '/data/warehouse.duckdb',
      'select 1',
      { signal: expect.any(AbortSignal) as unknown },
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
    const many = { queryPublished: () => Promise.resolve({ columns: result.columns, rows }) };
    const { stdout, stderr, calls } = await run(['query', 'x'], { engine: many, columns: 80 });
    expect(calls[1]?.arguments[2]).toEqual({ signal: expect.any(AbortSignal) as unknown, maxRows: 1_001 });
    expect(stdout.trimEnd().split('\n')).toHaveLength(1_001);
    expect(stderr).toContain('Only the first 1,000 rows are shown');
    await expect(run(['query', 'x'], { engine: many })).resolves.toMatchObject({ stderr: '' });
  });

  it('fails with exit code 2 and the hint of the engine', async () => {
    const error = new ConfigError('no such table: x', { code: 'query_failed', hint: 'Tables: a, b' });
    const failing = { queryPublished: () => Promise.reject(error) };
    const { exitCode, stderr } = await run(['query', 'x'], { engine: failing });
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: 'error: no such table: x\nTables: a, b\n' });
  });

  it('ends its statement when it is stopped', async () => {
    await expect(run(['query', 'x'], { engine })).resolves.toMatchObject({ stop: 'close' });
  });
});
