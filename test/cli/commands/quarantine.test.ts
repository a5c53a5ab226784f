import { describe, expect, it } from 'vitest';
import { indentJson } from '../../../src/render/render-quarantine.ts';
import { ConfigError } from '../../../src/model/errors.ts';
import type {
  QuarantinedRecordDetail,
  QuarantineList,
  RetriedStream,
  RetryReport,
} from '../../../src/model/quarantine-report.ts';
import { run } from '../support/capture.ts';

const record = {
  id: '3fa94c17b2',
  stream: 'prompts',
  slice: '',
  runId: 'run-1',
  pageOffset: 99,
  rowIndex: 12,
  reason: 'is more than 100',
  path: 'score',
  quarantinedAt: '2026-11-20T12:00:00.000Z',
};
const list: QuarantineList = {
  total: 2_000,
  reasons: [
    { stream: 'prompts', slice: '', path: 'score', reason: 'is more than 100', records: 1_999 },
    {
      stream: 'prompts',
      slice: 'entity=acme',
      path: '',
      reason: 'the record is not a JSON object',
      records: 1,
    },
  ],
  records: [record, { ...record, id: '0000000001', path: '\u001b[31mred\nfield' }],
};

describe('quarantine list', () => {
  it('counts the reasons, then lists the newest with what to type next', async () => {
    const { exitCode, stdout, calls } = await run(['quarantine', 'list'], {
      engine: { listQuarantine: () => Promise.resolve(list) },
    });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/prompts +score +is more than 100 +1,999/);
    expect(stdout).toMatch(/prompts \(entity=acme\) +\(record\) +the record is not a JSON object +1/);
    expect(stdout).toMatch(/3fa94c17b2 +prompts +score +99 +12 +2026-11-20 12:00:00 UTC/);
    expect(stdout).toContain(
      '2,000 records in quarantine, the newest 2 above. To see one in full: sluice quarantine show 3fa94c17b2',
    );
    expect(stdout).toMatch(/^ID .* OFFSET +ROW /m);
    expect(stdout).not.toContain('\u001b');
    expect(calls.find(({ name }) => name === 'listQuarantine')?.arguments[1]).toEqual({ limit: 20 });
  });

  it('passes streams and limit on', async () => {
    const { calls } = await run(['quarantine', 'list', 'a,b', '--limit', '0'], {
      engine: { listQuarantine: () => Promise.resolve({ ...list, records: [] }) },
    });
    expect(calls.find(({ name }) => name === 'listQuarantine')?.arguments[1]).toEqual({
      streams: ['a', 'b'],
      limit: 0,
    });
  });

  it('says so when there is none', async () => {
    const { stdout } = await run(['quarantine', 'list'], {
      engine: { listQuarantine: () => Promise.resolve({ total: 0, reasons: [], records: [] }) },
    });
    expect(stdout).toBe('Nothing is in quarantine.\n');
  });

  it.each([40, 60, 80])('fits a terminal %i wide', async (columns) => {
    const { stdout } = await run(['quarantine', 'list'], {
      engine: { listQuarantine: () => Promise.resolve(list) },
      columns,
    });
    expect(stdout.split('\n').filter((line) => line.length > columns)).toEqual([]);
  });
});

describe('quarantine show', () => {
  const detail: QuarantinedRecordDetail = {
    ...record,
    hash: `${record.id}${'0'.repeat(54)}`,
    copies: 2,
    record: '{"id":9007199254740993,"text":"a\\u001b[31m{","list":[],"o":{}}',
  };

  it('shows the record as received, over several lines', async () => {
    const { stdout, calls } = await run(['quarantine', 'show', '3fa9'], {
      engine: { showQuarantined: () => Promise.resolve(detail) },
    });
    expect(calls.find(({ name }) => name === 'showQuarantined')?.arguments[1]).toBe('3fa9');
    expect(stdout).toContain('came as      row 12 of the page at offset 99');
    expect(stdout).toContain('quarantined  2026-11-20 12:00:00 UTC, 2 times');
    expect(stdout).toContain(
      '{\n  "id": 9007199254740993,\n  "text": "a\\u001b[31m{",\n  "list": [],\n  "o": {}\n}\n',
    );
  });

  it('needs an id, and hands on what is wrong with one', async () => {
    await expect(run(['quarantine', 'show'])).resolves.toMatchObject({ exitCode: 2 });
    const error = new ConfigError('no record', { code: 'usage_invalid', hint: 'See the list.' });
    await expect(
      run(['quarantine', 'show', 'ffff'], { engine: { showQuarantined: () => Promise.reject(error) } }),
    ).resolves.toMatchObject({ exitCode: 2, stderr: expect.stringContaining('See the list.') as string });
  });
});

describe('quarantine retry', () => {
  const stream: RetriedStream = {
    stream: 'prompts',
    slice: '',
    tried: 12,
    inserted: 5,
    updated: 3,
    unchanged: 1,
    outdated: 1,
    left: 2,
    leftBecause: [{ path: 'score', reason: 'is more than 100', records: 2 }],
    schemaChanges: [{ column: 'extra', change: 'added', fromType: undefined, toType: 'DATE' }],
    error: undefined,
  };
  const report: RetryReport = {
    runId: 'run-2',
    exitCode: 0,
    streams: [stream],
    warnings: [],
    published: { path: '/data/w.duckdb', bytes: 4_000_000 },
    error: undefined,
  };
  const retry = (answer: RetryReport, argv: readonly string[] = []) =>
    run(['quarantine', 'retry', ...argv], { engine: { retryQuarantine: () => Promise.resolve(answer) } });

  it('says what was loaded, what stays and why', async () => {
    const { exitCode, stdout } = await retry(report);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/prompts +12 +5 +3 +1 +1 +2/);
    expect(stdout).toContain('prompts: 2 records left: score is more than 100 (2)');
    expect(stdout).toContain(
      'prompts: 1 record dropped: the table has newer rows with their keys, or the source no longer has them',
    );
    expect(stdout).toContain('prompts: extra is new (DATE)');
    expect(stdout).toContain('10 records left quarantine, 2 stay. Published: /data/w.duckdb (4.0 MB).');
  });

  it('says when nothing was accepted, or nothing was there', async () => {
    const none = { ...stream, inserted: 0, updated: 0, unchanged: 0, outdated: 0, left: 12 };
    expect((await retry({ ...report, streams: [none], published: undefined })).stdout).toContain(
      'Nothing was accepted: 12 records still break the contract.',
    );
    expect((await retry({ ...report, streams: [], published: undefined })).stdout).toBe(
      'Nothing was in quarantine.\n',
    );
  });

  it('ends with the exit code of what failed, and its hint', async () => {
    const error = {
      code: 'config_invalid',
      message: 'prompts: masked',
      hint: 'Sync it.',
      exitCode: 2,
    } as const;
    const failed = { ...report, exitCode: 2 as const, streams: [{ ...stream, error }] };
    const { exitCode, stdout } = await retry(failed);
    expect(exitCode).toBe(2);
    expect(stdout).toMatch(/prompts failed: masked\n {2}next: Sync it\./);
    const { stdout: json } = await run(['quarantine', 'retry', '--json'], {
      engine: { retryQuarantine: () => Promise.resolve(failed) },
    });
    expect(JSON.parse(json)).toMatchObject({ ok: false, exitCode: 2, error: { code: 'config_invalid' } });
  });

  it('says once what ended it', async () => {
    const error = {
      code: 'storage_failed',
      message: 'the disk is full',
      hint: 'Free space.',
      exitCode: 6,
    } as const;
    const ended = { ...report, exitCode: 6 as const, published: undefined, error };
    for (const streams of [report.streams, [{ ...stream, error }]]) {
      const { stdout } = await retry({ ...ended, streams });
      expect(stdout.match(/the disk is full\n {2}next: Free space\./g)).toHaveLength(1);
      expect(stdout).toMatch(/\nThe retry did not finish\.\n$/);
    }
  });

  it('refuses what is not a stream name', async () => {
    await expect(retry(report, ['a b'])).resolves.toMatchObject({ exitCode: 2 });
  });
});

describe('JSON over several lines', () => {
  it('changes nothing but white space', () => {
    for (const text of ['{}', '[]', '[[],{}]', '"a,b:{"', '1e400', 'null', '{"a\\"":[1,{"b":"\\\\"}]}'])
      expect(JSON.stringify(JSON.parse(indentJson(text)))).toBe(JSON.stringify(JSON.parse(text)));
    expect(indentJson('{"a":[1,{"b":1.10}]}')).toBe(
      '{\n  "a": [\n    1,\n    {\n      "b": 1.10\n    }\n  ]\n}',
    );
  });
});
