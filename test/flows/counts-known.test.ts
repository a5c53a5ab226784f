import { describe, expect, it } from 'vitest';
import { createRowsFlow, dateOf, type Row } from '../support/rows-api.ts';
import { streamOf } from '../support/sync-harness.ts';

// What one count excuses is settled by that count: a later one has to explain every further change by itself.

const PER_DAY = 4;
const FIRST_DAY = -20;
const keyed = {
  key: ['id'],
  cursor: { field: 'date', param: 'startDate' },
  maxInvalidRatio: 0.5,
} as const;

function rowsFrom(first: number, last: number): readonly Row[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at).flatMap((date) =>
    Array.from({ length: PER_DAY }, (_, n) => ({
      id: `${date}/${n}`,
      date: dateOf(date),
      score: date + n / 8,
    })),
  );
}

const late = (name: string, rows: number, day = FIRST_DAY + 10): readonly Row[] =>
  Array.from({ length: rows }, (_, n) => ({ id: `${name}/${n}`, date: dateOf(day), score: n / 2 }));

/** Syncs without room for a full scan, so that a difference stays to be seen. */
const narrow = { force: true, maxRequests: 18 } as const;

type Api = ReturnType<typeof createRowsFlow>;

async function listMissing(api: Api): Promise<readonly Row[]> {
  const rows = await api.flow.query('SELECT id FROM main.items');
  const ids = new Set(rows.map(({ id }) => String(id)));
  return api.held().filter(({ id }) => typeof id === 'string' && !ids.has(id));
}

describe('rows that come late are counted as missing', () => {
  it.each([
    ['fixed', 'keep', 4],
    ['fixed', 'keep', 2],
    ['gone', 'keep', 4],
    ['gone', 'keep', 1],
    ['fixed', 'hard', 4],
    ['gone', 'soft', 3],
  ] as const)(
    'after as many records in quarantine were %s, with deletes: %s, %i of them',
    async (becomes, deletes, lateRows) => {
      const broken = rowsFrom(0, 0).map((row) => ({ ...row, id: null, score: Number(row['score']) + 0.5 }));
      const settled = becomes === 'gone' ? [] : broken.map((row, n) => ({ ...row, id: `fixed/${n}` }));
      let quarantined: readonly Row[] = broken;
      let extra: readonly Row[] = [];
      const api = createRowsFlow(
        { rows: (day) => [...rowsFrom(FIRST_DAY, day), ...quarantined, ...extra] },
        { ...keyed, deletes, pageSize: 5 },
      );
      expect(streamOf(await api.syncAfter(0)).rows).toMatchObject({ quarantined: 4 });
      expect(streamOf(await api.syncAfter(1))).toMatchObject({ difference: 0 });
      quarantined = settled;
      expect(streamOf(await api.syncAfter(0, narrow))).toMatchObject({ difference: 0 });
      extra = late('late', lateRows);
      for (let sync = 0; sync < 2; sync += 1) {
        const report = await api.syncAfter(0, narrow);
        expect(streamOf(report)).toMatchObject({ mode: 'incremental', difference: lateRows });
        expect(report.warnings.join()).toContain(
          `${lateRows === 1 ? '1 row is' : `${lateRows} rows are`} missing`,
        );
      }
      expect(streamOf(await api.syncAfter(1))).toMatchObject({ mode: 'full', verdict: 'verified' });
      expect(await listMissing(api)).toEqual([]);
      expect(streamOf(await api.syncAfter(1))).toMatchObject({ mode: 'incremental', difference: 0 });
    },
  );

  it('in the very sync that loads records out of quarantine', async () => {
    let isFixed = false;
    const api = createRowsFlow(
      {
        rows: (day) => [
          ...rowsFrom(FIRST_DAY, day),
          ...rowsFrom(0, 0).map((row) => ({ ...row, id: isFixed ? `fixed/${String(row['id'])}` : null })),
          ...(isFixed ? late('late', 4) : []),
        ],
      },
      { ...keyed, pageSize: 5 },
    );
    await api.syncAfter(0);
    await api.syncAfter(1);
    isFixed = true;
    expect(streamOf(await api.syncAfter(0, narrow))).toMatchObject({ mode: 'incremental', difference: 4 });
  });

  it('after records came into quarantine that are newer versions of rows', async () => {
    let extra: readonly Row[] = [];
    const isBroken = (row: Row, day: number) => day >= 1 && /^0\/[01]$/.test(String(row['id']));
    const api = createRowsFlow(
      {
        rows: (day) => [
          ...rowsFrom(FIRST_DAY, day).map((row) => (isBroken(row, day) ? { ...row, id: null } : row)),
          ...extra,
        ],
      },
      { ...keyed, pageSize: 5 },
    );
    await api.syncAfter(0);
    const report = streamOf(await api.syncAfter(1, narrow));
    expect(report).toMatchObject({ rows: { quarantined: 2 }, difference: 0 });
    extra = late('late', 2);
    expect(streamOf(await api.syncAfter(0, narrow))).toMatchObject({ difference: 2 });
  });
});

describe('rows that left, and are kept', () => {
  it.each(['fixed', 'gone'] as const)(
    'do not stand in for a late row where a record in quarantine is %s',
    async (becomes) => {
      const broken = { id: null, date: dateOf(2), score: 0.3 };
      const api = createRowsFlow(
        {
          rows: (day) => [
            ...(day < 3 ? [] : late('late', 1)),
            ...rowsFrom(FIRST_DAY, day).slice(day < 1 ? 0 : 2),
            ...(day === 2 ? [broken] : []),
            ...(day > 2 && becomes === 'fixed' ? [{ ...broken, id: 'fixed' }] : []),
          ],
        },
        { ...keyed, deletes: 'keep', pageSize: 5 },
      );
      await api.syncAfter(0);
      expect(streamOf(await api.syncAfter(1, narrow))).toMatchObject({ difference: 0 });
      expect(streamOf(await api.syncAfter(1, narrow))).toMatchObject({
        difference: 0,
        rows: { quarantined: 1 },
      });
      expect(streamOf(await api.syncAfter(1, narrow))).toMatchObject({ mode: 'incremental', difference: 1 });
      expect(streamOf(await api.syncAfter(1))).toMatchObject({ mode: 'full', verdict: 'verified' });
      expect(await listMissing(api)).toEqual([]);
    },
  );

  it("are the API's again once their newer version leaves quarantine", async () => {
    const moved = (row: Row, day: number) =>
      row['id'] !== `${FIRST_DAY}/1` || day < 2
        ? row
        : { ...row, date: dateOf(2), score: day < 3 ? 'much' : 100 };
    const api = createRowsFlow(
      { rows: (day) => rowsFrom(FIRST_DAY, day).map((row) => moved(row, day)) },
      { ...keyed, deletes: 'keep', pageSize: 5, contract: { types: 'discard_row' } },
    );
    await api.syncAfter(0);
    for (const quarantined of [0, 1, 0]) {
      const report = streamOf(await api.syncAfter(1, narrow));
      expect(report).toMatchObject({ mode: 'incremental', difference: 0, rows: { quarantined } });
    }
  });
});

describe('a difference that is known', () => {
  it('is not made up for by a row that left before, once its day is no longer read', async () => {
    let gone: readonly string[] = [];
    let extra: readonly Row[] = [];
    const api = createRowsFlow(
      {
        rows: (day) => [...extra, ...rowsFrom(FIRST_DAY, day).filter(({ id }) => !gone.includes(String(id)))],
      },
      { ...keyed, pageSize: 5 },
    );
    await api.syncAfter(0);
    expect(streamOf(await api.syncAfter(1, narrow))).toMatchObject({ difference: 0 });
    gone = ['0/1'];
    expect(streamOf(await api.syncAfter(0, narrow))).toMatchObject({ difference: 0 });
    extra = late('late', 1);
    for (let sync = 0; sync < 8; sync += 1) {
      const report = await api.syncAfter(sync === 0 ? 0 : 1, narrow);
      expect(streamOf(report), `sync ${sync}`).toMatchObject({ mode: 'incremental', difference: 1 });
      expect(report.warnings.join()).toContain('1 row is missing');
    }
  });

  it.each(['keep', 'hard', 'soft'] as const)(
    'is not made up for by rows that leave later, or come later, with deletes: %s',
    async (deletes) => {
      for (const [first, second, difference] of [
        [{ extra: 2, gone: 0 }, { extra: 2, gone: 2 }, 2],
        [{ extra: 2, gone: 0 }, { extra: 2, gone: 1 }, 2],
        [{ extra: 0, gone: 2 }, { extra: 2, gone: 2 }, 2],
        [{ extra: 0, gone: 2 }, { extra: 1, gone: 2 }, 1],
      ] as const) {
        let now = { extra: 0, gone: 0 };
        const isGone = (id: unknown) =>
          [0, 1].slice(0, now.gone).some((n) => id === `${FIRST_DAY + 5 + n}/${n}`);
        const api = createRowsFlow(
          {
            rows: (day) => [
              ...late('late', now.extra),
              ...rowsFrom(FIRST_DAY, day).filter(({ id }) => !isGone(id)),
            ],
          },
          { ...keyed, deletes, pageSize: 5 },
        );
        await api.syncAfter(0);
        now = first;
        const before = streamOf(await api.syncAfter(1, narrow));
        expect(before.difference).toBe(first.extra - first.gone);
        now = second;
        const report = await api.syncAfter(0, narrow);
        expect(streamOf(report)).toMatchObject({ mode: 'incremental', difference });
        expect(streamOf(await api.syncAfter(1))).toMatchObject({ mode: 'full', verdict: 'verified' });
        expect(await listMissing(api)).toEqual([]);
      }
    },
  );
});
