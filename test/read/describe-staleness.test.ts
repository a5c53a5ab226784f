import { describe, expect, it } from 'vitest';
import { describeStaleness } from '../../src/read/describe-staleness.ts';
import { DAY_MS, HOUR_MS, makeCheckpoint, NOW_MS } from '../support/fixtures.ts';

const scan = { startedAtMs: NOW_MS, serverDateMs: NOW_MS };
const checkpoint = makeCheckpoint({
  watermark: '2026-01-30',
  lastVerifiedAt: new Date(NOW_MS - DAY_MS).toISOString(),
});

const dated = (newestCursor: string | undefined) => ({ newestCursor, cursorColumn: 'date', dateless: 0 });

describe('describeStaleness', () => {
  it('speaks when a day went by and the newest row is what it was', () => {
    expect(describeStaleness(scan, dated('2026-01-30'), checkpoint)).toBe(
      'no rows newer than 2026-01-30 since 2026-01-30: the source may not have been refreshed',
    );
  });

  it('does not doubt the source where rows without a date came', () => {
    expect(describeStaleness(scan, { ...dated('2026-01-30'), dateless: 3 }, checkpoint)).toBe(
      'no rows newer than 2026-01-30 since 2026-01-30, and 3 without a date in date',
    );
  });

  it.each([
    ['newer rows came', '2026-01-31', checkpoint],
    ['no rows came', undefined, checkpoint],
    ['nothing was synced before', '2026-01-30', undefined],
    ['no scan was verified before', '2026-01-30', makeCheckpoint({ lastVerifiedAt: undefined })],
    [
      'the last scan was hours ago',
      '2026-01-30',
      makeCheckpoint({ lastVerifiedAt: new Date(NOW_MS - 19 * HOUR_MS).toISOString() }),
    ],
    ['the rows reach to today', '2026-01-31', { ...checkpoint, watermark: '2026-01-31' }],
  ])('is silent when %s', (_, newestCursor, before) => {
    expect(describeStaleness(scan, dated(newestCursor), before)).toBeUndefined();
  });
});
