import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextTime, planNext } from '../../../src/fleet/worker/plan-next.ts';
import { parseCron } from '../../../src/schedule/cron-schedule.ts';

const NOW_MS = Date.UTC(2026, 10, 25, 6, 0);
const MINUTE = 60_000;
const daily = parseCron('15 6 * * *', 'UTC', NOW_MS);
const fails = { exitCode: 6, resumeInMs: undefined, status: 'ended' } as const;

describe('the next time of an account', () => {
  it('is spread evenly over the jitter, and stays the same', () => {
    const jitterMs = 30 * MINUTE;
    const begins = Date.UTC(2026, 10, 25, 6, 15);
    const names = Array.from({ length: 3_000 }, (_, at) => `client-${at}`);
    const offsets = names.map((name) => (nextTime({ cron: daily, jitterMs }, name, NOW_MS) ?? 0) - begins);
    expect(Math.min(...offsets)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...offsets)).toBeLessThan(jitterMs);
    const tenths = Map.groupBy(offsets, (ms) => Math.floor((ms / jitterMs) * 10));
    for (let tenth = 0; tenth < 10; tenth += 1)
      expect(Math.abs((tenths.get(tenth)?.length ?? 0) - 300)).toBeLessThan(75);
    expect(offsets[7]).toBe((nextTime({ cron: daily, jitterMs }, 'client-7', NOW_MS) ?? 0) - begins);
  });

  it('is later than the time it follows, once a period, with any jitter', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 20 }),
        fc.integer({ min: 0, max: 23 * 60 }),
        fc.integer({ min: 0, max: 3 * 24 * 60 }),
        (account, jitterMinutes, minutes) => {
          const schedule = { cron: daily, jitterMs: jitterMinutes * MINUTE };
          const afterMs = NOW_MS + minutes * MINUTE;
          const first = nextTime(schedule, account, afterMs) ?? 0;
          const second = nextTime(schedule, account, first) ?? 0;
          expect(first).toBeGreaterThan(afterMs);
          expect(first - afterMs).toBeLessThanOrEqual(24 * 60 * MINUTE);
          expect(second - first).toBe(24 * 60 * MINUTE);
        },
      ),
    );
  });

  it('is never without a schedule', () => {
    expect(nextTime({ cron: undefined, jitterMs: 0 }, 'acme', NOW_MS)).toBeUndefined();
  });
});

describe('what follows a run', () => {
  const atMs = NOW_MS + 60 * MINUTE;
  const plan = (end: Partial<Parameters<typeof planNext>[0]>, failures = 0, at: number | undefined = atMs) =>
    planNext(
      { exitCode: 0, resumeInMs: undefined, status: 'ended', ...end },
      { failures, nowMs: NOW_MS },
      at,
    );

  it('is the next time of the schedule where nothing else helps', () => {
    for (const exitCode of [0, 1, 2, 3, 4])
      expect(plan({ exitCode }, 3)).toEqual({ delayMs: 60 * MINUTE, failures: 0 });
    expect(planNext({ ...fails, exitCode: 0 }, { failures: 0, nowMs: NOW_MS }, undefined)).toEqual({
      delayMs: undefined,
      failures: 0,
    });
  });

  it('is the time at which the quota returns, a second later at least', () => {
    expect(plan({ exitCode: 75, resumeInMs: 90_000 }, 4)).toEqual({ delayMs: 90_000, failures: 0 });
    expect(plan({ exitCode: 5, resumeInMs: -5 })).toEqual({ delayMs: 1_000, failures: 0 });
    expect(plan({ exitCode: 5 })).toEqual({ delayMs: 60 * MINUTE, failures: 0 });
  });

  it('is at once after a worker was stopped, and forgets no failure', () => {
    expect(plan({ exitCode: 143 }, 2)).toEqual({ delayMs: 0, failures: 2 });
    expect(plan({ exitCode: 130 }, 0)).toEqual({ delayMs: 0, failures: 0 });
  });

  it('is a try after a pause that doubles, up to 15 minutes and the schedule', () => {
    const late = NOW_MS + 24 * 60 * MINUTE;
    const delays = Array.from({ length: 8 }, (_, failures) => plan({ exitCode: 6 }, failures, late).delayMs);
    expect(delays).toEqual([15_000, 30_000, 60_000, 120_000, 240_000, 480_000, 900_000, 900_000]);
    expect(plan({ exitCode: 6 }, 6, NOW_MS + 20_000).delayMs).toBe(20_000);
    expect(plan({ exitCode: 75 }, 0)).toEqual({ delayMs: 15_000, failures: 1 });
    expect(plan({ exitCode: 1, status: 'failed' }, 1)).toEqual({ delayMs: 30_000, failures: 2 });
  });

  it('is never more than 15 minutes away after a failure that may pass, however many there were', () => {
    fc.assert(
      fc.property(fc.nat(10_000), (failures) => {
        const next = planNext(fails, { failures, nowMs: NOW_MS }, undefined);
        expect(next.failures).toBe(failures + 1);
        expect(next.delayMs).toBeLessThanOrEqual(15 * MINUTE);
      }),
    );
  });
});
