import { describe, expect, it } from 'vitest';
import { expectRows } from '../support/published.ts';
import {
  countScanRequests,
  createFlow,
  createItemsFlow,
  eventsOf,
  type Flow,
  HOUR_MS,
  makeItem,
  makeItems,
  noBuiltIns,
  streamOf,
} from '../support/sync-harness.ts';

const full = { cursor: false } as const;

describe('rows that come twice', () => {
  const items = makeItems(250);
  // One pair on one page, one on two pages apart.
  const twice = [
    ...items.slice(0, 20),
    { ...makeItem(5), name: 'fifth again' },
    ...items.slice(20),
    { ...makeItem(30), name: 'thirtieth again' },
  ];

  it('with a configured key: the last one wins, and they are counted', async () => {
    const flow = createItemsFlow(twice, { stream: { ...full, key: ['id'] } });
    const report = await flow.sync();
    expect(report.exitCode).toBe(0);
    expect(streamOf(report)).toMatchObject({ verdict: 'unverified', rowsInTable: 250, rowsDeclared: 252 });
    expect(streamOf(report).reasons[0]).toBe(
      '250 distinct keys came of 252 records: 2 share the key of another',
    );
    expect(report.warnings).toEqual([expect.stringMatching(/2 rows have the key of another/)]);
    const names = await flow.query('SELECT name FROM main.items WHERE id IN (5, 30) ORDER BY id');
    expect(names.map((row) => row['name'])).toEqual(['fifth again', 'thirtieth again']);
    // The pages of the pairs were read again: the rows are still there, so they are the source's own.
    expect(report.requests).toBe(countScanRequests(252) + 4);
  });

  it('with a configured key: the next run finds nothing changed', async () => {
    const flow = createItemsFlow(twice, { stream: { ...full, key: ['id'] } });
    await flow.sync();
    expect((await flow.sync({ force: true })).rows).toMatchObject({
      inserted: 0,
      updated: 0,
      unchanged: 250,
    });
  });

  it('without a configured key: another one is learned that tells them apart, if there is one', async () => {
    const flow = createItemsFlow(twice, { stream: full });
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rowsInTable: 252 });
    expect(streamOf(report).key?.columns).not.toEqual(['id']);
    expect(await flow.rows('items')).toEqual(expectRows(twice));
  });

  it('alike in every field are all kept in a table without a key', async () => {
    const twins = Array.from({ length: 130 }, (_, at) => ({ word: `word ${at % 40}` }));
    const flow = createItemsFlow(twins, { stream: full });
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rowsInTable: 130, key: undefined });
    expect(await flow.rows('items')).toEqual(expectRows(twins));
  });
});

describe('a table without a key', () => {
  it('is replaced as a whole: rows that left it are gone, rows that stayed are not rewritten', async () => {
    const words = (from: number) =>
      Array.from({ length: 120 }, (_, at) => ({ word: `word ${from + (at % 40)}` }));
    const flow = createItemsFlow(words(0), { stream: full });
    const first = await flow.sync();
    flow.simulator.editRecords('items', () => words(10));
    const second = await flow.sync({ force: true });
    expect(second.rows).toMatchObject({ inserted: 30, deleted: 30, updated: 0, unchanged: 90 });
    expect(await flow.rows('items')).toEqual(expectRows(words(10)));
    const marks = await flow.query('SELECT _run_id, count(*) AS n FROM main.items GROUP BY ALL ORDER BY n');
    expect(marks).toEqual([
      { _run_id: second.runId, n: 30 },
      { _run_id: first.runId, n: 90 },
    ]);
  });
});

describe('a configured key', () => {
  it.each(['evolve', 'discard_row', 'discard_value'] as const)(
    'sends a record without it to quarantine, under %s',
    async (contract) => {
      const without = (count: number) =>
        makeItems(150).map((item) => (item.id < count ? { ...item, id: null } : item));
      const flow = createItemsFlow(without(1), { stream: { ...full, key: ['id'], contract } });
      const report = await flow.sync();
      expect(report.exitCode, report.error?.message).toBe(0);
      expect(streamOf(report)).toMatchObject({
        verdict: 'verified',
        rows: { inserted: 149, quarantined: 1 },
      });
      expect(report.warnings).toEqual([
        expect.stringMatching(/^items: 1 record went to _sluice\.quarantine: id is null, and the key \(1\)/),
      ]);
      expect(await flow.query('SELECT path, reason FROM _sluice.quarantine')).toEqual([
        { path: 'id', reason: 'is null, and the key' },
      ]);
      flow.simulator.editRecords('items', () => makeItems(150));
      const mended = await flow.sync({ force: true });
      expect(mended.rows).toMatchObject({ inserted: 1, unchanged: 149, quarantined: 0 });
      flow.simulator.editRecords('items', () => without(20));
      const many = await flow.sync({ force: true });
      expect(many.exitCode).toBe(4);
      expect(streamOf(many).error?.message).toMatch(
        /20 records have no value for the key \(id\), the first at position 0/,
      );
      expect(streamOf(many).error?.hint).toMatch(/maxInvalidRatio \(0\.05\).*streams\.items\.key/);
    },
  );

  it('that a record lacks fails the stream under freeze', async () => {
    const items = makeItems(150).map((item) => (item.id === 120 ? { ...item, id: null } : item));
    const flow = createItemsFlow(items, { stream: { ...full, key: ['id'], contract: 'freeze' } });
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(streamOf(report).error?.message).toMatch(
      /1 record breaks the contract: id is null, and the key.*position 120/,
    );
    expect(flow.isPublished()).toBe(false);
  });

  it('of a field that no record has fails that stream with 2, and the others go on', async () => {
    const flow = createFlow({
      config: { streams: { prompts_analytics: { key: ['promptId', 'dated'] } } },
    });
    const report = await flow.sync();
    expect(report.exitCode).toBe(5);
    const { error, status } = streamOf(report, 'prompts_analytics');
    expect([status, error?.exitCode, error?.code]).toEqual(['failed', 2, 'config_invalid']);
    expect(error?.message).toMatch(/names dated, which no record of the first page has/);
    expect(error?.hint).toMatch(/promptId.*date/);
    expect(report.streams.map(({ status }) => status)).toEqual([
      'complete',
      'failed',
      'complete',
      'complete',
    ]);

    // With the name mended the stream is read.
    const streams = { prompts_analytics: { key: ['promptId', 'date'] } };
    const mended = await flow.sync({ config: { streams } });
    expect(mended.exitCode).toBe(0);
    expect(streamOf(mended, 'prompts_analytics')).toMatchObject({ status: 'complete', verdict: 'verified' });
    // What was wrong showed on the first page.
    expect(streamOf(report, 'prompts_analytics').requests).toBeLessThan(3);
  });

  it('of a field that no record has ends with 2 when that stream was all', async () => {
    const flow = createItemsFlow(makeItems(10), { stream: { ...full, key: ['nope'] } });
    expect((await flow.sync()).exitCode).toBe(2);
  });

  it('may be given by the columns name and by a nested path', async () => {
    const items = makeItems(50).map(({ id, ...item }) => ({ ...item, source: { itemId: id } }));
    for (const key of [['source.itemId'], ['source__item_id']]) {
      const flow = createItemsFlow(items, { stream: { ...full, key } });
      expect(streamOf(await flow.sync()).key).toEqual({ columns: ['source__item_id'], origin: 'config' });
    }
  });

  it('that replaces another one leaves each row once', async () => {
    const items = makeItems(120).map((item) => ({ ...item, version: item.id % 2 }));
    const flow = createItemsFlow(items, { stream: { ...full, key: ['id', 'version'] } });
    await flow.sync();
    flow.simulator.editRecords('items', (records) =>
      records.map((record) => ({ ...(record as object), version: 7 })),
    );
    await flow.sync({ force: true });
    expect(await flow.rows('items')).toHaveLength(240);
    const streams = { ...noBuiltIns, items: { path: 'items', paginated: true, ...full, key: ['id'] } };
    const report = await flow.sync({ config: { streams } });
    expect(report.exitCode).toBe(0);
    expect(await flow.rows('items')).toEqual(expectRows(items.map((item) => ({ ...item, version: 7 }))));
  });
});

describe('a learned key', () => {
  const dated = { dateField: 'date' };

  it('that repeats in an incremental run is dropped; the stream is read in full and learns another', async () => {
    const items = makeItems(200).map((item) => ({ ...item, region: 'eu' }));
    const flow = createItemsFlow(items, { endpoint: dated });
    expect(streamOf(await flow.sync()).key?.columns).toEqual(['id']);
    // From now on each item is there once for each region.
    const split = items.flatMap((item) => [item, { ...item, region: 'us', amount: item.amount + 1 }]);
    flow.simulator.editRecords('items', () => split);
    const report = await flow.sync({ force: true });
    expect(report.exitCode).toBe(0);
    expect(streamOf(report)).toMatchObject({ status: 'complete', mode: 'full', verdict: 'verified' });
    expect(streamOf(report).key).toEqual({ columns: ['date', 'id', 'region'], origin: 'learned' });
    expect(eventsOf(flow, 'note').map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/learned key \(id\) does not tell its rows apart any more/),
      ]),
    );
    expect(await flow.rows('items')).toEqual(expectRows(split));
  });

  it('that never repeated is proved on its second day', async () => {
    const flow = createItemsFlow(makeItems(120), { stream: full });
    await flow.sync();
    const read = 'SELECT key_fields, key_proved_on FROM _sluice.checkpoints';
    expect(await flow.query(read)).toEqual([{ key_fields: ['id'], key_proved_on: ['2026-01-31'] }]);
    await flow.clock.sleep(24 * HOUR_MS);
    await flow.sync();
    expect(await flow.query(read)).toEqual([
      { key_fields: ['id'], key_proved_on: ['2026-01-31', '2026-02-01'] },
    ]);
  });

  it('is not learned from one row, nor from a part of the data', async () => {
    const flow = createItemsFlow(makeItems(1), { stream: full });
    expect(streamOf(await flow.sync()).key).toBeUndefined();
    const limited = createItemsFlow(makeItems(150), { stream: full });
    expect(streamOf(await limited.sync({ limit: 20 })).key).toBeUndefined();
    expect(streamOf(await limited.sync()).key?.columns).toEqual(['id']);
    expect(await limited.rows('items')).toEqual(expectRows(makeItems(150)));
  });

  it('is never a float, a measure or free text', async () => {
    const items = Array.from({ length: 90 }, (_, at) => ({
      score: at + 0.5,
      mentions: at,
      title: `title ${at}`,
      group: `g${at % 3}`,
    }));
    const flow = createItemsFlow(items, { stream: full });
    expect(streamOf(await flow.sync()).key).toBeUndefined();
  });
});

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

  it('makes a keyless stream replace the days it asked for, and no others', async () => {
    const words = (days: readonly string[], word: string) =>
      days.flatMap((date) => Array.from({ length: 30 }, (_, at) => ({ date, word: `${word} ${at % 5}` })));
    const old = ['2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04', '2026-01-05', '2026-01-06'];
    const flow = createItemsFlow(words(old, 'a'), { endpoint: { dateField: 'date' } });
    expect(streamOf(await flow.sync()).key).toBeUndefined();
    await flow.sync({ force: true });
    const next = [...words(old.slice(0, 2), 'never asked again'), ...words(old.slice(2), 'b')];
    flow.simulator.editRecords('items', () => next);
    const report = await flow.sync({ force: true });
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', verdict: 'verified' });
    expect(report.rows).toMatchObject({ inserted: 120, deleted: 120 });
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

describe('write modes', () => {
  it('append never changes a row that is there', async () => {
    const flow = createItemsFlow(makeItems(120), { stream: { ...full, key: ['id'], write: 'append' } });
    await flow.sync();
    flow.simulator.editRecords('items', (records) =>
      [...records, makeItem(500)].map((record) => ({ ...(record as object), name: 'changed' })),
    );
    const report = await flow.sync({ force: true });
    expect(report.rows).toMatchObject({ inserted: 1, updated: 0, unchanged: 120 });
    expect(await flow.query(`SELECT count(*) AS n FROM main.items WHERE name = 'changed'`)).toEqual([
      { n: 1 },
    ]);
  });

  it('replace removes the rows that left the source', async () => {
    const flow = createItemsFlow(makeItems(120), { stream: { write: 'replace' } });
    await flow.sync();
    flow.simulator.editRecords('items', (records) => records.slice(20));
    const report = await flow.sync({ force: true });
    expect(report.rows).toMatchObject({ deleted: 20, unchanged: 100 });
    expect(await flow.rows('items')).toEqual(expectRows(makeItems(120).slice(20)));
  });
});

describe('a configured key that no record of the first page has', () => {
  it('ends the scan there, and says what was meant', async () => {
    const flow = createItemsFlow(makeItems(400), { stream: { key: ['idd'] } });
    const report = await flow.sync();
    expect(report.exitCode).toBe(2);
    expect(streamOf(report).error?.message).toBe(
      'streams.items.key names idd, which no record of the first page has; did you mean "id"?',
    );
    expect(flow.arrivals.length).toBeLessThan(4);
  });
});
