/** The newest data of a stream. */
export interface NewestData {
  /** ISO date of its cursor. */
  readonly date: string;
  /** ISO time at which the first of its rows arrived. */
  readonly since: string;
  /** Newer data usually arrives within this time, ms. */
  readonly usualMs: number;
  /** Whether syncs have found no newer data for longer than that. */
  readonly stale: boolean;
}

/** How many dates are used to learn how often new ones arrive. */
export const RHYTHM_DATES = 15;
// Half a day more than the API's daily refresh, to allow for a late sync.
const LEAST_MS = 36 * 3_600_000;

/** One and a half times the longest of the last gaps between dates, newest first, and 36 h at least. */
export function findUsualMs(dates: readonly string[]): number {
  const days = dates.slice(0, RHYTHM_DATES).map((date) => Date.parse(`${date}T00:00:00Z`));
  const gaps = days.slice(1).map((day, at) => (days[at] ?? day) - day);
  return Math.max(LEAST_MS, ...gaps.map((gap) => gap * 1.5));
}

/**
 * Judges the newest data by the last scan that could have found newer data. If none could, because no sync
 * ran, the data is not to blame.
 */
export function judgeNewest(
  dates: readonly string[],
  since: string,
  lookedAt: string | undefined,
): NewestData | undefined {
  const [date] = dates;
  if (date === undefined) return undefined;
  const usualMs = findUsualMs(dates);
  const lookedMs = lookedAt === undefined ? Number.NaN : Date.parse(lookedAt);
  return { date, since, usualMs, stale: lookedMs - Date.parse(since) > usualMs };
}
