import { describe, expect, it } from 'vitest';
import { readStatus } from '../../src/commands/status.ts';
import { renderStatus } from '../../src/render/render-status.ts';
import { expectRows } from '../support/published.ts';
import {
  countScanRequests,
  createFlow,
  createItemsFlow,
  eventsOf,
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
    expect(streamOf(report).reasons[0]).toBe('250 distinct keys in 252 records: 2 share the key of another');
    expect(report.warnings).toEqual([expect.stringMatching(/2 rows have the key of another/)]);
    const names = await flow.query('SELECT name FROM main.items WHERE id IN (5, 30) ORDER BY id');
    expect(names.map((row) => row['name'])).toEqual(['fifth again', 'thirtieth again']);
    // The two pages with the pairs were read again: the rows are still there, so they are the source's own.
    expect(report.requests).toBe(countScanRequests(252) + 2);
  });

  it('with a configured key, and often: status says why, and a key that fits is named once', async () => {
    const often = [...items, ...items.slice(0, 20).map((item) => ({ ...item, name: `${item.name} again` }))];
    const flow = createItemsFlow(often, { stream: { ...full, key: ['id'] } });
    const fits = 'tells all rows apart: if it is their key, set streams.items.key to [';
    const { reasons } = streamOf(await flow.sync());
    expect(reasons.join()).toContain(fits);
    const nowMs = flow.clock.now();
    const shown = renderStatus(await readStatus(flow.settings(), nowMs), { nowMs, columns: 1_000 });
    expect(shown).toContain(
      'items is not verified: 250 distinct keys in 270 records: 20 share the key of another.',
    );
    const again = streamOf(await flow.sync({ force: true }));
    expect(again).toMatchObject({ verdict: 'unverified', rowsInTable: 250 });
    expect(again.reasons.join()).not.toContain(fits);
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

  it('without a configured key: another one is learned that distinguishes them, if there is one', async () => {
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

  it('hide no row that moved from one page to another', async () => {
    const words = Array.from({ length: 30 }, (_, at) => ({ word: `word ${at === 7 ? 1 : at}` }));
    const flow = createItemsFlow(words, { stream: { ...full, pageSize: 5 } });
    const moved = words.with(6, words[15]!).with(15, words[6]!);
    flow.simulator.setFaults([
      ({ query, controls }) => {
        if (query.get('offset') === '12') controls.editRecords('items', () => moved);
        return undefined;
      },
    ]);
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rescans: 1, key: undefined });
    expect(await flow.rows('items')).toEqual(expectRows(moved));
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
      const repaired = await flow.sync({ force: true });
      expect(repaired.rows).toMatchObject({ inserted: 1, unchanged: 149, quarantined: 0 });
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

  it('of a field that no record has fails that stream with 2, and the others continue', async () => {
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

    // With the name fixed the stream is read.
    const streams = { prompts_analytics: { key: ['promptId', 'date'] } };
    const repaired = await flow.sync({ config: { streams } });
    expect(repaired.exitCode).toBe(0);
    expect(streamOf(repaired, 'prompts_analytics')).toMatchObject({
      status: 'complete',
      verdict: 'verified',
    });
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
      expect.arrayContaining([expect.stringMatching(/learned key \(id\) is no longer unique over its rows/)]),
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
