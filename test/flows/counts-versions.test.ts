import { describe, expect, it } from 'vitest';
import { retryQuarantine } from '../../src/commands/contracts/retry-quarantine.ts';
import { createRowsFlow, dateOf, type Row } from '../support/rows-api.ts';
import { noBuiltIns, streamOf } from '../support/sync-harness.ts';

// A record in quarantine that is a newer version of a row is that row; every other one is counted in addition to the
// rows. So nothing that is known of a record excuses a row that is missing.

const FIRST_DAY = -20;
const PER_DAY = 4;
const keyed = {
  key: ['id'],
  cursor: { field: 'date', param: 'startDate' },
  contract: { types: 'discard_row' },
  maxInvalidRatio: 0.5,
  pageSize: 5,
} as const;
/** Syncs without room for a full scan, so that a difference stays to be seen. */
const narrow = { force: true, maxRequests: 20 } as const;

type Change = (row: Row) => Row | undefined;
const unchanged: Change = (row) => row;
const broken: Change = (row) => ({ ...row, score: 'much' });
const gone: Change = () => undefined;

/** The rows up to a day; some are changed, and some come in addition. */
function rowsOf(
  day: number,
  changes: Readonly<Record<string, Change>>,
  extra: readonly Row[] = [],
): readonly Row[] {
  const days = Array.from({ length: day - FIRST_DAY + 1 }, (_, at) => FIRST_DAY + at);
  const rows = days.flatMap((date) =>
    Array.from({ length: PER_DAY }, (_, n): Row => ({ id: `${date}/${n}`, date: dateOf(date), score: 1 })),
  );
  const kept = rows
    .map((row) => (changes[String(row['id'])] ?? unchanged)(row))
    .filter((row) => row !== undefined);
  return [...extra, ...kept];
}

const late: Row = { id: 'late', date: dateOf(FIRST_DAY + 5), score: 2 };

describe('rows that left recent days and are kept', () => {
  it('are counted once after a full scan, and bring no other one forward', async () => {
    const api = createRowsFlow(
      {
        rows: (day) => {
          const past = Array.from({ length: Math.max(0, day) }, (_, at) => at);
          return rowsOf(
            day,
            Object.fromEntries(past.map((date) => [`${date}/0`, gone])),
            past.map((date) => ({ id: `${date}/other`, date: dateOf(date), score: 3 })),
          );
        },
      },
      { ...keyed, deletes: 'keep' },
    );
    await api.syncAfter(0);
    for (let day = 1; day <= 9; day += 1) {
      const report = await api.syncAfter(1, day === 4 ? { fullRefresh: true } : {});
      expect(report.warnings, `day ${day}`).toEqual([]);
      expect(streamOf(report).mode, `day ${day}`).toBe(day === 4 ? 'full' : 'incremental');
      if (day !== 4) expect(streamOf(report).difference, `day ${day}`).toBe(0);
    }
  });

  it.each(['hard', 'soft'] as const)(
    'are rows too many once their day is no longer read, with deletes: %s',
    async (deletes) => {
      const api = createRowsFlow(
        {
          rows: (day) =>
            rowsOf(
              day,
              {
                ...(day >= 2 && { '0/0': gone }),
                ...Object.fromEntries([1, 2, 3, 4].map((date) => [`${date}/1`, broken])),
              },
              day >= 4 ? [late] : [],
            ),
        },
        { ...keyed, deletes },
      );
      await api.syncAfter(0);
      for (let day = 1; day < 4; day += 1)
        expect(streamOf(await api.syncAfter(1, narrow)), `day ${day}`).toMatchObject({ difference: 0 });
      const report = streamOf(await api.syncAfter(1, narrow));
      expect(report).toMatchObject({ mode: 'incremental', difference: 1 });
      expect(streamOf(await api.syncAfter(1))).toMatchObject({ mode: 'full' });
      expect(await api.flow.query(`SELECT id FROM main.items WHERE id = 'late'`)).toEqual([{ id: 'late' }]);
    },
  );
});

describe('a late row is missing', () => {
  it.each(['fixed', 'gone'] as const)(
    'while a record of its own in quarantine is %s, and another holds a version of an older row',
    async (becomes) => {
      const settled: Change = becomes === 'fixed' ? unchanged : gone;
      const api = createRowsFlow(
        {
          rows: (day) =>
            rowsOf(
              day,
              { ...(day >= 1 && { '0/0': broken }), '6/0': day < 7 ? broken : settled },
              day >= 7 ? [late] : [],
            ),
        },
        { ...keyed, deletes: 'keep' },
      );
      await api.syncAfter(0);
      for (let day = 1; day < 7; day += 1)
        expect(streamOf(await api.syncAfter(1, narrow)), `day ${day}`).toMatchObject({ difference: 0 });
      expect(streamOf(await api.syncAfter(1, narrow))).toMatchObject({ mode: 'incremental', difference: 1 });
    },
  );

  it.each(['keep', 'hard'] as const)(
    'while a row of the first day that is asked for goes to quarantine, with deletes: %s',
    async (deletes) => {
      const api = createRowsFlow(
        { rows: (day) => rowsOf(day, day < 2 ? {} : { '-2/0': broken }, day < 2 ? [] : [late]) },
        { ...keyed, deletes },
      );
      await api.syncAfter(0);
      await api.syncAfter(1);
      const report = streamOf(await api.syncAfter(1, narrow));
      expect(report).toMatchObject({ mode: 'incremental', difference: 1, rows: { quarantined: 1 } });
    },
  );
});

describe('a version in quarantine', () => {
  it('is its row, from the day it comes until it is fixed, wherever its day lies', async () => {
    const moved: Change = (row) => ({ ...row, date: dateOf(2), score: 'much' });
    const fixed: Change = (row) => ({ ...row, date: dateOf(4), score: 9 });
    const api = createRowsFlow(
      {
        rows: (day) =>
          rowsOf(day, day < 2 ? {} : { [`${FIRST_DAY}/1`]: day < 4 ? moved : fixed, '1/0': broken }),
      },
      { ...keyed, deletes: 'keep' },
    );
    await api.syncAfter(0);
    for (let day = 1; day <= 9; day += 1) {
      const report = await api.syncAfter(1, narrow);
      expect(streamOf(report), `day ${day}`).toMatchObject({ mode: 'incremental', difference: 0 });
    }
  });

  it('that the API no longer had brings a full refresh forward when it is loaded', async () => {
    const api = createRowsFlow(
      { rows: (day) => rowsOf(day, { '1/0': day < 2 ? broken : gone }) },
      { ...keyed, deletes: 'keep' },
    );
    await api.syncAfter(0);
    await api.syncAfter(1);
    expect(streamOf(await api.syncAfter(1))).toMatchObject({ mode: 'incremental', difference: 0 });
    const items = { path: 'items', paginated: true, ...keyed, contract: { types: 'evolve' } } as const;
    const settings = api.flow.settings({ streams: { ...noBuiltIns, items } });
    const retried = await retryQuarantine(settings, { clock: api.flow.clock });
    expect(retried.streams).toMatchObject([{ inserted: 1 }]);
    expect(streamOf(await api.syncAfter(1))).toMatchObject({ mode: 'full', verdict: 'verified' });
  });
});
