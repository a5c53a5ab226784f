export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** A time before every other (ISO): that of something of which nobody knows when it was. */
export const LONG_AGO = new Date(0).toISOString();

/** ISO date of a time, in UTC. */
export function toDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The date this many days before an ISO date; a started day counts as a whole one. */
export function subtractDays(date: string, ms: number): string {
  return toDate(Date.parse(`${date}T00:00:00Z`) - Math.ceil(ms / DAY_MS) * DAY_MS);
}
