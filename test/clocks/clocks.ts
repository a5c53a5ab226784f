const DAY_S = 86_400;

/** A time that tests run at, and the zone of the machine. */
export interface MovedClock {
  readonly name: string;
  /** Seconds that the clock is ahead. */
  readonly aheadS: number;
  readonly timeZone: string;
}

/** Clocks that break what depends on today: each begins shortly before something happens to the date. */
export function listMovedClocks(nowMs: number): readonly MovedClock[] {
  const until = (ms: number) => Math.round((ms - nowMs) / 1000);
  const year = new Date(nowMs).getUTCFullYear();
  const next = (ofYear: (year: number) => number | undefined): number => {
    for (let at = year; ; at += 1) {
      const ms = ofYear(at);
      if (ms !== undefined && ms > nowMs) return until(ms);
    }
  };
  return [
    { name: 'the end of a 29 February', aheadS: next(findLeapDayEnd), timeZone: 'America/St_Johns' },
    { name: 'the end of a year', aheadS: next(findYearEnd), timeZone: 'Pacific/Kiritimati' },
    { name: 'the change to summer time', aheadS: next(findSummerTime), timeZone: 'Europe/Berlin' },
    { name: '467 days from now', aheadS: 467 * DAY_S, timeZone: 'Asia/Kolkata' },
  ];
}

// Half a minute before: the date changes while tests run.
const BEFORE_MS = 30_000;

function findLeapDayEnd(year: number): number | undefined {
  const isLeap = new Date(Date.UTC(year, 1, 29)).getUTCMonth() === 1;
  return isLeap ? Date.UTC(year, 2, 1) - BEFORE_MS : undefined;
}

function findYearEnd(year: number): number {
  return Date.UTC(year + 1, 0, 1) - BEFORE_MS;
}

/** One in the morning, UTC, of the last Sunday in March: when clocks in the European Union change. */
function findSummerTime(year: number): number {
  const last = new Date(Date.UTC(year, 2, 31, 1));
  return last.getTime() - last.getUTCDay() * DAY_S * 1000 - BEFORE_MS;
}
