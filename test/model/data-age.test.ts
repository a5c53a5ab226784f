import { describe, expect, it } from 'vitest';
import { findUsualMs, judgeNewest } from '../../src/model/data-age.ts';

const HOUR_MS = 3_600_000;

describe('how long the newest data usually is the newest', () => {
  it.each([
    ['nothing else is known', ['2026-11-20'], 36],
    ['it comes daily', ['2026-11-20', '2026-11-19', '2026-11-18'], 36],
    ['there is none at weekends', ['2026-11-20', '2026-11-19', '2026-11-16', '2026-11-13'], 108],
    ['it comes weekly', ['2026-11-20', '2026-11-13', '2026-11-06'], 252],
    [
      'the only gap is long ago',
      [...Array(15).keys()].map((at) => `2026-11-${30 - at}`).concat('2020-01-01'),
      36,
    ],
    ['there is no date', [], 36],
  ])('is told by its dates where %s', (_, dates, hours) => {
    expect(findUsualMs(dates)).toBe(hours * HOUR_MS);
  });
});

describe('the newest data', () => {
  const since = '2026-11-20T06:00:00.000Z';
  it.each([
    ['2026-11-21T18:00:00.000Z', false],
    ['2026-11-21T18:00:00.001Z', true],
    [undefined, false],
    ['never', false],
  ])('that a scan of %s found again is stale: %s', (lookedAt, stale) => {
    expect(judgeNewest(['2026-11-19'], since, lookedAt)).toEqual({
      date: '2026-11-19',
      since,
      usualMs: 36 * HOUR_MS,
      stale,
    });
  });

  it('is none where no row has a date', () => {
    expect(judgeNewest([], since, since)).toBeUndefined();
  });
});
