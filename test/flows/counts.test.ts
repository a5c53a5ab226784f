import { describe, expect, it } from 'vitest';
import { expectSame, FIRST_DAY, keyed, PER_DAY, rowsOf } from '../support/daily-rows.ts';
import { createRowsFlow, dateOf, type Row } from '../support/rows-api.ts';
import { HOUR_MS } from '../../src/model/dates.ts';
import { planOffline } from '../../src/commands/plan/plan.ts';
import { readStatus } from '../../src/commands/status.ts';
import { renderStatus } from '../../src/render/render-status.ts';
import { streamOf } from '../support/sync-harness.ts';

// Incremental scans prove their own days alone; the count of the whole stream covers the others.

const late = (n: number): readonly Row[] =>
  Array.from({ length: n }, (_, at) => ({ id: `late/${at}`, date: dateOf(FIRST_DAY + 2), score: at / 2 }));

describe('the count of a sync', () => {
  it('is in the report of each scan and in its row of _sluice.stream_runs', async () => {
    const rowsFlow = createRowsFlow({ rows: rowsOf }, keyed);
    expect(streamOf(await rowsFlow.syncAfter(0))).toMatchObject({ rowsInApi: 126, rowsInTable: 126 });
    const next = streamOf(await rowsFlow.syncAfter(1));
    expect(next).toMatchObject({ mode: 'incremental', rowsInApi: 132, rowsInTable: 132, difference: 0 });
    expect(
      await rowsFlow.flow.query(
        'SELECT mode, rows_in_api, rows_in_table, difference FROM _sluice.stream_runs ORDER BY started_at',
      ),
    ).toEqual([
      { mode: 'full', rows_in_api: 126, rows_in_table: 126 },
      { mode: 'incremental', rows_in_api: 132, rows_in_table: 132, difference: 0 },
    ]);
    // One page, and the count.
    expect(rowsFlow.asked).toEqual([dateOf(-3), undefined]);
  });

  it('finds ten rows that came late for a day long past, and the same run reads them', async () => {
    const rowsFlow = createRowsFlow(
      { rows: (day) => (day < 2 ? rowsOf(day) : [...rowsOf(day), ...late(10)]) },
      keyed,
    );
    await rowsFlow.syncAfter(0);
    await rowsFlow.syncAfter(1);
    const report = streamOf(await rowsFlow.syncAfter(1));
    expect(report).toMatchObject({ mode: 'full', verdict: 'verified', rows: { inserted: 16 } });
    await expectSame(rowsFlow);
    expect(streamOf(await rowsFlow.syncAfter(1))).toMatchObject({ mode: 'incremental', difference: 0 });
  });

  it('that differs is a warning where the run has no room to read in full, and the next sync does', async () => {
    let extra: readonly Row[] = [];
    const rowsFlow = createRowsFlow({ rows: (day) => [...rowsOf(day), ...extra] }, keyed);
    await rowsFlow.syncAfter(0);
    extra = late(10);
    const report = await rowsFlow.syncAfter(0, { force: true, maxRequests: 6 });
    expect(report.exitCode).toBe(0);
    expect(streamOf(report)).toMatchObject({ rowsInApi: 136, rowsInTable: 126, difference: 10 });
    expect(report.warnings).toEqual([
      'items: the API counts 136 rows, the table has 126 rows: 10 rows are missing; the next sync reads the stream in full, as soon as the quota has room for it',
    ]);
    const [checkpoint] = await rowsFlow.flow.query('SELECT full_refresh_due AS due FROM _sluice.checkpoints');
    expect(checkpoint?.['due']).toContain('10 rows are missing');
    // Also a stream that was verified just now is not fresh while it differs.
    expect(streamOf(await rowsFlow.syncAfter(0))).toMatchObject({ mode: 'full', verdict: 'verified' });
    await expectSame(rowsFlow);
  });

  it('brings a full refresh forward once a day, however often rows come late', async () => {
    let extra: readonly Row[] = [];
    const rowsFlow = createRowsFlow({ rows: (day) => [...rowsOf(day), ...extra] }, keyed);
    await rowsFlow.syncAfter(0);
    extra = late(10);
    expect(streamOf(await rowsFlow.syncAfter(0, { force: true }))).toMatchObject({ mode: 'full' });
    extra = late(11);
    const again = await rowsFlow.syncAfter(0.5, { force: true });
    expect(streamOf(again)).toMatchObject({ mode: 'incremental', difference: 1 });
    expect(again.warnings.join()).toMatch(
      /1 row is missing; it was read in full shortly before, so a sync does that again from 2026-\d\d-\d\d \d\d:\d\d:\d\d UTC on; sluice sync --full-refresh --streams items does it at once/,
    );
    expect(streamOf(await rowsFlow.syncAfter(0.5))).toMatchObject({ mode: 'full', verdict: 'verified' });
    await expectSame(rowsFlow);
  });

  it('knows rows that grow while it counts, by counting the days again', async () => {
    let requests = 0;
    const grown = (): readonly Row[] =>
      Array.from({ length: requests }, (_, at) => ({ id: `grown/${at}`, date: dateOf(1), score: 1 }));
    const rowsFlow = createRowsFlow(
      { rows: (day) => (day === 0 ? rowsOf(day) : [...rowsOf(day), ...grown()]) },
      keyed,
    );
    await rowsFlow.syncAfter(0);
    const { flow } = rowsFlow;
    const report = await rowsFlow.syncAfter(1, {
      // From the load on each request brings a row more.
      onProgress: ({ type }) => void (type === 'stream-loading' && (requests += 3)),
    });
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', difference: 0 });
    expect(report.warnings).toEqual([]);
    expect(rowsFlow.asked).toEqual([dateOf(-3), undefined, undefined, dateOf(-3)]);
    expect(await flow.query('SELECT count(*) AS n FROM main.items')).toEqual([{ n: 132 }]);
  });

  it('accounts for rows that left the API and are kept', async () => {
    const slides = (day: number) => rowsOf(day).slice(day * PER_DAY);
    const rowsFlow = createRowsFlow({ rows: slides }, keyed);
    for (let day = 0; day < 5; day += 1) {
      const report = await rowsFlow.syncAfter(day === 0 ? 0 : 1);
      expect(report.warnings).toEqual([]);
      expect(streamOf(report).mode).toBe(day === 0 ? 'full' : 'incremental');
      if (day > 0)
        expect(streamOf(report).reasons).toEqual([
          "6 older rows of the table are no longer in the API's count; they are kept",
        ]);
    }
    expect(await rowsFlow.flow.query('SELECT count(*) AS n FROM main.items')).toEqual([{ n: 150 }]);
  });

  it('is left out with audit: false, and where the run has few requests left', async () => {
    for (const [stream, options] of [
      [{ ...keyed, audit: false }, {}],
      [keyed, { maxRequests: 3 }],
    ] as const) {
      const rowsFlow = createRowsFlow({ rows: rowsOf }, stream);
      await rowsFlow.syncAfter(0);
      expect(streamOf(await rowsFlow.syncAfter(1, options))).toMatchObject({
        mode: 'incremental',
        verdict: 'verified',
        rowsInApi: undefined,
      });
      expect(rowsFlow.asked).toHaveLength(1);
    }
  });

  it('says what a new column leaves open, and the next sync fills it', async () => {
    const rowsFlow = createRowsFlow(
      { rows: (day) => rowsOf(day).map((row) => (day < 1 ? row : { ...row, rank: 7 })) },
      keyed,
    );
    await rowsFlow.syncAfter(0);
    const report = streamOf(await rowsFlow.syncAfter(1));
    expect(report).toMatchObject({ mode: 'incremental', verdict: 'verified' });
    expect(report.reasons).toContain('new column rank: 102 older rows have no value yet');
    expect(streamOf(await rowsFlow.syncAfter(1))).toMatchObject({ mode: 'full' });
    expect(await rowsFlow.flow.query('SELECT count(*) AS n FROM main.items WHERE rank IS NULL')).toEqual([
      { n: 0 },
    ]);
  });

  it('says when a second new column is filled, as the stream was read in full shortly before', async () => {
    let known = 0;
    const rowsFlow = createRowsFlow(
      {
        rows: (day) =>
          rowsOf(day).map((row) => ({
            ...row,
            ...(known > 0 && { rank: 7 }),
            ...(known > 1 && { place: 7 }),
          })),
      },
      keyed,
    );
    await rowsFlow.syncAfter(0);
    known = 1;
    await rowsFlow.syncAfter(1);
    expect(streamOf(await rowsFlow.syncAfter(0))).toMatchObject({ mode: 'full' });
    const { flow } = rowsFlow;
    const fromMs = flow.clock.now() + 20 * HOUR_MS;
    known = 2;
    const when =
      /it was read in full shortly before, so a sync does that again from (\S+ \S+) UTC on; sluice sync --full-refresh --streams items does it at once/;
    const report = streamOf(await rowsFlow.syncAfter(0, { force: true }));
    expect(report).toMatchObject({ mode: 'incremental' });
    const note = report.reasons.find((reason) => reason.startsWith('new column place: 108 older rows'));
    expect(note).toMatch(when);
    const time = when.exec(note ?? '')?.[1] ?? '';
    expect(Math.abs(Date.parse(`${time}Z`) - fromMs)).toBeLessThan(60_000);
    const nowMs = flow.clock.now();
    const status = await readStatus(flow.settings(), nowMs);
    const shown = renderStatus(status, { nowMs, columns: undefined });
    expect(shown).toContain(
      `items: new column place: 108 older rows have no value yet; it was read in full shortly before, so a sync does that again from ${time} UTC on`,
    );
    expect(shown).not.toContain('as soon as the quota allows it');
    const { streams } = await planOffline(flow.settings(), { clock: flow.clock });
    expect(streams[0]?.note).toContain(
      `still fresh; a full refresh is due, from ${time} UTC on, or with --full-refresh`,
    );
    expect(streamOf(await rowsFlow.syncAfter(0, { force: true }))).toMatchObject({ mode: 'incremental' });
    flow.clock.stepWall(fromMs + 60_000 - flow.clock.now());
    const later = await readStatus(flow.settings(), flow.clock.now());
    expect(later.streams.find(({ stream }) => stream === 'items')).not.toHaveProperty('fullRefreshFrom');
    expect(renderStatus(later, { nowMs: flow.clock.now(), columns: undefined })).toContain(
      'as soon as the quota allows it',
    );
    expect(streamOf(await rowsFlow.syncAfter(0, { force: true }))).toMatchObject({ mode: 'full' });
  });

  it('does not miss values of older rows in a new column beside another one', async () => {
    const rowsFlow = createRowsFlow(
      {
        rows: (day) =>
          rowsOf(day).map((row) => (day === 1 && row['date'] === dateOf(1) ? { ...row, score: 'low' } : row)),
      },
      keyed,
    );
    await rowsFlow.syncAfter(0);
    const report = streamOf(await rowsFlow.syncAfter(1));
    expect(report.schemaChanges).toMatchObject([{ column: 'score__text', change: 'added' }]);
    expect(report).toMatchObject({ mode: 'incremental' });
    expect(report.reasons.join()).not.toContain('no value yet');
    expect(streamOf(await rowsFlow.syncAfter(0))).toMatchObject({ status: 'fresh' });
  });
});

it('says from which day on rows are verified, until a full scan is', async () => {
  let isRepeated = true;
  const rowsFlow = createRowsFlow(
    {
      rows: (day) => [
        ...Array.from({ length: day + 20 }, (_, at) => at - 19).map((date) => ({
          id: date,
          date: dateOf(date),
          n: 1,
        })),
        ...(isRepeated ? [{ id: -19, date: dateOf(-19), n: 2 }] : []),
      ],
    },
    keyed,
  );
  const scope = /^only rows from \d{4}-\d\d-\d\d on are verified: no full scan was$/;
  expect(streamOf(await rowsFlow.syncAfter(0))).toMatchObject({ mode: 'full', verdict: 'unverified' });
  const partial = streamOf(await rowsFlow.syncAfter(1));
  expect(partial).toMatchObject({ mode: 'incremental', verdict: 'verified' });
  expect(partial.reasons).toContainEqual(expect.stringMatching(scope));
  isRepeated = false;
  expect(streamOf(await rowsFlow.syncAfter(1, { fullRefresh: true }))).toMatchObject({ verdict: 'verified' });
  const { verdict, reasons } = streamOf(await rowsFlow.syncAfter(1));
  expect(verdict).toBe('verified');
  expect(reasons).not.toContainEqual(expect.stringMatching(scope));
});
