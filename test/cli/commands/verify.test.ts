import { describe, expect, it } from 'vitest';
import type { ComparedStream, ComparisonReport, VerifyReport } from '../../../src/model/reports.ts';
import { ConfigError } from '../../../src/model/errors.ts';
import { run } from '../support/capture.ts';
import { NOW_MS } from '../support/reports.ts';

const whole: VerifyReport = {
  ok: true,
  exitCode: 0,
  items: [
    { name: 'work file', status: 'ok', detail: 'every block could be read', fix: undefined },
    { name: 'items', status: 'ok', detail: '12 rows', fix: undefined },
  ],
  comparison: undefined,
};

const items: ComparedStream = {
  stream: 'items',
  slice: '',
  extent: 'sampled',
  rowsDeclared: 1_800,
  rowsCompared: 400,
  rowsInTable: 1_790,
  missing: 2,
  extra: undefined,
  differing: 1,
  differs: true,
  examples: [
    { what: 'missing', row: '{"id":1}', values: undefined },
    { what: 'differing', row: '{"id":2}', values: '{"name":["a","b\u001b[31m"]}' },
  ],
  notes: [],
  error: undefined,
};

const quota = { limit: 600, remaining: 558, resetAtMs: NOW_MS + 720_000, notBeforeMs: undefined };
const compared = (...streams: readonly ComparedStream[]): ComparisonReport => ({
  streams,
  requestsSpent: 4,
  quota,
});

describe('verify', () => {
  it('needs no key, and shows one line per item', async () => {
    const { exitCode, stdout, calls } = await run(['verify'], {
      engine: { verifyState: () => Promise.resolve(whole) },
    });
    expect(exitCode).toBe(0);
    expect(calls.map(({ name }) => name)).toEqual(['loadOfflineSettings', 'verifyState']);
    expect(stdout).toBe(
      [
        'ok      work file  every block could be read',
        'ok      items      12 rows',
        '',
        'The files agree.',
        '',
      ].join('\n'),
    );
  });

  it('does not say that files agree of which none could be checked', async () => {
    const items = whole.items.map((item) => ({ ...item, status: 'skipped' as const, fix: undefined }));
    const { stdout } = await run(['verify'], {
      engine: { verifyState: () => Promise.resolve({ ...whole, exitCode: 75, items }) },
    });
    expect(stdout).toMatch(/\nNothing could be checked\.\n$/);
  });

  it('ends with 6 and the first failure when files do not agree', async () => {
    const failed = {
      name: 'items',
      status: 'failed',
      detail: 'it lacks name',
      fix: 'sluice rebuild items',
    } as const;
    const report: VerifyReport = { ...whole, ok: false, exitCode: 6, items: [failed] };
    const { exitCode, stdout } = await run(['verify', '--json'], {
      engine: { verifyState: () => Promise.resolve(report) },
    });
    expect(exitCode).toBe(6);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      exitCode: 6,
      summary: '1 item failed',
      error: { code: 'verify_failed', message: 'items: it lacks name', hint: 'sluice rebuild items' },
    });
  });

  it('ends with 75 where a run keeps it from looking', async () => {
    const skipped = {
      name: 'work file',
      status: 'skipped',
      detail: 'another run holds it',
      fix: 'Later.',
    } as const;
    const report: VerifyReport = { ...whole, ok: false, exitCode: 75, items: [skipped] };
    const { exitCode, stdout } = await run(['verify', '--json'], {
      engine: { verifyState: () => Promise.resolve(report) },
    });
    expect(exitCode).toBe(75);
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: 'state_locked', message: 'another run holds it' },
    });
  });

  it('compares with the API when asked, says first what that may cost, and escapes what it shows', async () => {
    const { exitCode, stdout, stderr, calls } = await run(
      ['verify', 'items', '--against-api', '--max-requests', '4', '--show', '2'],
      {
        engine: {
          verifyState: () => Promise.resolve(whole),
          compareWithApi: (_, { onBegin }) => {
            onBegin?.();
            return Promise.resolve(compared(items));
          },
        },
      },
    );
    expect(exitCode).toBe(4);
    expect(calls.map(({ name }) => name)).toEqual(['loadSettings', 'verifyState', 'compareWithApi']);
    expect(calls[2]?.arguments[1]).toMatchObject({ streams: ['items'], maxRequests: 4, show: 2 });
    expect(stderr).toContain('at most 4 requests');
    expect(stdout).toMatch(/items +400 of 1,800 rows \(22\.2 %\) +2 +- +1\n/);
    expect(stdout).toContain('items: missing here: {"id":1}');
    expect(stdout).not.toContain('\u001b[31m');
    expect(stdout).toContain('1 of 1 stream differs from the API');
    expect(stdout).toContain('next: the API may have changed since the last sync.');
  });

  it('says nothing of requests where there is nothing to compare', async () => {
    const error = new ConfigError('there is no published file', {
      code: 'query_failed',
      hint: 'Sync first.',
    });
    const { stderr } = await run(['verify', '--against-api'], {
      engine: { verifyState: () => Promise.resolve(whole), compareWithApi: () => Promise.reject(error) },
    });
    expect(stderr).toBe('error: there is no published file\nSync first.\n');
  });

  it('takes the exit code of what kept it from comparing', async () => {
    const error = {
      code: 'key_rejected',
      message: 'items: refused (401)',
      hint: 'A new key.',
      exitCode: 3,
    } as const;
    const none = {
      ...items,
      extent: 'none',
      missing: 0,
      differing: 0,
      differs: false,
      examples: [],
      error,
    } as const;
    const { exitCode, stdout } = await run(['verify', '--against-api'], {
      engine: {
        verifyState: () => Promise.resolve(whole),
        compareWithApi: () => Promise.resolve(compared(none)),
      },
    });
    expect(exitCode).toBe(3);
    expect(stdout).toContain('items failed: refused (401)');
    expect(stdout).toContain('nothing could be compared');
  });

  it.each([40, 60, 80])('fits a terminal %i wide', async (columns) => {
    const { stdout } = await run(['verify', '--against-api'], {
      columns,
      env: { NO_COLOR: '1' },
      engine: {
        verifyState: () => Promise.resolve(whole),
        compareWithApi: () =>
          Promise.resolve(compared(items, { ...items, stream: 'commerce_category_products' })),
      },
    });
    expect(stdout.split('\n').filter((line) => line.length > columns)).toEqual([]);
  });

  it('refuses options of the comparison without it', async () => {
    expect((await run(['verify', '--show', '3'])).exitCode).toBe(2);
    expect((await run(['verify', 'No-Name'])).exitCode).toBe(2);
  });
});
