import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { streamOf } from '../support/sync-harness.ts';
import { createRowsFlow, dateOf, type Row, type RowsApi, type RowsFlow } from '../support/rows-api.ts';

// What an API makes of its start date the API text does not say; each way that is thinkable has to end with the rows it has.

const PER_DAY = 6;
const FIRST_DAY = -8;

/** A few rows for each day up to today; the last three days are restated every day. */
function growing(change: (row: Row, day: number, date: number, n: number) => Row = (row) => row) {
  return (day: number): readonly Row[] =>
    Array.from({ length: day - FIRST_DAY + 1 }, (_, index) => FIRST_DAY + index).flatMap((date) =>
      Array.from({ length: PER_DAY }, (_, n) => {
        const restated = day - date <= 2 ? day - date : 3;
        return change(
          { date: dateOf(date), name: `n${n % 3}`, score: date * 10 + n / 4 + restated / 100 },
          day,
          date,
          n,
        );
      }),
    );
}

/** The same with an id, so that a key is learned or named. */
const keyed = growing((row, _, date, n) => ({ id: `${date}/${n}`, ...row }));

async function expectSame(rowsFlow: RowsFlow): Promise<void> {
  const [found] = await rowsFlow.flow.query(
    'SELECT count(*) AS n, round(sum(score), 4) AS sum FROM main.items',
  );
  const rows = rowsFlow.held();
  const sum = rows.reduce((total, row) => total + Number(row['score']), 0);
  expect(found).toEqual({ n: rows.length, sum: Math.round(sum * 10_000) / 10_000 });
}

/** Syncs on the first day and those after it, and compares each day. */
async function syncDaily(rowsFlow: RowsFlow, days = 6): Promise<void> {
  for (let day = 0; day <= days; day += 1) {
    const report = await rowsFlow.syncAfter(day === 0 ? 0 : 1);
    expect(report, JSON.stringify(report.streams)).toMatchObject({ exitCode: 0 });
    await expectSame(rowsFlow);
  }
}

const ways: readonly (readonly [string, Partial<RowsApi>])[] = [
  ['is included', {}],
  ['is left out', { isAsked: (row, startDate) => String(row['date']) > startDate }],
  [
    'counts half, in another time zone',
    { isAsked: ({ date, name }, start) => String(date) > start || (date === start && name === 'n1') },
  ],
  ['is left out of account', { isAsked: () => true }],
  [
    'is a day early',
    {
      isAsked: ({ date }, start) =>
        String(date) >= new Date(Date.parse(start) - 86_400_000).toISOString().slice(0, 10),
    },
  ],
  ['counts for the rows and not for the total', { total: (_, all) => all }],
];

describe('a start date that', () => {
  it.each(ways)('%s loses and doubles no row without a key', async (_, way) => {
    await syncDaily(createRowsFlow({ rows: growing(), ...way }));
  });

  it.each(ways)('%s loses no row with deletes: hard', async (_, way) => {
    await syncDaily(createRowsFlow({ rows: keyed, ...way }, { deletes: 'hard' }));
  });

  it('filters by the last change brings older rows: without a key the stream is read in full', async () => {
    // Of the ninth day before the first one a row changes late.
    const rows = growing((row, day, date) =>
      date === FIRST_DAY && day > 1 ? { ...row, score: Number(row['score']) + 100 } : row,
    );
    const isAsked: RowsApi['isAsked'] = ({ date }, start, day) =>
      String(date) >= start || (date === dateOf(FIRST_DAY) && day === 2);
    const rowsFlow = createRowsFlow({ rows, isAsked }, { cursor: { field: 'date' } });
    await syncDaily(rowsFlow, 2);
    expect(rowsFlow.flow.events).toContainEqual(
      expect.objectContaining({
        type: 'note',
        message: expect.stringContaining('reading the stream in full') as string,
      }),
    );
    await syncDaily(rowsFlow, 1);
    // All but the count ask for days.
    expect(rowsFlow.asked.filter((start) => start === undefined)).toHaveLength(1);
  });

  it('filters by the last change deletes nothing that did not change', async () => {
    const isAsked: RowsApi['isAsked'] = ({ date, name }, start) =>
      String(date) >= start ? name !== 'n2' : date === dateOf(FIRST_DAY);
    const rowsFlow = createRowsFlow(
      { rows: keyed, isAsked },
      { deletes: 'hard', key: ['id'], cursor: { field: 'date' } },
    );
    await syncDaily(rowsFlow, 0);
    const report = await rowsFlow.syncAfter(1);
    // New rows that the start date leaves out are missing by the count, and read in full.
    expect(report.streams[0]).toMatchObject({ mode: 'full', verdict: 'verified', rows: { deleted: 0 } });
    await expectSame(rowsFlow);
  });

  it('has become too old is not asked for again: the stream is read in full once', async () => {
    const rowsFlow = createRowsFlow({ rows: growing(), refuses: (start, day) => start < dateOf(day - 30) });
    await syncDaily(rowsFlow, 3);
    expect(await rowsFlow.syncAfter(40)).toMatchObject({ exitCode: 0, streams: [{ mode: 'full' }] });
    await expectSame(rowsFlow);
    expect(await rowsFlow.syncAfter(1)).toMatchObject({ exitCode: 0, streams: [{ mode: 'incremental' }] });
    await expectSame(rowsFlow);
  });

  it('was asked for by hand and is refused ends with 4', async () => {
    const rowsFlow = createRowsFlow({ rows: growing(), refuses: (start, day) => start < dateOf(day - 30) });
    await syncDaily(rowsFlow, 3);
    expect(await rowsFlow.syncAfter(1, { from: '2025-01-01' })).toMatchObject({ exitCode: 4 });
  });
});

describe('a date that the API does not filter by', () => {
  /** The API filters by `date`, and another date comes before it. */
  const isAsked: RowsApi['isAsked'] = ({ date }, start) => String(date) >= start;
  const withDate = (name: string, ahead: number) =>
    growing((row, _, date) => ({ [name]: dateOf(date + ahead), ...row }));

  it.each([
    ['due_date', 30],
    ['week_date', 12],
    ['sale_date', 1],
  ])('and that is %s costs no row', async (name, ahead) => {
    await syncDaily(createRowsFlow({ rows: withDate(name, ahead), isAsked }));
  });

  it('is refuted by the rows that it lacks, and the next date is tried', async () => {
    // No name is better than another here, so that the first one is tried first.
    const rows = growing((row, _, date) => ({
      shown_on: dateOf(date + 12),
      sold_on: row['date'],
      name: row['name'],
      score: row['score'],
    }));
    const rowsFlow = createRowsFlow({ rows, isAsked: (row, start) => String(row['sold_on']) >= start });
    const states: unknown[] = [];
    for (let day = 0; day < 5; day += 1) {
      expect(await rowsFlow.syncAfter(day === 0 ? 0 : 1)).toMatchObject({ exitCode: 0 });
      await expectSame(rowsFlow);
      const [state] = await rowsFlow.flow.query('SELECT cursor_field, cursor_state FROM _sluice.checkpoints');
      states.push(Object.values(state ?? {}).join(' '));
    }
    expect(states).toEqual([
      'shown_on candidate',
      'sold_on candidate',
      'sold_on proved',
      'sold_on proved',
      'sold_on proved',
    ]);
  });
});

describe('rows without a date', () => {
  it('are neither lost nor doubled without a key', async () => {
    const rows = growing();
    const withOne = (day: number) => [...rows(day), { date: null, name: 'open', score: 1_000 + day }];
    const isAsked: RowsApi['isAsked'] = (row, start) =>
      row['date'] === null || (row['date'] as string) >= start;
    await syncDaily(createRowsFlow({ rows: withOne, isAsked }, { cursor: { field: 'date' } }), 4);
  });

  it.each([
    ['a zone appears', 'T10:00:00', 'T10:00:00Z'],
    ['a zone goes', 'T10:00:00Z', 'T10:00:00'],
    ['nanoseconds appear', 'T10:00:00Z', 'T10:00:00.123456789Z'],
  ])('as their spelling changed are neither: %s', async (_, before, after) => {
    const rows = growing((row, _, date) => ({
      ...row,
      date: `${dateOf(date)}${date > 1 ? after : before}`,
    }));
    await syncDaily(createRowsFlow({ rows }), 5);
  });
});

describe('a date beyond the calendar', () => {
  it.each(['9999-12-31T23:59:59-05:00', '0001-01-01T00:00:00+05:00'])(
    'such as %s stops nothing',
    async (odd) => {
      const rows = growing((row, _, date) => ({
        ...row,
        timestamp: `${dateOf(date)}T10:00:00-05:00`,
        date: undefined,
      }));
      const withOdd = (day: number) => [...rows(day), { timestamp: odd, name: 'never', score: 7 }];
      const isAsked: RowsApi['isAsked'] = ({ timestamp }, start) => String(timestamp).slice(0, 10) >= start;
      const rowsFlow = createRowsFlow({ rows: withOdd, isAsked });
      await syncDaily(rowsFlow, 4);
      const [found] = await rowsFlow.flow.query('SELECT watermark FROM _sluice.checkpoints');
      expect(String(found?.['watermark'])).toMatch(/^2026-02-0[34]/);
    },
  );
});

describe('a full scan that an incremental one led to', () => {
  it('is resumed by the next run, and costs no page twice', async () => {
    const rowsFlow = createRowsFlow({ rows: growing(), isAsked: () => true }, { pageSize: 10 });
    await syncDaily(rowsFlow, 0);
    expect(await rowsFlow.syncAfter(1, { maxRequests: 5 })).toMatchObject({ exitCode: 75 });
    const first = rowsFlow.asked.length;
    expect(await rowsFlow.syncAfter(0)).toMatchObject({ exitCode: 0, streams: [{ mode: 'full' }] });
    const whole = createRowsFlow({ rows: growing(), isAsked: () => true }, { pageSize: 10 });
    await syncDaily(whole, 1);
    // The trial once, and the first page again by the run that went on.
    expect(first + rowsFlow.asked.length).toBeLessThanOrEqual(whole.asked.length + 2);
    await expectSame(rowsFlow);
  });
});

describe('a full scan that was begun', () => {
  const old = (day: number) => (day < 2 ? keyed(day) : keyed(day).slice(4 * PER_DAY));

  it('and refused for what it would delete is not begun again by the next run', async () => {
    const rowsFlow = createRowsFlow({ rows: old }, { deletes: 'hard', maxDeleteRatio: 0.1 });
    await syncDaily(rowsFlow, 1);
    const refused = await rowsFlow.syncAfter(1, { fullRefresh: true });
    expect(refused).toMatchObject({
      exitCode: 4,
      streams: [{ mode: 'full', error: { code: 'deletes_refused' } }],
    });
    for (let day = 0; day < 2; day += 1)
      expect(await rowsFlow.syncAfter(1)).toMatchObject({ exitCode: 0, streams: [{ mode: 'incremental' }] });
  });

  it('is resumed while its data is the same, and given up once that moved on', async () => {
    const rowsFlow = createRowsFlow({ rows: growing() }, { pageSize: 10 });
    await syncDaily(rowsFlow, 2);
    const begin = () => rowsFlow.syncAfter(1.5, { fullRefresh: true, maxRequests: 4 });
    expect(await begin()).toMatchObject({ exitCode: 75 });
    expect(await rowsFlow.syncAfter(0.1)).toMatchObject({ exitCode: 0, streams: [{ mode: 'full' }] });
    await expectSame(rowsFlow);
    expect(await begin()).toMatchObject({ exitCode: 75 });
    // A day later, within the life of the staged pages.
    expect(await rowsFlow.syncAfter(0.9)).toMatchObject({ exitCode: 0, streams: [{ mode: 'incremental' }] });
    await expectSame(rowsFlow);
  });
});

describe('a sync --from', () => {
  it('of a stream without a key that was never read in full loses no day', async () => {
    const rowsFlow = createRowsFlow({ rows: growing() }, { cursor: { field: 'date' } });
    for (const from of [dateOf(-3), dateOf(-3), dateOf(-5)]) {
      expect(await rowsFlow.syncAfter(0, { from })).toMatchObject({ exitCode: 0 });
      const [found] = await rowsFlow.flow.query(
        `SELECT count(*) AS n FROM main.items WHERE date >= '${from}'`,
      );
      expect(found?.['n']).toBe(rowsFlow.held().filter(({ date }) => (date as string) >= from).length);
    }
  });

  it.each(
    ways.flatMap(([title, way]) => [
      [title, 'without a key', growing(), way, {}] as const,
      [title, 'with a key', keyed, way, { key: ['id'] }] as const,
    ]),
  )('%s, %s, after one --limit, has all rows of the days that are said to be verified', async (...given) => {
    const [, , rows, way, stream] = given;
    const rowsFlow = createRowsFlow({ rows, ...way }, { cursor: { field: 'date' }, ...stream });
    await rowsFlow.syncAfter(0, { limit: 10 });
    const report = streamOf(await rowsFlow.syncAfter(0, { from: dateOf(-3) }));
    const scope = report.reasons.map((text) => /^only rows from (\S+) on are verified/.exec(text)?.[1]);
    expect(scope.some((date) => date !== undefined)).toBe(
      report.mode === 'incremental' && report.verdict === 'verified',
    );
    // Where nothing is verified, nothing is said of any day.
    const from = scope.find((date) => date !== undefined) ?? '9999-12-31';
    const days = (all: readonly Row[]) => all.map(({ date }) => String(date)).filter((date) => date >= from);
    const held = await rowsFlow.flow.query('SELECT CAST(date AS VARCHAR) AS date FROM main.items ORDER BY 1');
    expect(days(held)).toEqual(days(rowsFlow.held()).toSorted());
  });
});

describe('a rebuild', () => {
  it.each<[string, Parameters<typeof createRowsFlow>[1]]>([
    ['without a key', {}],
    ['with deletes: hard', { deletes: 'hard', key: ['id'] }],
  ])('uses the date that the syncs used: %s', async (_, stream) => {
    // The first date is refuted; the archive begins after that was found.
    const rows = growing((row, __, date, n) => ({
      id: `${date}/${n}`,
      shown_on: dateOf(date + 12),
      sold_on: row['date'],
      name: row['name'],
      score: row['score'],
    }));
    const isAsked: RowsApi['isAsked'] = (row, start) => (row['sold_on'] as string) >= start;
    const rowsFlow = createRowsFlow({ rows, isAsked }, stream);
    await syncDaily(rowsFlow, 3);
    expect(await rowsFlow.syncAfter(1, { fullRefresh: true })).toMatchObject({ exitCode: 0 });
    await syncDaily(rowsFlow, 2);
    const cursor = 'SELECT cursor_field, cursor_state, watermark FROM _sluice.checkpoints';
    const before = await rowsFlow.flow.query(cursor);
    expect(before).toMatchObject([{ cursor_field: 'sold_on', cursor_state: 'proved' }]);
    const archive = join(rowsFlow.flow.stateDir, 'archive', 'items', 'whole');
    const headers = readdirSync(archive)
      .filter((name) => name.endsWith('.json'))
      .toSorted();
    const keptFrom = headers.findIndex((name) =>
      readFileSync(join(archive, name), 'utf8').includes('--full-refresh'),
    );
    for (const name of headers.slice(0, keptFrom)) rmSync(join(archive, name));
    expect(await rowsFlow.flow.rebuild()).toMatchObject({ exitCode: 0 });
    expect(await rowsFlow.flow.query(cursor)).toEqual(before);
    await expectSame(rowsFlow);
    await syncDaily(rowsFlow, 1);
  });
});
