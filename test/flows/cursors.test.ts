import { describe, expect, it } from 'vitest';
import { createRowsFlow, dateOf } from '../support/rows-api.ts';
import { expectRows } from '../support/published.ts';
import {
  countScanRequests,
  createItemsFlow,
  eventsOf,
  type Flow,
  HOUR_MS,
  makeItem,
  makeItems,
  streamOf,
} from '../support/sync-harness.ts';

describe('a cursor', () => {
  it('whose parameter the API ignores is refuted by one request; the stream is read in full from then on', async () => {
    // Without a dateField the simulator ignores startDate.
    const flow = createItemsFlow(makeItems(500));
    await flow.sync();
    await flow.clock.sleep(24 * HOUR_MS);
    const second = await flow.sync();
    expect(second.exitCode).toBe(0);
    expect(streamOf(second)).toMatchObject({ mode: 'full', verdict: 'verified' });
    expect(second.requests).toBe(countScanRequests(500) + 1);
    expect(eventsOf(flow, 'note').map(({ message }) => message)).toEqual(
      expect.arrayContaining([expect.stringMatching(/does not honour startDate/)]),
    );
    expect(await flow.query('SELECT cursor_state FROM _sluice.checkpoints')).toEqual([
      { cursor_state: 'refuted' },
    ]);

    await flow.clock.sleep(24 * HOUR_MS);
    const third = await flow.sync();
    expect(third.requests).toBe(countScanRequests(500));
    expect(flow.arrivals.some(({ query }) => query.includes('startDate'))).toBe(false);
    expect(await flow.rows('items')).toEqual(expectRows(makeItems(500)));
  });

  it('whose parameter the API rejects with 400 is refuted as well', async () => {
    const flow = createItemsFlow(makeItems(500));
    await flow.sync();
    flow.simulator.setFaults([
      ({ query }) =>
        query.has('startDate')
          ? { status: 400, body: '{"error":{"code":"VALIDATION_ERROR","message":"startDate is unknown"}}' }
          : undefined,
    ]);
    const report = await flow.sync({ force: true });
    expect(report.exitCode).toBe(0);
    expect(streamOf(report)).toMatchObject({ mode: 'full', verdict: 'verified' });
    expect(report.requests).toBe(countScanRequests(500) + 1);
    expect((await flow.sync({ force: true })).requests).toBe(countScanRequests(500));
  });

  it('whose parameter empties the answer is refuted as well', async () => {
    const flow = createItemsFlow(makeItems(300), { endpoint: { dateField: 'nothing' } });
    await flow.sync();
    const report = await flow.sync({ force: true });
    expect(report.exitCode).toBe(0);
    expect(streamOf(report)).toMatchObject({ mode: 'full', rowsInTable: 300 });
  });

  it('that config names is used on the first incremental run, without a trial', async () => {
    const flow = createItemsFlow(makeItems(500), {
      endpoint: { dateField: 'date' },
      stream: { cursor: { field: 'date', param: 'startDate', lookback: '2d' } },
    });
    await flow.sync();
    const report = await flow.sync({ force: true });
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', verdict: 'verified' });
    expect(new URLSearchParams(flow.arrivals[0]?.query).get('startDate')).toBe('2026-01-08');
  });

  it('that config names and that has no dates is warned of in each sync, which reads everything', async () => {
    const rows = Array.from({ length: 5 }, (_, id) => ({ id, week: `week ${id}` }));
    const api = createRowsFlow({ rows: () => rows }, { key: ['id'], cursor: { field: 'week' } });
    for (const days of [0, 1]) {
      const report = await api.syncAfter(days);
      expect(streamOf(report)).toMatchObject({ mode: 'full', verdict: 'verified' });
      expect(report.warnings.join()).toBe(
        'no record has a date in the cursor field week, so each sync reads everything: set streams.items.cursor.field to a field of dates',
      );
    }
  });

  it('never passes the server’s own date, whatever dates the rows have', async () => {
    const items = [...makeItems(200), { ...makeItem(900), date: '2031-01-01' }];
    const flow = createItemsFlow(items, { endpoint: { dateField: 'date' } });
    expect(streamOf(await flow.sync()).watermark).toBe('2026-01-31');
    await flow.clock.sleep(24 * HOUR_MS);
    const report = await flow.sync();
    expect(report.exitCode).toBe(0);
    expect(new URLSearchParams(flow.arrivals[0]?.query).get('startDate')).toBe('2026-01-28');
  });

  it('that a state says lies in the future does not make every later run ask for nothing', async () => {
    const flow = createItemsFlow(makeItems(1_550), { endpoint: { dateField: 'date' } });
    await flow.sync();
    flow.clock.stepWall(-3 * 24 * HOUR_MS);
    // A full scan of a day that is still to come excuses nothing either.
    expect(streamOf(await flow.sync())).toMatchObject({ status: 'complete', mode: 'full' });
    flow.clock.stepWall(2 * HOUR_MS);
    expect(streamOf(await flow.sync())).toMatchObject({ status: 'complete', mode: 'incremental' });
    expect(new URLSearchParams(flow.arrivals[0]?.query).get('startDate')).toBe('2026-01-25');
  });

  it('is not read in full again and again while the clock of this machine is behind', async () => {
    const behindMs = 5 * 24 * HOUR_MS;
    const api = createRowsFlow(
      {
        rows: (day) =>
          Array.from({ length: day + 25 }, (_, at) => at - 19).map((date) => ({
            id: `${date}`,
            date: dateOf(date),
          })),
        serverNow: () => api.flow.clock.now() + behindMs,
      },
      { key: ['id'], cursor: { field: 'date', param: 'startDate' } },
    );
    expect(streamOf(await api.syncAfter(0))).toMatchObject({ mode: 'full', watermark: dateOf(0) });
    for (let day = 1; day < 4; day += 1) {
      const report = streamOf(await api.syncAfter(1));
      expect(report).toMatchObject({ mode: 'incremental', verdict: 'verified', watermark: dateOf(day) });
      expect(report.rowsInTable).toBe(api.held().length);
    }
  });

  it('that a clock of the server moved into the future leaves no gap behind it', async () => {
    let aheadMs = 0;
    const api = createRowsFlow(
      {
        rows: (day) => [
          { id: 'planned', date: dateOf(300), score: 0 },
          ...Array.from({ length: day + 20 }, (_, at) => at - 19).flatMap((date) =>
            [0, 1].map((n) => ({
              id: `${date}/${n}`,
              date: dateOf(date),
              score: day >= 12 && date >= 0 ? 2 : 1,
            })),
          ),
        ],
        serverNow: () => api.flow.clock.now() + aheadMs,
      },
      { key: ['id'], cursor: { field: 'date', param: 'startDate' }, audit: false },
    );
    expect((await api.syncAfter(0)).exitCode).toBe(0);
    aheadMs = 400 * 24 * HOUR_MS;
    expect((await api.syncAfter(2)).exitCode).toBe(0);
    aheadMs = 0;
    const report = streamOf(await api.syncAfter(10));
    expect(report).toMatchObject({ verdict: 'verified', mode: 'incremental' });
    const rows = await api.flow.query('SELECT id, score FROM main.items ORDER BY id');
    const wanted = api.held().map(({ id, score }) => ({ id, score }));
    expect(rows).toEqual(wanted.toSorted((one, other) => (String(one.id) < String(other.id) ? -1 : 1)));
  });

  it('makes a keyless stream replace the days it asked for, and no others', async () => {
    const words = (days: readonly string[], word: string) =>
      days.flatMap((date) => Array.from({ length: 30 }, (_, at) => ({ date, word: `${word} ${at % 5}` })));
    const old = [
      '2026-01-01',
      '2026-01-02',
      '2026-01-03',
      '2026-01-04',
      '2026-01-05',
      '2026-01-06',
      '2026-01-07',
    ];
    const flow = createItemsFlow(words(old, 'a'), { endpoint: { dateField: 'date' } });
    expect(streamOf(await flow.sync()).key).toBeUndefined();
    await flow.sync({ force: true });
    const next = [...words(old.slice(0, 2), 'before the days it replaces'), ...words(old.slice(2), 'b')];
    flow.simulator.editRecords('items', () => next);
    const report = await flow.sync({ force: true });
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', verdict: 'verified' });
    expect(report.rows).toMatchObject({ inserted: 150, deleted: 150 });
    expect(await flow.rows('items')).toEqual(
      expectRows([...words(old.slice(0, 2), 'a'), ...words(old.slice(2), 'b')]),
    );
  });
});

describe('a cursor of timestamps with an offset', () => {
  /** Five events a day at half past eleven at night, five hours west of Greenwich: the next day in UTC. */
  const eventsOfDays = (from: number, to: number, word: string, offset: string, time: string) =>
    Array.from({ length: (to - from + 1) * 25 }, (_, at) => ({
      occurredAt: `2026-01-${String(from + Math.floor(at / 25)).padStart(2, '0')}T${time}${offset}`,
      word: `${word} ${at % 5}`,
    }));
  const west = (from: number, to: number, word = 'a') => eventsOfDays(from, to, word, '-05:00', '23:30:00');
  const dated = { endpoint: { dateField: 'occurredAt' } };
  const textRows = (flow: Flow) =>
    flow.query(`SELECT strftime(occurred_at, '%Y-%m-%dT%H:%M:%SZ') AS at, word FROM main.items ORDER BY ALL`);
  const expectTexts = (events: readonly { readonly occurredAt: string; readonly word: string }[]) =>
    events
      .map(({ occurredAt, word }) => ({ at: new Date(occurredAt).toISOString().replace('.000Z', 'Z'), word }))
      .toSorted((a, b) => (`${a.at} ${a.word}` < `${b.at} ${b.word}` ? -1 : 1));

  it('loses no row of a keyless stream at the edge of the days asked for', async () => {
    const flow = createItemsFlow(west(20, 27), dated);
    expect(streamOf(await flow.sync()).key).toBeUndefined();
    for (let run = 0; run < 2; run += 1) {
      const report = await flow.sync({ force: true });
      expect(streamOf(report)).toMatchObject({ mode: 'incremental', verdict: 'verified', rowsInTable: 200 });
      expect(report.rows).toMatchObject({ inserted: 0, deleted: 0 });
    }
    expect(await textRows(flow)).toEqual(expectTexts(west(20, 27)));
  });

  it('replaces the newest days of a keyless stream exactly', async () => {
    const flow = createItemsFlow(west(20, 27), dated);
    await flow.sync();
    const restated = [...west(20, 25), ...west(26, 28, 'b')];
    flow.simulator.editRecords('items', () => restated);
    const report = await flow.sync({ force: true });
    expect(streamOf(report).mode).toBe('incremental');
    expect(await textRows(flow)).toEqual(expectTexts(restated));
  });

  it('is not refuted by an offset that moves a row over midnight', async () => {
    const east = eventsOfDays(20, 27, 'a', '+05:00', '00:30:00').map((event, id) => ({ ...event, id }));
    const flow = createItemsFlow(east, dated);
    await flow.sync();
    const report = await flow.sync({ force: true });
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', verdict: 'verified' });
    expect(await flow.query('SELECT cursor_state FROM _sluice.checkpoints')).toEqual([
      { cursor_state: 'proved' },
    ]);
  });
});
