import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import { FIRST_DAY, keyed, PER_DAY, rowsOf } from '../support/daily-rows.ts';
import { createRowsFlow, dateOf, type Row, type RowsApi } from '../support/rows-api.ts';
import { streamOf } from '../support/sync-harness.ts';

/** An API whose start date filters by the day on which a row was created: one row got a later date since. */
function createMovedFlow(
  id: string,
  date: string,
  rows: RowsApi['rows'],
  stream: Parameters<typeof createRowsFlow>[1] = {},
) {
  const move = (row: Row, day: number) => (row['id'] === id && day >= 2 ? { id, date, score: 99 } : row);
  return createRowsFlow(
    {
      rows: (day) => rows(day).map((row) => move(row, day)),
      isAsked: (row, from) => String(row['date']) >= from && row['id'] !== id,
    },
    { ...keyed, maxInvalidRatio: 0.5, ...stream },
  );
}

const hasRow = async ({ flow }: ReturnType<typeof createRowsFlow>, id: string) =>
  (await flow.query(`SELECT count(*)::INTEGER AS n FROM main.items WHERE id = '${id}'`))[0]?.['n'];

describe('a row that the start date leaves out is kept under deletes: hard', () => {
  it('while a broken newer version of another row makes up for it in the count', async () => {
    const broken = (day: number) =>
      rowsOf(day).map((row) => (row['id'] === '3/0' && day >= 4 ? { ...row, id: null } : row));
    const api = createMovedFlow('-19/3', dateOf(9), broken, { deletes: 'hard' });
    await api.syncAfter(0);
    await api.syncAfter(1);
    await api.syncAfter(1, { fullRefresh: true });
    for (let day = 3; day <= 9; day += 1) expect(await api.syncAfter(1)).toMatchObject({ exitCode: 0 });
    expect(api.held()).toContainEqual({ id: '-19/3', date: dateOf(9), score: 99 });
    expect(await hasRow(api, '-19/3')).toBe(1);
  });

  it('while nobody knows how many rows of the table the API lacks', async () => {
    const forgetful = (day: number) => rowsOf(day).slice(day * PER_DAY);
    const api = createMovedFlow('-12/3', dateOf(4), forgetful);
    await api.syncAfter(0);
    await api.syncAfter(1);
    await api.syncAfter(1, { fullRefresh: true });
    // As a release left it that did not count.
    const instance = await DuckDBInstance.create(join(api.flow.stateDir, 'work.duckdb'));
    const connection = await instance.connect();
    await connection.run('UPDATE _sluice.checkpoints SET counts = NULL');
    connection.closeSync();
    instance.closeSync();
    const config = {
      streams: { items: { path: 'items', paginated: true, ...keyed, deletes: 'hard' } },
    } as const;
    for (let day = 3; day <= 5; day += 1) {
      expect(await api.syncAfter(1, { config })).toMatchObject({ exitCode: 0 });
      expect(await hasRow(api, '-12/3')).toBe(1);
    }
  });
});

describe('a difference', () => {
  it('stands where the second look at it fails', async () => {
    let extra: readonly Row[] = [];
    let asked = 0;
    const api = createRowsFlow(
      {
        rows: (day) => [...rowsOf(day), ...extra],
        refuses() {
          asked += 1;
          return extra.length > 0 && asked > 1;
        },
      },
      keyed,
    );
    await api.syncAfter(0);
    extra = Array.from({ length: 10 }, (_, at) => ({
      id: `late/${at}`,
      date: dateOf(FIRST_DAY + 2),
      score: at / 2,
    }));
    asked = 0;
    const report = await api.syncAfter(0, { force: true });
    expect(asked).toBe(2);
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', difference: 10 });
    expect(report.warnings.join()).toContain('10 rows are missing');
  });
});

describe('rows that are missing', () => {
  const late = (day: number, n: number) => ({
    id: `late/${day}/${n}`,
    date: dateOf(day - 10),
    score: day + n / 8,
  });
  const missing = async (api: ReturnType<typeof createRowsFlow>) => {
    const rows = await api.flow.query('SELECT id FROM main.items');
    const ids = new Set(rows.map(({ id }) => String(id)));
    return api.held().filter(({ id }) => !ids.has(String(id)));
  };

  it('are not offset by the oldest rows, which leave the API day by day', async () => {
    // A day's rows leave on each day, and from the third one on three come late.
    const api = createRowsFlow(
      {
        rows: (day) => [
          ...rowsOf(day).slice(day * PER_DAY),
          ...Array.from({ length: Math.max(0, day - 2) }, (_, at) =>
            [0, 1, 2].map((n) => late(at + 3, n)),
          ).flat(),
        ],
      },
      keyed,
    );
    const modes = [];
    for (let day = 0; day <= 8; day += 1) {
      const report = await api.syncAfter(day === 0 ? 0 : 1);
      expect(report).toMatchObject({ exitCode: 0 });
      modes.push(streamOf(report).mode);
      const { difference } = streamOf(report);
      if (difference === 0 || streamOf(report).mode === 'full')
        expect(await missing(api), `${day}`).toEqual([]);
    }
    // While the oldest rows leave and nothing else happens, one more question is enough.
    expect(modes.slice(0, 3)).toEqual(['full', 'incremental', 'incremental']);
    expect(modes[3]).toBe('full');
  });

  it.each(['keep', 'hard', 'soft'] as const)(
    'are not offset by rows that did not come, with deletes: %s',
    async (deletes) => {
      const withdrawn = (id: string, day: number) => day >= 2 && /^1\/[012]$/.test(id);
      for (const lateRows of [1, 3]) {
        const api = createRowsFlow(
          {
            rows: (day) => [
              ...rowsOf(day).filter(({ id }) => !withdrawn(String(id), day)),
              ...(day >= 2 ? Array.from({ length: lateRows }, (_, n) => late(2, n)) : []),
            ],
          },
          { ...keyed, deletes },
        );
        await api.syncAfter(0);
        await api.syncAfter(1);
        for (let day = 2; day <= 4; day += 1) {
          const report = await api.syncAfter(1);
          expect(report).toMatchObject({ exitCode: 0 });
          expect(await missing(api), `${lateRows} late, day ${day}`).toEqual([]);
        }
      }
    },
  );

  it('are not offset once days with rows that left are no longer read', async () => {
    const withdrawn = (id: string, day: number) => day >= 2 && /^1\/[012]$/.test(id);
    const api = createRowsFlow(
      { rows: (day) => rowsOf(day).filter(({ id }) => !withdrawn(String(id), day)) },
      keyed,
    );
    await api.syncAfter(0);
    for (let day = 1; day <= 9; day += 1)
      expect(streamOf(await api.syncAfter(1))).toMatchObject({ mode: 'incremental', difference: 0 });
  });
});
