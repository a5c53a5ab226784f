import { describe, expect, it } from 'vitest';
import { formatAge } from '../../src/report/format-values.ts';
import { describeAge } from '../../src/text/duration.ts';

const MINUTE_MS = 60_000;

describe('describeAge', () => {
  it.each([
    [48 * MINUTE_MS, '48 min ago'],
    [0, '0 s ago'],
    // Clocks of two machines are never quite the same.
    [-MINUTE_MS / 2, '0 s ago'],
    [-48 * MINUTE_MS, '48 min ahead of the clock'],
    [-50 * 60 * MINUTE_MS, '2 d 2 h ahead of the clock'],
  ])('calls %i ms %s', (ageMs, text) => {
    expect(describeAge(ageMs)).toBe(text);
  });
});

describe('formatAge', () => {
  it.each([
    ['2026-11-20T11:00:00Z', '1 h before'],
    ['2026-11-20T12:00:30Z', '0 s before'],
    ['2026-11-22T12:00:00Z', '2 d after'],
    ['never', ''],
  ])('calls %s %s', (iso, text) => {
    expect(formatAge(iso, '2026-11-20T12:00:00Z')).toBe(text);
  });
});
