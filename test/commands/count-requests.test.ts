import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spreadOverHours } from '../../src/commands/report/count-requests.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 10, 20, 17, 7);
const thisHour = Math.floor(NOW_MS / HOUR_MS) * HOUR_MS;

describe('requests by the hour', () => {
  it('are a day of empty hours when there were none', () => {
    const hours = spreadOverHours([], NOW_MS);
    expect(hours).toHaveLength(24);
    expect(hours.at(-1)).toEqual({ hour: '2026-11-20T17:00:00.000Z', requests: 0 });
  });

  it('go to the hour they were sent in, evenly where it was several', () => {
    const hours = spreadOverHours(
      [
        { fromMs: thisHour, toMs: thisHour, requests: 3 },
        { fromMs: thisHour - 1.5 * HOUR_MS, toMs: thisHour, requests: 300 },
      ],
      NOW_MS,
    );
    expect(hours.slice(-3).map(({ requests }) => requests)).toEqual([100, 200, 3]);
  });

  it('reach back a week, and no request of the week is lost or counted twice', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            ago: fc.integer({ min: 0, max: 150 }),
            length: fc.integer({ min: 0, max: 10 * HOUR_MS }),
            requests: fc.integer({ min: 0, max: 1_000 }),
          }),
          { maxLength: 8 },
        ),
        (spans) => {
          const hours = spreadOverHours(
            spans.map(({ ago, length, requests }) => {
              const fromMs = thisHour - ago * HOUR_MS;
              return { fromMs, toMs: Math.min(fromMs + length, NOW_MS), requests };
            }),
            NOW_MS,
          );
          const sum = hours.reduce((all, { requests }) => all + requests, 0);
          const sent = spans.reduce((all, { requests }) => all + requests, 0);
          // Each hour is rounded by itself.
          expect(Math.abs(sum - sent)).toBeLessThanOrEqual(hours.length / 2);
          expect(hours.length).toBeLessThanOrEqual(168);
        },
      ),
    );
    expect(spreadOverHours([{ fromMs: NOW_MS - 1e9, toMs: NOW_MS, requests: 1e6 }], NOW_MS)).toHaveLength(
      168,
    );
  });
});
