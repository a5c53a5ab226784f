import { expect, it } from 'vitest';
import { parseDuration } from '../../src/text/duration.ts';
import { DAY_MS, subtractDays } from '../../src/model/dates.ts';

it.each([
  { date: '2026-03-01', ms: DAY_MS, before: '2026-02-28' },
  { date: '2026-03-01', ms: 1, before: '2026-02-28' },
  { date: '2026-03-01', ms: parseDuration('36500d') ?? 0, before: '1926-03-26' },
  { date: '0050-01-01', ms: parseDuration('36500d') ?? 0, before: '0001-01-01' },
  { date: '0001-01-02', ms: 3 * DAY_MS, before: '0001-01-01' },
])('$before is $ms ms before $date', ({ date, ms, before }) => {
  expect(subtractDays(date, ms)).toBe(before);
});
