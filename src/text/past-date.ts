/** What keeps a text from being a date that data may be read from; undefined if nothing does. */
export function findDateProblem(text: string, nowMs: number): string | undefined {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // Date.parse rejects 31 April in some engines and rolls it over in others.
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== text)
    return 'must be a calendar date YYYY-MM-DD';
  // A day of grace: it may already be tomorrow where the data is made.
  return ms > nowMs + 86_400_000 ? 'must not be in the future' : undefined;
}
