import { describe, expect, it } from 'vitest';
import { discover } from '../../src/commands/discover/discover.ts';
import { compareWithApi } from '../../src/commands/verify/compare-api.ts';
import { pagingKinds } from '../../src/orders/orders.ts';
import { createOrderRun, type OrderCase, range, type Scenario } from './order-case.ts';
import { orderCases } from './order-cases.ts';

const ROWS = 436;
const still: Scenario = { ids: () => range(ROWS) };

it('has a case for every order', () => {
  const kinds = Object.values<OrderCase>(orderCases).map(({ paging }) => paging.kind);
  expect([...new Set(kinds)].toSorted()).toEqual(pagingKinds.toSorted());
});

const cases = Object.entries<OrderCase>(orderCases);
const pagedCases = cases.filter(([, { paginated }]) => paginated !== false);
/** Those that count their records. */
const countedCases = pagedCases.filter(([, { provesOne }]) => provesOne === 'verified');

describe.each(cases)('pages in the order %s', (_, order) => {
  const isPaged = order.paginated !== false;

  it('bring every row once', async () => {
    const run = createOrderRun(order, still);
    expect(await run.sync()).toMatchObject({ exitCode: 0, streams: [{ verdict: order.proves }] });
    expect(await run.ids()).toEqual(range(ROWS));
  });

  it('may be empty', async () => {
    const run = createOrderRun(order, { ids: () => [] });
    expect(await run.sync({ allowEmpty: true })).toMatchObject({
      exitCode: 0,
      streams: [{ verdict: order.provesOne, rows: { read: 0 } }],
    });
  });

  it('may be one page', async () => {
    const run = createOrderRun(order, { ids: () => range(7) });
    expect(await run.sync()).toMatchObject({ exitCode: 0, streams: [{ verdict: order.provesOne }] });
    expect(await run.ids()).toEqual(range(7));
  });

  it('may end with a full one', async () => {
    const run = createOrderRun(order, { ids: () => range(300) });
    expect(await run.sync()).toMatchObject({ exitCode: 0, streams: [{ verdict: order.proves }] });
    expect(await run.ids()).toEqual(range(300));
  });

  it.each([40, 2])('may be smaller than was asked for: %d rows', async (most) => {
    const rows = range(most * 9 + 3);
    const run = createOrderRun(order, { ids: () => rows, most });
    expect(await run.sync()).toMatchObject({ exitCode: 0, streams: [{ verdict: order.proves }] });
    expect(await run.ids()).toEqual(rows);
  });

  it('are sampled by discover', async () => {
    const { project } = createOrderRun(order, still);
    const { clock, transport } = project.server;
    const { streams } = await discover(project.settings(), { clock, transport });
    expect(streams[0]?.sample).toMatchObject(isPaged ? { pages: 3, records: 300 } : { records: ROWS });
  });

  it.each([50, 4])('are compared with their table, with %d requests', async (maxRequests) => {
    const run = createOrderRun(order, still);
    await run.sync();
    const { clock, transport } = run.project.server;
    const { streams } = await compareWithApi(run.project.settings(), { maxRequests, clock, transport });
    const isExact = order.proves === 'verified' && (maxRequests > 4 || !isPaged);
    expect(streams).toMatchObject([
      { extent: isExact ? 'exact' : 'sampled', differs: false, missing: 0, differing: 0, error: undefined },
    ]);
  });

  it('change nothing when they are read again', async () => {
    const run = createOrderRun(order, still);
    await run.sync();
    const again = await run.sync({ fullRefresh: true });
    expect(again.exitCode).toBe(0);
    expect(again.streams[0]?.rows).toMatchObject({ inserted: 0, updated: 0, deleted: 0 });
  });
});

describe.each(pagedCases)('several pages in the order %s', (_, order) => {
  it.each(range(9, 3))(
    'are never verified where a row comes and another goes from request %d',
    async (at) => {
      const before = range(60).map((id) => id * 2);
      const more = before.toSpliced(11, 0, 21);
      const after = more.filter((id) => id !== 12);
      const run = createOrderRun(order, { ids: (n) => (n < at ? before : n === at ? more : after), most: 5 });
      const { streams } = await run.sync();
      const isWhole = JSON.stringify((await run.ids()).toSorted()) === JSON.stringify(after.toSorted());
      expect([streams[0]?.verdict === 'verified', isWhole]).not.toEqual([true, false]);
    },
  );

  it('may repeat a row of which there was one before', async () => {
    let ids = range(ROWS);
    const run = createOrderRun(order, { ids: () => ids });
    await run.sync();
    ids = [...range(8), 7, ...range(ROWS - 8, 8)];
    const report = await run.sync({ fullRefresh: true });
    expect(report).toMatchObject({ exitCode: 0, streams: [{ rescans: 0 }] });
    expect(await run.ids()).toEqual(ids);
  });

  it.each(range(13, 2))('are never verified where two rows change places at request %d', async (at) => {
    const before = range(60);
    const after = before.map((id) => (id === 6 ? 15 : id === 15 ? 6 : id));
    const run = createOrderRun(order, { ids: (n) => (n < at ? before : after), most: 5 });
    const { streams } = await run.sync();
    const held = await run.ids();
    const isWhole = held.length === 60 && before.every((id) => held.includes(id));
    expect([streams[0]?.verdict === 'verified', isWhole]).not.toEqual([true, false]);
  });

  it('are read again when rows come in front of them meanwhile', async () => {
    const later = [1_000, ...range(ROWS)];
    const run = createOrderRun(order, { ids: (n) => (n < 3 ? range(ROWS) : later) });
    const report = await run.sync();
    expect(report).toMatchObject({ exitCode: 0, streams: [{ verdict: order.proves }] });
    expect(report.streams[0]?.rescans).toBeGreaterThan(0);
    expect(await run.ids()).toEqual([...range(ROWS), 1_000]);
  });

  it('that never keep still are drifted', async () => {
    const run = createOrderRun(order, { ids: (n) => [...range(n, 1_000).toReversed(), ...range(ROWS)] });
    const { streams } = await run.sync();
    expect(streams[0]?.verdict).toBe('drifted');
  });

  it('are never verified when one row was missed, though the count is right', async () => {
    // A row that was read leaves, so that one which was not slides into a page that was read; another is added.
    const later = [...range(ROWS).filter((id) => id !== 50), 1_000];
    const run = createOrderRun(order, { ids: (n) => (n < 2 ? range(ROWS) : later) });
    const { streams } = await run.sync();
    const held = await run.ids();
    const isWhole = later.every((id) => held.includes(id));
    expect([streams[0]?.verdict === 'verified', isWhole]).not.toEqual([true, false]);
  });

  it('are not asked for twice by the next run after a kill', async () => {
    const whole = createOrderRun(order, still);
    await whole.sync();
    const parts = createOrderRun(order, still);
    expect(await parts.sync({ maxRequests: 3 })).toMatchObject({ exitCode: 75 });
    expect(parts.project.isPublished()).toBe(false);
    expect(await parts.sync()).toMatchObject({ exitCode: 0, streams: [{ verdict: order.proves }] });
    expect(await parts.ids()).toEqual(range(ROWS));
    const most = whole.project.server.requests.length + 1;
    expect(parts.project.server.requests.length).toBeLessThanOrEqual(most);
  });

  it('are read with one request a run as well', async () => {
    const run = createOrderRun(order, still);
    const codes: number[] = [];
    while (codes.length < 12 && codes.at(-1) !== 0) codes.push((await run.sync({ maxRequests: 1 })).exitCode);
    expect(codes.at(-1)).toBe(0);
    expect(await run.ids()).toEqual(range(ROWS));
  });

  it('that repeat a page end with 4, and soon', async () => {
    // The second page that is asked for is what each later answer has.
    let second: Parameters<NonNullable<Scenario['instead']>>[0] | undefined;
    const run = createOrderRun(order, {
      ...still,
      instead: (asked, n) => {
        if (n === 1) second = asked;
        return n < 2 ? asked : (second ?? asked);
      },
    });
    const report = await run.sync();
    expect(report.exitCode).toBe(4);
    expect(report.streams[0]?.verdict).not.toBe('verified');
    const held = run.project.isPublished() ? await run.ids() : [];
    expect(held).toEqual([...new Set(held)]);
    expect(run.project.server.requests.length).toBeLessThan(120);
  });
});

describe.each(countedCases)('several pages in the order %s', (_, order) => {
  it.each([
    ['more', 50],
    ['fewer', -150],
  ])('that declare %s rows than there are never pass for the whole', async (__, by) => {
    const run = createOrderRun(order, { ...still, total: (count) => count + by });
    const { exitCode, streams } = await run.sync();
    expect(exitCode).toBe(4);
    expect(streams[0]?.verdict).not.toBe('verified');
    expect(run.project.server.requests.length).toBeLessThan(60);
  });

  it('that declare another total each time are drifted', async () => {
    const run = createOrderRun(order, { ...still, total: (count, n) => count + n });
    const { streams } = await run.sync();
    expect(streams[0]?.verdict).not.toBe('verified');
    expect(run.project.server.requests.length).toBeLessThan(60);
  });
});
