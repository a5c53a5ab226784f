import type {
  AccountsReportData,
  AttemptFacts,
  ColumnProfile,
  ReportData,
  RunFacts,
  StreamFacts,
  TableFacts,
} from '../../src/model/report-data.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
export const MADE_MS = Date.UTC(2026, 10, 20, 17, 7);

const iso = (ms: number) => new Date(ms).toISOString();

/** A report over nothing: no run, no file. */
export function makeEmptyData(more: Partial<ReportData> = {}): ReportData {
  return {
    madeAt: iso(MADE_MS),
    version: '9.9.9',
    source: { connector: 'analytics-read', baseUrl: 'https://analytics.example.com/api/v1' },
    published: undefined,
    showsValues: true,
    warnings: [],
    faults: [],
    losses: [],
    streams: [],
    runs: [],
    underWay: undefined,
    refused: undefined,
    requests: { hours: [], limit: undefined },
    quota: undefined,
    tables: [],
    schemaChanges: { total: 0, newest: [] },
    quarantine: { total: 0, reasons: [] },
    leftOut: [],
    ...more,
  };
}

/** Runs of the last days, oldest first. */
export function makeRuns(count: number, more: (at: number) => Partial<RunFacts> = () => ({})): RunFacts[] {
  return Array.from({ length: count }, (_, at) => {
    const startMs = MADE_MS - (count - 1 - at) * DAY_MS - 3 * HOUR_MS;
    return {
      runId: `run-${at}`,
      isSync: true,
      startedAt: iso(startMs),
      finishedAt: iso(startMs + 240_000 + ((at * 37) % 9) * 60_000),
      status: 'complete',
      exitCode: 0,
      requests: 300,
      retries: 0,
      waitedMs: 0,
      rows: {
        read: 4_000,
        inserted: 900 + ((at * 131) % 400),
        updated: 200 + ((at * 71) % 160),
        unchanged: 2_500,
        deleted: 0,
        quarantined: 0,
      },
      error: undefined,
      ...more(at),
    };
  });
}

/** A stream whose attempts in these runs all ended alike. */
export function makeStream(
  stream: string,
  runs: readonly RunFacts[],
  more: Partial<StreamFacts> = {},
): StreamFacts {
  const attempts = runs.map(({ runId, startedAt }): AttemptFacts => ({
    runId,
    startedAt,
    status: 'complete',
    verdict: 'verified',
  }));
  const last = attempts.at(-1);
  return {
    stream,
    slice: '',
    verdict: last === undefined ? undefined : 'verified',
    unsettled: undefined,
    quarantined: 0,
    rows: last === undefined ? undefined : 12_400,
    watermark: last === undefined ? undefined : '2026-11-19',
    newest: undefined,
    verifiedAt: last?.startedAt,
    fresh: true,
    keyColumns: ['prompt_id', 'date'],
    keyState: 'proved',
    attempts,
    lastAttempt: last && { ...last, reasons: [], error: undefined },
    ...more,
  };
}

/** The same with a last attempt of its own. */
export function endWith(
  stream: StreamFacts,
  last: Partial<NonNullable<StreamFacts['lastAttempt']>>,
): StreamFacts {
  const { lastAttempt } = stream;
  if (lastAttempt === undefined) throw new Error(`${stream.stream} has no attempt`);
  const ended = { ...lastAttempt, ...last };
  return { ...stream, attempts: [...stream.attempts.slice(0, -1), ended], lastAttempt: ended };
}

export function makeColumn(name: string, more: Partial<ColumnProfile> = {}): ColumnProfile {
  return {
    name,
    type: 'VARCHAR',
    nulls: 0,
    distinct: 60,
    isDistinctExact: true,
    hidden: undefined,
    values: { kind: 'text', shortest: 4, longest: 120 },
    ...more,
  };
}

export function makeTable(stream: string, more: Partial<TableFacts> = {}, days = 60): TableFacts {
  return {
    stream,
    rows: 12_400,
    days: {
      column: 'date',
      counts: Array.from({ length: days }, (_, at) => ({
        day: iso(MADE_MS - (days - 1 - at) * DAY_MS).slice(0, 10),
        rows: at === 20 ? 0 : 180 + ((at * 53) % 70),
      })),
      earlier: 0,
      later: 0,
      dateless: 0,
    },
    profile: {
      rowsSeen: 12_400,
      isSample: false,
      columns: [
        makeColumn('prompt_id'),
        makeColumn('date', {
          type: 'DATE',
          distinct: 60,
          values: {
            kind: 'range',
            min: '2026-09-22',
            max: '2026-11-20',
            bins: [8, 9, 10, 9, 8, 10, 11, 9, 8, 9, 10, 9],
          },
        }),
        makeColumn('provider', {
          distinct: 4,
          nulls: 1_240,
          values: {
            kind: 'few',
            top: [
              { value: 'chatgpt', rows: 5_000 },
              { value: 'perplexity', rows: 3_000 },
              { value: 'gemini', rows: 2_000 },
            ],
            others: 1_160,
          },
        }),
        makeColumn('visibility_score', {
          type: 'DOUBLE',
          distinct: 9_800,
          isDistinctExact: false,
          nulls: 3,
          values: {
            kind: 'range',
            min: '0.0',
            max: '0.98',
            bins: [1, 3, 8, 14, 20, 26, 30, 22, 14, 8, 3, 1],
          },
        }),
        makeColumn('author_email', { hidden: 'masked', values: undefined }),
        makeColumn('retired', { type: 'NULL', nulls: 12_400, distinct: 0, values: undefined }),
      ],
    },
    ...more,
  };
}

/** A month in which most things that can happen did. */
export function makeBusyData(more: Partial<ReportData> = {}): ReportData {
  const error = {
    code: 'server_failed',
    message: 'commerce_top_products, offset 1980: the server answered 500 five times',
    hint: 'Nothing is lost: run `sluice sync` again later. If it stays, ask the operator of the API about this offset.',
    exitCode: 4,
  } as const;
  const runs = makeRuns(40, (at) => {
    if (at === 12) return { status: 'stopped', exitCode: 75, finishedAt: iso(MADE_MS - 27 * DAY_MS) };
    if (at === 25)
      return { waitedMs: 3_100_000, finishedAt: iso(MADE_MS - 14 * DAY_MS - 2 * HOUR_MS + 60_000) };
    if (at === 39) return { status: 'partial', exitCode: 5 };
    return {};
  });
  const names = ['visibility_mentions', 'prompts_analytics', 'commerce_category_products'];
  const streams = [
    ...names.map((name) => makeStream(name, runs)),
    endWith(makeStream('commerce_top_products', runs, { rows: 880_412 }), {
      status: 'failed',
      verdict: undefined,
      error,
    }),
    endWith(makeStream('visibility_mentions', runs, { slice: 'entity=globex', verdict: 'drifted' }), {
      verdict: 'drifted',
      reasons: ['12 rows of pages that were read moved'],
    }),
    endWith(makeStream('long_backfill', runs, { verdict: undefined, rows: undefined }), {
      status: 'stopped',
      verdict: undefined,
    }),
    makeStream('sentiment_topics', runs, { verdict: 'unverified' }),
    makeStream('new_endpoint', []),
  ];
  return makeEmptyData({
    published: { path: '/data/warehouse.duckdb', bytes: 48_400_000, modifiedAt: iso(MADE_MS - 2 * HOUR_MS) },
    warnings: [
      'the key expires on 2026-11-29, in 9 days (source.keyExpiresAt); create a new one in Settings and update the date',
    ],
    streams,
    runs,
    requests: {
      limit: 600,
      hours: Array.from({ length: 168 }, (_, at) => ({
        hour: iso(Math.floor(MADE_MS / HOUR_MS) * HOUR_MS - (167 - at) * HOUR_MS),
        requests: at % 24 === 14 ? 420 : at % 24 === 15 ? 130 : at === 120 ? 600 : 0,
      })),
    },
    quota: {
      limit: 600,
      remaining: 412,
      resetAtMs: MADE_MS + 22 * 60_000,
      notBeforeMs: undefined,
      windowMs: 3_600_000,
    },
    tables: [...names, 'commerce_top_products', 'sentiment_topics'].map((name) => makeTable(name)),
    schemaChanges: {
      total: 8,
      newest: [
        {
          runId: 'run-38',
          stream: 'prompts_analytics',
          column: 'rank',
          change: 'widened',
          fromType: 'BIGINT',
          toType: 'DOUBLE',
          changedAt: iso(MADE_MS - DAY_MS),
        },
        ...['intent', 'locale', 'country'].map((column) => ({
          runId: 'run-37',
          stream: 'prompts_analytics',
          column,
          change: 'added',
          fromType: undefined,
          toType: 'VARCHAR',
          changedAt: iso(MADE_MS - 2 * DAY_MS),
        })),
      ],
    },
    quarantine: {
      total: 34,
      reasons: [
        {
          stream: 'prompts_analytics',
          slice: '',
          path: 'meta.tokens',
          reason: 'is text where a whole number belongs',
          records: 31,
          newestAt: iso(MADE_MS - DAY_MS),
          sampleId: '0f3a9c12be',
          sample:
            '{"promptId":"pr_0001","date":"2026-11-19","prompt":"Which brand is \\"number one\\"?","meta":{"model":"x-1","tokens":"many"},"tags":["a","b"],"region":"de","visibilityScore":0.4812}',
        },
        {
          stream: 'visibility_mentions',
          slice: 'entity=acme',
          path: '',
          reason: 'is not an object',
          records: 3,
          newestAt: iso(MADE_MS - 9 * DAY_MS),
          sampleId: '77aa0b1c2d',
          sample: '"oops"',
        },
      ],
    },
    leftOut: ['commerce_top_products: its columns are described by a sample of about 1000000 rows.'],
    ...more,
  });
}

/** Accounts in all conditions: one with a busy month, good ones, a new one, and one whose config is broken. */
export function makeAccountsData(goodOnes = 2): AccountsReportData {
  const runs = makeRuns(5);
  const { published, quota, requests } = makeBusyData();
  const names = ['prompts_analytics', 'visibility_mentions'];
  const good = makeEmptyData({
    published,
    quota,
    requests,
    runs,
    streams: names.map((name) => makeStream(name, runs)),
    tables: names.map((name) => makeTable(name)),
  });
  const error = {
    code: 'config_invalid',
    message: 'sluice.yaml:15:15 accounts.initech.streems: unknown key; did you mean "streams"?',
    hint: 'Correct sluice.yaml and run again; nothing was requested.',
    exitCode: 2,
  } as const;
  return {
    madeAt: good.madeAt,
    version: good.version,
    accounts: [
      ...Array.from({ length: goodOnes }, (_, at) => ({ account: `acme-${at}`, data: good })),
      { account: 'globex', data: makeBusyData() },
      { account: 'hooli', data: makeEmptyData({ streams: [makeStream('prompts_analytics', [])] }) },
      { account: 'initech', error },
      {
        account: 'umbrella',
        data: {
          ...good,
          streams: good.streams.map((one) => ({ ...one, fullRefreshDue: 'one row is missing' })),
        },
      },
    ],
  };
}
