import { expect, it } from 'vitest';
import { createItemsFlow, DAY_MS, makeItems, streamOf } from '../support/sync-harness.ts';

const ITEMS = makeItems(600, { perDay: 20 });

it('is told with its date and fails no strict run', async () => {
  const flow = createItemsFlow(ITEMS, { endpoint: { dateField: 'date' } });
  const { watermark } = streamOf(await flow.sync());
  expect(watermark).toBe('2026-01-30');

  await flow.clock.sleep(DAY_MS);
  const report = await flow.sync({ strict: true });
  expect(report).toMatchObject({ exitCode: 0, warnings: [] });
  expect(streamOf(report)).toMatchObject({ verdict: 'verified', watermark, rowsInTable: 600 });
  expect(streamOf(report).reasons).toContainEqual(
    expect.stringMatching(/no rows newer than 2026-01-30 came since 2026-01-31/),
  );
});
