import { expect, it } from 'vitest';
import { listMovedClocks } from './clocks.ts';

it('the clocks that tests run under begin shortly before what happens to the date', () => {
  const nowMs = Date.UTC(2026, 10, 22, 8);
  const times = listMovedClocks(nowMs).map(({ name, aheadS }) => [
    name,
    new Date(nowMs + aheadS * 1000).toISOString(),
  ]);
  expect(times).toEqual([
    ['the end of a 29 February', '2028-02-29T23:59:30.000Z'],
    ['the end of a year', '2026-12-31T23:59:30.000Z'],
    ['the change to summer time', '2027-03-28T00:59:30.000Z'],
    ['467 days from now', '2028-03-03T08:00:00.000Z'],
  ]);
});
