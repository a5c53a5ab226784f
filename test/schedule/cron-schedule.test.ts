import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCron } from '../../src/schedule/cron-schedule.ts';
import { countRuns } from '../support/seeds.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');

function listTimes(expression: string, timezone: string, after: string, count: number): readonly string[] {
  const schedule = parseCron(expression, timezone, NOW_MS);
  const times: string[] = [];
  let atMs: number | undefined = Date.parse(after);
  while (times.length < count) {
    atMs = schedule.next(atMs);
    if (atMs === undefined) break;
    times.push(new Date(atMs).toISOString().slice(0, 16));
  }
  return times;
}

describe('a cron expression', () => {
  it('is read in its time zone', () => {
    expect(listTimes('0 6 * * *', 'Europe/Berlin', '2026-03-27T12:00:00Z', 3)).toEqual([
      '2026-03-28T05:00',
      '2026-03-29T04:00',
      '2026-03-30T04:00',
    ]);
  });

  it('runs a fixed time that the clock jumps over at the first one there is', () => {
    expect(listTimes('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00',
      '2026-03-30T00:30',
    ]);
  });

  it('runs a fixed time that comes twice once, and an hourly one both times', () => {
    expect(listTimes('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ]);
    expect(listTimes('30 * * * *', 'Europe/Berlin', '2026-10-24T23:45:00Z', 3)).toEqual([
      '2026-10-25T00:30',
      '2026-10-25T01:30',
      '2026-10-25T02:30',
    ]);
  });

  it.each([
    ['@daily', '2026-05-02T00:00'],
    ['@Hourly', '2026-05-01T13:00'],
    ['0 6 * * MON-FRI', '2026-05-04T06:00'],
    [' */20   * * * * ', '2026-05-01T12:20'],
  ])('may be %s', (expression, first) => {
    expect(listTimes(expression, 'UTC', '2026-05-01T12:00:00Z', 1)).toEqual([first]);
  });

  it.each(['', '0', '0 6 * *', '0 0 6 * * *', '61 * * * *', '0 24 * * *', '@reboot', '2026-12-01T00:00:00'])(
    'is not %j',
    (expression) => {
      expect(() => parseCron(expression, 'UTC', NOW_MS)).toThrow(
        expect.objectContaining({
          exitCode: 2,
          hint: expect.stringContaining("--cron '0 6 * * *'") as string,
        }),
      );
    },
  );

  it('is refused where it never comes', () => {
    expect(() => parseCron('0 0 31 2 *', 'UTC', NOW_MS)).toThrow(/never matches any date/);
  });

  it.each(['Berlin', 'Mars/Olympus', '+25:00'])('is in no time zone %s', (timezone) => {
    expect(() => parseCron('@daily', timezone, NOW_MS)).toThrow(
      expect.objectContaining({ exitCode: 2, hint: expect.stringContaining('Europe/Berlin') as string }),
    );
  });

  it("is in the machine's own without one", () => {
    const { timezone } = new Intl.DateTimeFormat('en').resolvedOptions() as unknown as { timezone?: string };
    const own = timezone ?? new Intl.DateTimeFormat('en').resolvedOptions().timeZone;
    expect(parseCron('@daily', undefined, NOW_MS).timezone).toBe(own);
  });

  it('always lies ahead, and skips none of its times', () => {
    const schedules = ['* * * * *', '15 * * * *', '30 2 * * *', '0 6 * * 1'].map((expression) =>
      parseCron(expression, 'Europe/Berlin', NOW_MS),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...schedules),
        fc.integer({ min: NOW_MS, max: NOW_MS + 400 * 86_400_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (schedule, fromMs, share) => {
          const nextMs = schedule.next(fromMs) ?? Number.NaN;
          expect(nextMs).toBeGreaterThan(fromMs);
          // From anywhere before it, the next time is the same.
          const between = Math.floor(fromMs + (nextMs - 1 - fromMs) * share);
          expect(schedule.next(between)).toBe(nextMs);
        },
      ),
      { numRuns: countRuns(200) },
    );
  });
});
