import { describe, expect, it } from 'vitest';
import { formatBytes } from '../../src/text/format-bytes.ts';
import { formatReturnTime, formatUpcoming } from '../../src/render/format-values.ts';
import { formatMoment } from '../../src/text/format-moment.ts';
import { NOW_MS } from '../cli/support/reports.ts';

it.each([
  [999, '999 bytes'],
  [4_200_000, '4.2 MB'],
  [123_400_000_000, '123 GB'],
])('%s bytes are %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

describe('times', () => {
  it('that passed have a date and seconds', () => {
    expect(formatMoment('2026-11-20T14:00:05.900Z')).toBe('2026-11-20 14:00:05 UTC');
    expect(formatMoment('never')).toBe('never');
  });

  it('to come are rounded up, so that nobody comes back before them', () => {
    expect(formatUpcoming(NOW_MS + 1_000, NOW_MS)).toBe('13:49 UTC');
    expect(formatUpcoming(NOW_MS + 720_000, NOW_MS)).toBe('14:00 UTC');
  });

  it('to come name the day unless it is today', () => {
    expect(formatUpcoming(NOW_MS + 86_400_000, NOW_MS)).toBe('2026-11-21 13:48 UTC');
  });

  it('to come back at are shown in local time too, where that differs', () => {
    const text = formatReturnTime(NOW_MS, NOW_MS);
    const isUtc = new Date(NOW_MS).getTimezoneOffset() === 0;
    expect(text).toMatch(isUtc ? /^13:48:00 UTC$/ : /^13:48:00 UTC \(\d\d:\d\d:00 local time\)$/);
  });
});
