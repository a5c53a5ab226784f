import { describe, expect, it } from 'vitest';
import { renderStatus } from '../../src/render/render-status.ts';
import { readStatus } from '../../src/commands/status.ts';
import { createRowsFlow, dateOf, type Row } from '../support/rows-api.ts';
import { streamOf } from '../support/sync-harness.ts';

const PER_DAY = 4;

/** Rows without anything to tell them apart, but for what they are worth. */
const rowsOf = (day: number): readonly Row[] =>
  Array.from({ length: day + 21 }, (_, at) => at - 20).flatMap((date) =>
    Array.from({ length: PER_DAY }, (_, n) => ({ date: dateOf(date), score: (date * 7 + n) % 3 })),
  );

const keyless = { cursor: { field: 'date', param: 'startDate' } } as const;
const forbids = (startDate: string | undefined, day: number) => day > 0 && startDate === undefined;

describe('a count that the API refuses, of a stream without a key', () => {
  it.each([true, false])('fails nothing where no row is missing, with audit: %s', async (audit) => {
    const api = createRowsFlow({ rows: rowsOf, forbids }, { ...keyless, audit });
    await api.syncAfter(0);
    for (let day = 1; day <= 2; day += 1) {
      const report = await api.syncAfter(1);
      expect(report.exitCode).toBe(0);
      expect(streamOf(report)).toMatchObject({
        mode: 'incremental',
        verdict: 'verified',
        difference: undefined,
      });
      expect(api.asked.includes(undefined)).toBe(audit);
    }
    const found = await api.flow.query('SELECT count(*)::INTEGER AS n FROM main.items');
    expect(found).toEqual([{ n: api.held().length }]);
  });

  it.each([true, false])('fails it where rows would be replaced by fewer, with audit: %s', async (audit) => {
    const withdrawn = (day: number) => (day < 1 ? rowsOf(day) : rowsOf(day).filter((_, at) => at !== 81));
    const api = createRowsFlow({ rows: withdrawn, forbids }, { ...keyless, audit });
    await api.syncAfter(0);
    const report = await api.syncAfter(1);
    expect(report.exitCode).toBe(3);
    expect(await api.flow.query('SELECT count(*)::INTEGER AS n FROM main.items')).toEqual([{ n: 84 }]);
  });
});

describe('a count that is left out', () => {
  const keyed = { key: ['id'], cursor: { field: 'date', param: 'startDate' } } as const;
  const named = (day: number) => rowsOf(day).map((row, at) => ({ id: String(at), ...row }));

  it('is named by status with the time of the count before', async () => {
    const api = createRowsFlow({ rows: named }, keyed);
    await api.syncAfter(0);
    await api.syncAfter(1);
    const read = async () => {
      const nowMs = api.flow.clock.now();
      const status = await readStatus(api.flow.settings(), nowMs);
      return { status, shown: renderStatus(status, { nowMs, columns: 1_000 }) };
    };
    expect((await read()).shown).not.toContain('did not compare');
    await api.syncAfter(1, { maxRequests: 3 });
    const { status, shown } = await read();
    expect(status.streams.find(({ stream }) => stream === 'items')?.counts).toMatchObject({ difference: 0 });
    expect(shown).toMatch(
      /The last sync read the newest rows of items \(last counted .+\) and did not compare/,
    );
    await api.syncAfter(1);
    expect((await read()).shown).not.toContain('did not compare');
  });

  it('does not hide a row that left in the meantime', async () => {
    let [gone, late]: [string, readonly Row[]] = ['', []];
    const api = createRowsFlow(
      { rows: (day) => [...late, ...named(day).filter(({ id }) => id !== gone)] },
      { ...keyed, pageSize: 5 },
    );
    await api.syncAfter(0);
    await api.syncAfter(1);
    // A row of the day before, which the next count no longer asks for by its day.
    gone = '80';
    const uncounted = await api.syncAfter(0, { force: true, maxRequests: 8 });
    expect(streamOf(uncounted)).toMatchObject({ verdict: 'verified', difference: undefined });
    late = [{ id: 'late', date: dateOf(-10), score: 1 }];
    const report = await api.syncAfter(6, { maxRequests: 20 });
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', difference: 1 });
  });

  it.each(['hard', 'soft'] as const)(
    'does not forget a row that left, once its day is no longer read, with deletes: %s',
    async (deletes) => {
      const gone = rowsOf(0).findIndex(({ date }) => date === dateOf(-1));
      const api = createRowsFlow(
        { rows: (day) => named(day).filter((_, at) => day < 2 || at !== gone) },
        { ...keyed, deletes, pageSize: 5 },
      );
      await api.syncAfter(0);
      await api.syncAfter(1);
      const uncounted = streamOf(await api.syncAfter(1, { maxRequests: 8 }));
      expect(uncounted).toMatchObject({ mode: 'incremental', difference: undefined });
      expect(streamOf(await api.syncAfter(1, { maxRequests: 18 }))).toMatchObject({ difference: -1 });
      expect(streamOf(await api.syncAfter(1))).toMatchObject({ mode: 'full', verdict: 'verified' });
      const live = deletes === 'soft' ? 'WHERE _deleted_at IS NULL' : '';
      const rows = await api.flow.query(`SELECT id FROM main.items ${live}`);
      expect(rows.map(({ id }) => id)).toEqual(expect.not.arrayContaining([String(gone)]));
      expect(rows).toHaveLength(api.held().length);
    },
  );
});
