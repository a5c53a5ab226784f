export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** A time before every other (ISO): that of something of which nobody knows when it was. */
export const LONG_AGO = new Date(0).toISOString();

/** ISO date of a time, in UTC. */
export function toDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

// Earlier ones are no longer written with four digits, so an API would not read them.
const FIRST_DATE_MS = Date.parse('0001-01-01T00:00:00Z');

/** The date this many days before an ISO date, from the year 1 on; a started day counts as a whole one. */
export function subtractDays(date: string, ms: number): string {
  const atMs = Date.parse(`${date}T00:00:00Z`) - Math.ceil(ms / DAY_MS) * DAY_MS;
  return toDate(Math.max(FIRST_DATE_MS, atMs));
}
