import { expect, it } from 'vitest';
import { rewritePagination } from '../../src/simulator/fault-effects.ts';
import { readStatus } from '../../src/commands/status.ts';
import { createItemsFlow, DAY_MS, HOUR_MS, makeItem, makeItems, streamOf } from '../support/sync-harness.ts';

const ITEMS = makeItems(600, { perDay: 20 });

it('is reported with its date and fails no strict run', async () => {
  const flow = createItemsFlow(ITEMS, { endpoint: { dateField: 'date' } });
  const { watermark } = streamOf(await flow.sync());
  expect(watermark).toBe('2026-01-30');

  await flow.clock.sleep(DAY_MS);
  const report = await flow.sync({ strict: true });
  expect(report).toMatchObject({ exitCode: 0, warnings: [] });
  expect(streamOf(report)).toMatchObject({ verdict: 'verified', watermark, rowsInTable: 600 });
  expect(streamOf(report).reasons).toContainEqual(
    expect.stringMatching(/no rows newer than 2026-01-30 since 2026-01-31/),
  );
});

it('is reported under syncs by the hour, from what came when, until newer data comes', async () => {
  const flow = createItemsFlow(ITEMS, { endpoint: { dateField: 'date' } });
  const sync = async () => {
    expect(await flow.sync({ force: true })).toMatchObject({ exitCode: 0, warnings: [] });
    const { streams } = await readStatus(flow.settings(), flow.clock.now());
    return streams.find(({ stream }) => stream === 'items')?.newest;
  };
  const first = await sync();
  const since = streamOf(await flow.sync({ force: true })).startedAt;
  expect(first).toMatchObject({ date: '2026-01-30', usualMs: 36 * HOUR_MS, stale: false });
  expect(Math.abs(Date.parse(first?.since ?? '') - Date.parse(since))).toBeLessThan(60_000);
  // Restated rows of other days, and a look by nobody, change nothing of it.
  await flow.clock.sleep(35 * HOUR_MS);
  expect(await sync()).toEqual(first);
  await flow.clock.sleep(2 * HOUR_MS);
  const { streams } = await readStatus(flow.settings(), flow.clock.now());
  expect(streams.find(({ stream }) => stream === 'items')?.newest).toEqual(first);
  expect(await sync()).toEqual({ ...first, stale: true });
  flow.simulator.editRecords('items', (records) => [...records, { ...makeItem(9_000), date: '2026-01-31' }]);
  expect(await sync()).toMatchObject({ date: '2026-01-31', stale: false });
});

it('is reported for an API that declares no total as well', async () => {
  const flow = createItemsFlow(ITEMS, {
    endpoint: { dateField: 'date' },
    stream: { key: ['id'] },
    simulator: { faults: [rewritePagination({ total: undefined })] },
  });
  expect(streamOf(await flow.sync()).verdict).toBe('unverified');
  await flow.clock.sleep(37 * HOUR_MS);
  await flow.sync();
  const { streams } = await readStatus(flow.settings(), flow.clock.now());
  expect(streams.find(({ stream }) => stream === 'items')).toMatchObject({
    verdict: 'unverified',
    verifiedAt: undefined,
    newest: { date: '2026-01-30', stale: true },
  });
});
