import { describe, expect, it } from 'vitest';
import type { RunReport } from '../../src/model/run-report.ts';
import type { Transport } from '../../src/model/http.ts';
import { planOffline, planSync } from '../../src/commands/plan/plan.ts';
import { answerPage } from '../support/answer-page.ts';
import {
  createFlow,
  DAY_MS,
  type Flow,
  type FlowConfig,
  HOUR_MS,
  noBuiltIns,
  START_MS,
} from '../support/sync-harness.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

type Row = Readonly<Record<string, unknown>>;
type StreamInput = NonNullable<FlowConfig['streams']>[string];

/** What the API does with a query: rows, or a failure with this status; `undefined` is answered 400. */
type Answer = (query: URLSearchParams) => readonly Row[] | number | undefined;

interface SlicedApi {
  answer: Answer;
  readonly flow: Flow;
  readonly transport: Transport;
  /** Queries of the last sync, in order. */
  readonly asked: readonly URLSearchParams[];
  sync(options?: Parameters<Flow['sync']>[0]): Promise<RunReport>;
}

function createApi(answer: Answer, stream: StreamInput): SlicedApi {
  const clock = createVirtualClock({ startMs: START_MS });
  const asked: URLSearchParams[] = [];
  const transport: Transport = {
    close: () => Promise.resolve(),
    send({ url, onHead }) {
      const query = url.searchParams;
      asked.push(query);
      const headers = { 'content-type': 'application/json', date: new Date(clock.now()).toUTCString() };
      const rows = api.answer(query);
      const status = rows === undefined ? 400 : typeof rows === 'number' ? rows : 200;
      onHead?.({ status, headers });
      const reply = (body: unknown) =>
        Promise.resolve({ status, headers, body: Buffer.from(JSON.stringify(body)) });
      if (rows === undefined || typeof rows === 'number')
        return reply({ error: { code: 'VALIDATION_ERROR', message: 'unknown value' } });
      return reply(answerPage(rows, query));
    },
  };
  const config = { streams: { ...noBuiltIns, items: { path: 'items', paginated: true, ...stream } } };
  const flow = createFlow({ clock, transport, config });
  const api: SlicedApi = {
    answer,
    flow,
    transport,
    asked,
    sync(options) {
      asked.length = 0;
      return flow.sync(options);
    },
  };
  return api;
}

const entities = ['acme', 'globex'] as const;
const sliced = (more: StreamInput = {}): StreamInput => ({
  cursor: false,
  key: ['id'],
  params: { entity: [...entities] },
  sliceBy: ['entity'],
  pageSize: 20,
  ...more,
});

/** Rows of both entities; what tells whose they are is for a test to say. */
const rowsOf = (tell: (entity: string) => Row, count = 30, score = 1): readonly Row[] =>
  Array.from({ length: count * 2 }, (_, id) => ({
    id,
    score: score * id,
    ...tell(entities[id % 2] ?? ''),
  }));
const told = rowsOf((entity) => ({ entity }));
const silent = rowsOf(() => ({}));
const owner = (row: Row) => entities[Number(row['id']) % 2];

const honest =
  (rows: readonly Row[], param = 'entity'): Answer =>
  (query) =>
    query.has(param) ? rows.filter((row) => query.getAll(param).includes(String(owner(row)))) : rows;
const ignoring =
  (rows: readonly Row[]): Answer =>
  () =>
    rows;

const outcomes = (report: RunReport) =>
  report.streams.map(({ slice, status, verdict, error }) => [slice, status, verdict, error?.code]);
const REFUSED = [
  ['entity=acme', 'failed', 'partial', 'filter_ignored'],
  ['entity=globex', 'failed', 'partial', 'filter_ignored'],
];
const VERIFIED = [
  ['entity=acme', 'complete', 'verified', undefined],
  ['entity=globex', 'complete', 'verified', undefined],
];

describe('a plan of slices', () => {
  it('counts the requests that prove the filter of the first slice', async () => {
    const rows = rowsOf(() => ({}));
    const api = createApi((query) => {
      const of = entities.indexOf(query.get('entity') as (typeof entities)[number]);
      return of < 0 ? [] : rows.filter((_, id) => id % 2 === of);
    }, sliced());
    const { clock } = api.flow;
    const plan = await planSync(api.flow.settings(), { clock, transport: api.transport });
    await api.sync();
    const sent = api.asked.filter((query) => query.get('entity') !== 'globex').length;
    expect(plan.streams[0]).toMatchObject({ slice: 'entity=acme', requests: sent });
    const [again] = (await planOffline(api.flow.settings(), { clock, fullRefresh: true })).streams;
    expect(again?.requests).toBe(sent - 1);
  });
});

describe('a slice whose filter the API ignores', () => {
  it.each([
    ['records that contradict it', told, {}],
    ['records that name it otherwise', rowsOf((entity) => ({ entityId: entity.toUpperCase() })), {}],
    ['records that say it inside an object', rowsOf((entity) => ({ entity: { name: entity } })), {}],
    ['records that say nothing', silent, {}],
    ['a key that is learned', silent, { key: 'auto' }],
    ['no pages', silent, { paginated: false }],
    ['no pages, and contradicting records', told, { paginated: false }],
    ['a hashed field', told, { columns: { entity: { hash: true } } }],
    ['an excluded field', told, { columns: { entity: { exclude: true } } }],
  ] as const)('is refused before anything is loaded: %s', async (_, rows, more) => {
    const api = createApi(ignoring(rows), sliced(more));
    const report = await api.sync({
      config: { defaults: { hashKey: 'a secret of at least sixteen' } },
    });
    expect(report.exitCode).toBe(2);
    expect(outcomes(report)).toEqual(REFUSED);
    const [first] = report.streams;
    expect(first?.error?.message).toMatch(/^items \(entity=acme\): the API does not filter by entity=acme: /);
    expect(first?.error?.hint).toContain('Nothing of this slice was loaded');
    expect(
      api.flow.isPublished()
        ? await api.flow.query("SELECT 1 FROM duckdb_tables() WHERE table_name = 'items'")
        : [],
    ).toEqual([]);
  });

  it('is refused when its parameter is misspelt', async () => {
    const stream = sliced({ params: { entitty: [...entities] }, sliceBy: ['entitty'] });
    const report = await createApi(honest(told), stream).sync();
    expect(report.streams.map(({ error }) => error?.code)).toEqual(['filter_ignored', 'filter_ignored']);
    expect(report.streams[0]?.error?.message).toContain('entitty=no-such-value returns the same');
  });

  it('is refused when it is the only one', async () => {
    for (const rows of [told, silent]) {
      const report = await createApi(ignoring(rows), sliced({ params: { entity: ['acme'] } })).sync();
      expect(report.streams.map(({ error }) => error?.code)).toEqual(['filter_ignored']);
    }
  });

  it('is refused for the one value that the API does not know, next to a slice that is right', async () => {
    const lenient =
      (rows: readonly Row[]): Answer =>
      (query) =>
        query.get('entity') === 'acme' ? rows.filter((row) => owner(row) === 'acme') : rows;
    for (const rows of [told, silent]) {
      const report = await createApi(lenient(rows), sliced()).sync();
      expect(report.exitCode).toBe(5);
      expect(outcomes(report)).toEqual([VERIFIED[0], REFUSED[1]]);
    }
  });

  it('is refused for one of two parameters', async () => {
    const rows = told.map((row) => ({ ...row, region: Number(row['id']) % 4 < 2 ? 'eu' : 'us' }));
    const params = { entity: [...entities], region: ['eu', 'us'] };
    const half = (query: URLSearchParams) => honest(rows)(query);
    const report = await createApi(half, sliced({ params, sliceBy: ['entity', 'region'] })).sync();
    expect(report.streams.map(({ error }) => error?.code)).toEqual(Array(4).fill('filter_ignored'));
    expect(report.streams[0]?.error?.message).toContain(
      'by region=eu: region=no-such-value returns the same',
    );
  });

  it('is refused where the API looks at the value and narrows by none', async () => {
    const strict = (query: URLSearchParams) =>
      entities.some((name) => name === query.get('entity')) ? told : undefined;
    const report = await createApi(strict, sliced()).sync();
    expect(outcomes(report)).toEqual(REFUSED);
    expect(report.streams[0]?.error?.message).toContain('entity=globex returns the same');
  });

  it('is refused when each answer has a stamp of its own, or a row moves meanwhile', async () => {
    let answers = 0;
    const stamped = createApi(
      () => silent.map((row) => ({ ...row, at: answers })),
      sliced({ paginated: false }),
    );
    const { answer } = stamped;
    stamped.answer = (query) => {
      answers += 1;
      return answer(query);
    };
    expect(outcomes(await stamped.sync())).toEqual(REFUSED);
    const moving = createApi(
      () => silent.map((row) => (row['id'] === 3 ? { ...row, score: (answers += 1) } : row)),
      sliced({ paginated: false }),
    );
    expect(outcomes(await moving.sync())).toEqual(REFUSED);
  });

  it('stays refused in the next run, and after a stop, and is loaded once the API narrows', async () => {
    const api = createApi(ignoring(silent), sliced());
    expect((await api.sync({ maxRequests: 3 })).exitCode).toBe(75);
    expect(outcomes(await api.sync())).toEqual(REFUSED);
    expect(outcomes(await api.sync())).toEqual(REFUSED);
    api.answer = honest(silent);
    expect(outcomes(await api.sync())).toEqual(VERIFIED);
    expect(
      await api.flow.query('SELECT _slice, count(*) AS n FROM main.items GROUP BY 1 ORDER BY 1'),
    ).toEqual([
      { _slice: 'entity=acme', n: 30 },
      { _slice: 'entity=globex', n: 30 },
    ]);
  });

  it('is refused once an API stops to narrow', async () => {
    for (const rows of [told, silent]) {
      const api = createApi(honest(rows), sliced());
      expect(outcomes(await api.sync())).toEqual(VERIFIED);
      api.answer = ignoring(rows);
      await api.flow.clock.sleep(2 * HOUR_MS);
      expect(outcomes(await api.sync())).toEqual(REFUSED);
      expect(await api.flow.query('SELECT count(*) AS n FROM main.items')).toEqual([{ n: 60 }]);
    }
  });

  it('is refused in a slice that comes later, after every row was restated', async () => {
    const api = createApi(honest(silent), sliced({ params: { entity: ['acme'] } }));
    expect((await api.sync()).exitCode).toBe(0);
    api.answer = ignoring(rowsOf(() => ({}), 30, 7));
    await api.flow.clock.sleep(DAY_MS);
    const config = { streams: { ...noBuiltIns, items: { path: 'items', paginated: true, ...sliced() } } };
    const report = await api.sync({ config });
    expect(report.streams[1]?.error?.code).toBe('filter_ignored');
  });
});

describe('a slice whose filter works', () => {
  it('costs no request where the records carry its value', async () => {
    const api = createApi(honest(told), sliced());
    expect(outcomes(await api.sync())).toEqual(VERIFIED);
    expect(api.asked.filter((query) => query.get('entity') === 'no-such-value')).toEqual([]);
  });

  it('costs one request once where they do not', async () => {
    const api = createApi(honest(silent), sliced());
    expect(outcomes(await api.sync())).toEqual(VERIFIED);
    const probes = () => api.asked.filter((query) => query.get('entity') === 'no-such-value').length;
    expect(probes()).toBe(1);
    await api.flow.clock.sleep(2 * HOUR_MS);
    expect(outcomes(await api.sync())).toEqual(VERIFIED);
    expect(probes()).toBe(0);
  });

  it('is not doubted where an API refuses, or fails at, a value that it does not know', async () => {
    const known = (query: URLSearchParams) => entities.some((name) => name === query.get('entity'));
    for (const unknown of [undefined, 500]) {
      const strict = createApi((query) => (known(query) ? honest(silent)(query) : unknown), sliced());
      expect(outcomes(await strict.sync())).toEqual(VERIFIED);
    }
  });

  it('may bring rows that other slices bring as well', async () => {
    // The European rows hold the German ones.
    const regions: StreamInput = sliced({ params: { region: ['eu', 'de'] }, sliceBy: ['region'] });
    const answer: Answer = (query) => {
      const region = query.get('region');
      return silent.filter(({ id }) =>
        region === 'eu' ? Number(id) < 40 : region === 'de' && Number(id) < 15,
      );
    };
    const api = createApi(answer, regions);
    for (let day = 0; day < 2; day += 1) {
      const report = await api.sync();
      expect(report.streams.map(({ verdict, rowsInTable }) => [verdict, rowsInTable])).toEqual([
        ['verified', 40],
        ['verified', 15],
      ]);
      await api.flow.clock.sleep(2 * HOUR_MS);
    }
  });

  it.each([
    [8, 2],
    [2, 8],
    [5, 5],
  ])(
    'are refused when the API ignores the parameter with a start date only (%i and %i a day)',
    async (a, b) => {
      const shares = { acme: a, globex: b };
      const day = (at: number) => new Date(START_MS + at * DAY_MS).toISOString().slice(0, 10);
      const list = (today: number) =>
        Array.from({ length: today + 15 }, (_, at) => at - 14).flatMap((date) =>
          entities.flatMap((entity) =>
            Array.from({ length: shares[entity] }, (_, n) => ({
              id: `${entity[0] ?? ''}${date}/${n}`,
              date: day(date),
            })),
          ),
        );
      let today = 0;
      let isBroken = false;
      const api = createApi(
        (query) => {
          const from = query.get('startDate') ?? '';
          const rows = list(today).filter(({ date }) => date >= from);
          const entity = query.get('entity');
          if (isBroken && from !== '') return rows;
          return entity === null ? rows : rows.filter(({ id }) => id.startsWith(entity.slice(0, 1)));
        },
        sliced({ cursor: { field: 'date', param: 'startDate' }, audit: false }),
      );
      for (; today < 2; today += 1) {
        expect(outcomes(await api.sync())).toEqual(VERIFIED);
        await api.flow.clock.sleep(DAY_MS);
      }
      isBroken = true;
      expect(outcomes(await api.sync())).toEqual(REFUSED);
      const foreign = await api.flow.query(
        `SELECT id FROM main.items WHERE _slice <> 'entity=' || if(id[1] = 'a', 'acme', 'globex')`,
      );
      expect(foreign).toEqual([]);
    },
  );

  it('may have the keys of another, as ids that count from one in each', async () => {
    const local: Answer = (query) =>
      entities.includes(query.get('entity') as 'acme')
        ? Array.from({ length: 30 }, (_, id) => ({
            id,
            score: query.get('entity') === 'acme' ? id : -id - 1,
          }))
        : [];
    expect(outcomes(await createApi(local, sliced()).sync())).toEqual(VERIFIED);
  });

  it('may answer with zeros, as those of another, and for what it does not know with nothing', async () => {
    const zeros: Answer = (query) =>
      entities.includes(query.get('entity') as 'acme')
        ? Array.from({ length: 30 }, (_, id) => ({
            id,
            mentions: query.get('entity') === 'acme' && id > 20 ? 1 : 0,
          }))
        : [];
    const api = createApi(zeros, sliced());
    for (let day = 0; day < 2; day += 1) {
      expect(outcomes(await api.sync())).toEqual(VERIFIED);
      await api.flow.clock.sleep(2 * HOUR_MS);
    }
  });

  it('may use names within names, and then is not called verified where another slice has the row', async () => {
    const rows = told.map((row) => ({
      ...row,
      entity: `${String(row['entity'])}${row['id'] === 4 ? ' globex' : ''}`,
    }));
    const answer: Answer = (query) =>
      rows.filter((row) => String(row.entity).includes(query.get('entity') ?? ''));
    expect((await createApi(answer, sliced()).sync()).exitCode).toBe(0);
    const leaking: Answer = (query) =>
      told.filter(
        (row) => row['entity'] === query.get('entity') || (query.get('entity') === 'acme' && row['id'] === 3),
      );
    const report = await createApi(leaking, sliced()).sync();
    expect(outcomes(report)).toEqual([['entity=acme', 'complete', 'unverified', undefined], VERIFIED[1]]);
    expect(report.streams[0]?.reasons).toContain('1 of 31 records has the entity of another slice');
  });

  it('says which value brought no record: it may be misspelt', async () => {
    const answer: Answer = (query) =>
      query.get('entity') === 'globex' ? [] : told.filter((row) => row['entity'] === query.get('entity'));
    const report = await createApi(answer, sliced()).sync();
    expect(report.streams.map(({ rows, reasons }) => [rows.read, reasons])).toEqual([
      [expect.any(Number), []],
      [0, ['the API has no records of the slice entity=globex']],
    ]);
  });
});
