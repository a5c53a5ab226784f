import { describe, expect, it } from 'vitest';
import type { DiscoveredStream, DiscoverReport } from '../../../src/model/discover-report.ts';
import type { DiscoverRequest } from '../../../src/cli/frame/engine.ts';
import { run, type World } from '../support/capture.ts';
import { NOW_MS } from '../support/reports.ts';

const field = { nulls: 0, missing: 0, isLeast: false, isHashed: false, filled: 300, distinct: 60 };

const stream: DiscoveredStream = {
  stream: 'prompts_analytics',
  slice: '',
  status: 'sampled',
  sample: {
    records: 300,
    notObjects: 0,
    pages: 3,
    total: 1_800,
    isWhole: false,
    place: { pointer: '/data', kind: 'array' },
  },
  fields: [
    {
      ...field,
      field: 'promptId',
      path: ['promptId'],
      column: 'prompt_id',
      type: 'VARCHAR',
      seen: ['text'],
      examples: ['"pr_1"', '"pr_2"'],
    },
    {
      ...field,
      field: 'rank',
      path: ['rank'],
      column: 'rank',
      type: 'BIGINT',
      seen: ['integer'],
      filled: 250,
      nulls: 48,
      missing: 2,
      examples: ['15'],
    },
    {
      ...field,
      field: 'odd',
      path: ['odd'],
      column: 'odd',
      type: 'VARCHAR',
      seen: ['integer', 'text'],
      filled: 299,
      nulls: 1,
      distinct: 2_000,
      isLeast: true,
      examples: [String.raw`"\u001b[31mred\nline"`, '{"a":1}'],
    },
    {
      ...field,
      field: 'email',
      path: ['email'],
      column: 'email',
      type: 'VARCHAR',
      seen: ['text'],
      examples: [],
      isHashed: true,
    },
  ],
  excluded: ['ssn'],
  keys: [
    { fields: ['date', 'promptId'], distinct: 300, rows: 300, holds: true },
    { fields: ['date'], distinct: 6, rows: 300, holds: false },
  ],
  cursors: [{ field: 'date', type: 'DATE', oldest: '2026-10-15', newest: '2026-11-13', order: 'descending' }],
  params: [
    { param: 'startDate', verdict: 'honoured', evidence: ['startDate=2027-11-21: no rows'], field: 'date' },
    {
      param: 'entity',
      verdict: 'ignored',
      evidence: ['entity=no-such-value: the same 1,800 rows as without it'],
    },
    {
      param: 'topics',
      verdict: 'ignored',
      evidence: ['topics=no-such-value: the same 1,800 rows as without it'],
    },
  ],
  notes: ['the data changed while it was sampled'],
  error: undefined,
};

function makeReport(changes: Partial<DiscoverReport> = {}): DiscoverReport {
  return {
    streams: [stream],
    probes: { state: 'asked', mostRequests: 12, error: undefined },
    contracts: [],
    configLines: 'streams:\n  prompts_analytics:\n    key: [date, promptId]',
    requestsSpent: 15,
    quota: { limit: 600, remaining: 585, resetAtMs: NOW_MS + 600_000, notBeforeMs: undefined },
    ...changes,
  };
}

async function discover(
  argv: readonly string[],
  changes: Partial<DiscoverReport> = {},
  { short = false, ...world }: World & { readonly short?: boolean } = {},
) {
  const confirmed: boolean[] = [];
  const captured = await run(['discover', ...argv], {
    ...world,
    engine: {
      async discover(_settings, { confirmProbes }) {
        const [most, quotaLeft] = short ? [8, 8] : [12, 597];
        const sampled = { requestsSpent: 3, quotaLeft, wanted: 12, returnsAtMs: NOW_MS + 600_000 };
        if (confirmProbes !== undefined) confirmed.push(await confirmProbes(most, sampled));
        return makeReport(changes);
      },
    },
  });
  const call = captured.calls.find(({ name }) => name === 'discover');
  return { ...captured, confirmed, request: call?.arguments[1] as DiscoverRequest | undefined };
}

const failed: DiscoveredStream = {
  ...stream,
  status: 'failed',
  sample: undefined,
  fields: [],
  error: {
    code: 'request_rejected',
    message: 'prompts_analytics, offset 0: the API answered 400',
    hint: 'Set entity.',
    exitCode: 4,
  },
};

describe('what is shown', () => {
  it('fits 80 columns and reports everything once', async () => {
    const { stdout, exitCode } = await discover(['--yes'], {}, { columns: 80, env: { NO_COLOR: '1' } });
    expect(exitCode).toBe(0);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(stdout).toMatchInlineSnapshot(`
      "prompts_analytics: 300 of 1,800 records from 3 pages, an array at /data

      FIELD     COLUMN     TYPE     NULL  DISTINCT  SEEN           EXAMPLES
      promptId  prompt_id  VARCHAR              60  text           pr_1, pr_2
      rank      rank       BIGINT    16%        60  integer        15
      odd       odd        VARCHAR   <1%    >2,000  integer, text  \\x1b[31mred\\nline,…
      email     email      VARCHAR              60  text           (hashed)

        key        date + promptId: 300 distinct of 300 rows; not enough: date (6)
        cursor     date: 2026-10-15 to 2026-11-13, in every row, newest first
        startDate  honoured; 2027-11-21: no rows
        entity     ignored (as is topics); no-such-value: the same 1,800 rows as
                   without it
        mixed      odd holds integer and text
        excluded   ssn, as configured
        note       the data changed while it was sampled

      To keep this, put into the config:

      streams:
        prompts_analytics:
          key: [date, promptId]

      15 requests used; 585 of 600 requests left until 13:58 UTC.
      "
    `);
  });

  it('has every column and whole examples where nothing limits it', async () => {
    const { stdout } = await discover(['--yes']);
    expect(stdout).toMatchInlineSnapshot(`
      "prompts_analytics: 300 of 1,800 records from 3 pages, an array at /data

      FIELD     COLUMN     TYPE     NULL  DISTINCT  SEEN           EXAMPLES
      promptId  prompt_id  VARCHAR              60  text           pr_1, pr_2
      rank      rank       BIGINT    16%        60  integer        15
      odd       odd        VARCHAR   <1%    >2,000  integer, text  \\x1b[31mred\\nline, {"a":1}
      email     email      VARCHAR              60  text           (hashed)

        key        date + promptId: 300 distinct of 300 rows; not enough: date (6)
        cursor     date: 2026-10-15 to 2026-11-13, in every row, newest first
        startDate  honoured; 2027-11-21: no rows
        entity     ignored (as is topics); no-such-value: the same 1,800 rows as without it
        mixed      odd holds integer and text
        excluded   ssn, as configured
        note       the data changed while it was sampled

      To keep this, put into the config:

      streams:
        prompts_analytics:
          key: [date, promptId]

      15 requests used; 585 of 600 requests left until 13:58 UTC.
      "
    `);
  });

  it('fits a narrow terminal, too', async () => {
    const { stdout } = await discover(['--yes'], {}, { columns: 44, env: { NO_COLOR: '1' } });
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(44);
    expect(stdout).toContain('promptId');
  });

  it('says what the records are where they are few, odd or elsewhere', async () => {
    const show = async (changes: Partial<NonNullable<DiscoveredStream['sample']>>) => {
      const sample = { ...stream.sample, ...changes } as DiscoveredStream['sample'];
      const { stdout } = await discover(['--yes'], { streams: [{ ...stream, sample }] });
      return stdout.split('\n')[0];
    };
    expect(await show({ isWhole: true, total: 300 })).toBe(
      'prompts_analytics: all 300 records from 3 pages, an array at /data',
    );
    expect(
      await show({ isWhole: true, records: 1, total: 1, pages: 1, place: { pointer: '', kind: 'object' } }),
    ).toBe('prompts_analytics: all 1 record, the response itself is the record');
    expect(await show({ pages: 1, total: undefined, place: { pointer: '', kind: 'array' } })).toBe(
      'prompts_analytics: 300 records, an array at the top of the response',
    );
    expect(await show({ notObjects: 2 })).toContain('; 2 others not JSON objects');
    expect(await show({ records: 0, total: 0, pages: 1 })).toBe(
      'prompts_analytics: the endpoint holds no records',
    );
  });

  it('is one object with --json', async () => {
    const { stdout } = await discover(['--yes', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      command: 'discover',
      ok: true,
      summary: 'sampled 1 stream with 15 requests',
      result: { requestsSpent: 15, streams: [{ keys: [{ holds: true }, { holds: false }] }] },
    });
  });
});

describe('trying parameters', () => {
  const answer = (text: string) => ({ prompt: () => Promise.resolve(text) });

  it.each([
    ['yes', true],
    ['Y', true],
    ['no', false],
    ['later', false],
  ])('is asked for on a terminal, after its cost: %s', async (text, wanted) => {
    const asked: string[] = [];
    const prompt = (question: string) => {
      asked.push(question);
      return Promise.resolve(text);
    };
    const { confirmed, stderr } = await discover([], {}, { prompt });
    expect(confirmed).toEqual([wanted]);
    expect(asked).toEqual(['Test what start dates and filters do? That takes up to 12 more requests']);
    expect(stderr).toContain('Sampled with 3 requests, 597 are left now.');
  });

  it('asks for no more than the quota has left, and says what all takes and when there is more', async () => {
    const asked: string[] = [];
    const prompt = (question: string) => {
      asked.push(question);
      return Promise.resolve('yes');
    };
    const { stderr } = await discover([], {}, { prompt, short: true });
    expect(asked).toEqual(['Test some of them now? That takes up to 8 more requests']);
    expect(stderr).toContain('Sampled with 3 requests, 8 are left now.');
    expect(stderr.replaceAll(/\s+/g, ' ')).toMatch(
      /Testing all start dates and filters takes up to 12 requests\. The quota does not allow all of them now; the quota has more at .*UTC\./,
    );
  });

  it('says what there is room for where nobody is there to ask', async () => {
    const probes = { state: 'not-asked', mostRequests: 12, affordable: 8, error: undefined } as const;
    const { stdout, exitCode } = await discover([], { probes });
    expect(exitCode).toBe(0);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      'that takes up to 12 more requests, with --yes, and the quota allows 8 now.',
    );
  });

  it.each([
    [['--yes'], [true]],
    [['--no-probe'], []],
    [['--json'], []],
  ])('is not asked for with %j', async (argv, expected) => {
    const prompt = () => Promise.reject(new Error('asked'));
    expect((await discover(argv, {}, { prompt })).confirmed).toEqual(expected);
  });

  it('is left out where nobody is there to ask, and its cost is reported', async () => {
    const probes = { state: 'not-asked', mostRequests: 12, error: undefined } as const;
    const { confirmed, stdout } = await discover([], { probes });
    expect(confirmed).toEqual([]);
    expect(stdout).toContain(
      'Start dates and filters were not tested: that takes up to 12 more requests, with --yes.',
    );
  });

  it('that a quota ended is exit code 75, with what is there', async () => {
    const error = {
      code: 'quota_exhausted',
      message: 'the quota is spent',
      hint: 'Run again later.',
      exitCode: 75,
    } as const;
    const { exitCode, stdout } = await discover(['--yes'], {
      probes: { state: 'asked', mostRequests: 12, error },
    });
    expect(exitCode).toBe(75);
    expect(stdout).toContain('promptId');
    expect(stdout).toContain('Parameters were not all tested: the quota is spent\n  next: Run again later.');
  });

  it('is left out when the input ends', async () => {
    const prompt = () => Promise.reject(new Error('no answer'));
    const { confirmed, stdout } = await discover([], {}, { prompt });
    expect(confirmed).toEqual([false]);
    expect(stdout).toContain('promptId');
  });

  it('answers to nothing but y and yes', async () => {
    expect((await discover([], {}, answer('yes please'))).confirmed).toEqual([false]);
  });
});

describe('options', () => {
  it('reach the engine', async () => {
    const { request } = await discover([
      'a,b',
      '--pages',
      '5',
      '--max-requests',
      '9',
      '--no-examples',
      '--write',
      '--force',
      '--yes',
    ]);
    expect(request).toMatchObject({
      streams: ['a', 'b'],
      pages: 5,
      maxRequests: 9,
      examples: false,
      write: { force: true },
    });
    const plain = await discover(['--yes']);
    expect(plain.request).toMatchObject({ examples: true });
    expect(plain.request).not.toHaveProperty('write');
    expect(plain.request).not.toHaveProperty('streams');
    expect(plain.stop).toBe('quit');
  });

  it.each([
    [['--yes', '--no-probe'], 'cannot be combined'],
    [['--force'], '--force only affects files that --write saves'],
    [['--pages', '0'], '--pages'],
    [['Wrong-Name'], '"Wrong-Name" is not a stream name'],
    [['a,,b'], 'is not a stream name'],
    [['a', '--streams', 'b'], 'streams are named twice: a as words, b by --streams'],
  ])('that make no sense are refused: %j', async (argv, message) => {
    const { exitCode, stderr, calls } = await discover(argv);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
    expect(calls.map(({ name }) => name)).not.toContain('discover');
  });
});

describe('failures', () => {
  it('of all streams alike have their code, of some 5', async () => {
    expect((await discover(['--yes'], { streams: [failed] })).exitCode).toBe(4);
    const some = await discover(['--yes'], { streams: [stream, failed] });
    expect(some.exitCode).toBe(5);
    expect(some.stdout).toContain('prompts_analytics failed: the API answered 400\n  next: Set entity.');
  });

  it('of the quota are 75, even where some streams were sampled', async () => {
    const error = { code: 'quota_exhausted', message: 'spent', hint: 'Later.', exitCode: 75 } as const;
    const { exitCode } = await discover(['--yes'], { streams: [stream, { ...failed, error }] });
    expect(exitCode).toBe(75);
  });

  it('are none where an endpoint is not there', async () => {
    const { exitCode, stdout } = await discover(['--yes'], {
      streams: [{ ...stream, status: 'unavailable', sample: undefined, fields: [] }],
    });
    expect(exitCode).toBe(0);
    expect(stdout).toContain('prompts_analytics: the API has no such endpoint (404)');
  });
});

describe('contracts', () => {
  const path = '/etc/contracts/prompts_analytics.schema.json';
  const file = { stream: 'prompts_analytics', path, differences: [] };

  it('that were saved are reported', async () => {
    const { exitCode, stdout } = await discover(['--yes', '--write'], {
      contracts: [{ ...file, state: 'written' }],
    });
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`Saved ${path}.`);
    expect(stdout).toContain('A contract states what the sample showed');
  });

  it('that were kept are reported with what differs, and are exit code 2', async () => {
    const differences = Array.from({ length: 8 }, (_, at) => `field${at} was not found`);
    const { exitCode, stdout } = await discover(['--yes', '--write'], {
      contracts: [{ ...file, state: 'kept', differences }],
    });
    expect(exitCode).toBe(2);
    expect(stdout).toContain(`Kept ${path}, which differs (--force replaces it):\n  field0 was not found`);
    expect(stdout).toContain('field5 was not found\n  and 2 more');
    expect(stdout).not.toContain('A contract states');
    const { stdout: json } = await discover(['--yes', '--write', '--json'], {
      contracts: [{ ...file, state: 'kept', differences }],
    });
    expect(JSON.parse(json)).toMatchObject({ ok: false, error: { code: 'usage_invalid' } });
  });

  it('that say the same are reported', async () => {
    const { stdout } = await discover(['--yes', '--write'], { contracts: [{ ...file, state: 'unchanged' }] });
    expect(stdout).toContain(`${path} is already up to date.`);
  });
});
