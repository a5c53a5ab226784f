/** The newest data of a stream, which syncs find again until newer comes. */
export interface NewestData {
  /** ISO date of its cursor. */
  readonly date: string;
  /** ISO time at which the first of its rows came. */
  readonly since: string;
  /** Longer than this it is not the newest as a rule, ms. */
  readonly usualMs: number;
  /** Whether a sync that looked for newer data found none for longer than that. */
  readonly stale: boolean;
}

/** Dates that tell how often new ones come. */
export const RHYTHM_DATES = 15;
// Half a day more than the API's daily refresh, as a sync that is late has it.
const LEAST_MS = 36 * 3_600_000;

/** One and a half times the longest of the last gaps between dates, newest first, and 36 h at least. */
export function findUsualMs(dates: readonly string[]): number {
  const days = dates.slice(0, RHYTHM_DATES).map((date) => Date.parse(`${date}T00:00:00Z`));
  const gaps = days.slice(1).map((day, at) => (days[at] ?? day) - day);
  return Math.max(LEAST_MS, ...gaps.map((gap) => gap * 1.5));
}

/**
 * Judges the newest data by the last scan that could have found newer. Where none did, as no sync ran, that is no
 * matter of the data.
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
