const DAY_MS = 86_400_000;
const ISO_DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Whether the text is a day of the calendar in the form YYYY-MM-DD (2026-02-30 is not). */
export function isIsoDay(text: string): boolean {
  if (!ISO_DAY.test(text)) return false;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

/** Throws for an invalid day, so that a typo in a test shows at once. */
export function assertIsoDay(text: string): void {
  if (!isIsoDay(text)) throw new RangeError(`not a day in the form YYYY-MM-DD: ${JSON.stringify(text)}`);
}

/** Days since 1970-01-01. */
export function readDayNumber(day: string): number {
  return Date.parse(`${day}T00:00:00Z`) / DAY_MS;
}

/** The day that is `days` later; negative goes back. */
export function addDays(day: string, days: number): string {
  return new Date((readDayNumber(day) + days) * DAY_MS).toISOString().slice(0, 10);
}

/** Every day from `first` to `last`, oldest first; none when `last` is earlier. */
export function listDays(first: string, last: string): readonly string[] {
  const count = Math.max(0, readDayNumber(last) - readDayNumber(first) + 1);
  return Array.from({ length: count }, (_, index) => addDays(first, index));
}
