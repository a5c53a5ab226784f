const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
/** The format of a duration; the editors' schema has the same pattern. */
export const DURATION_TEXT = /^\s*(?:0|(\d+(?:\.\d{1,3})?)(ms|s|m|h|d|w))\s*$/;
/** A century. A date that is much further away cannot be written with a year of four digits. */
const LONGEST_DAYS = 36_500;
/** Message for a longer duration. */
export const longestMessage = `must be at most ${LONGEST_DAYS}d`;

/** Whether a duration is longer than any that is accepted. */
export function isTooLong(ms: number): boolean {
  return ms > LONGEST_DAYS * UNIT_MS.d;
}

/** Milliseconds of `30m`, `6h`, `3d` or plain `0`, however long; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION_TEXT.exec(text);
  if (match === null) return undefined;
  const [, amount, unit] = match;
  return amount === undefined ? 0 : Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS];
}

/** A duration for people: `45 s`, `12 min`, `3 h 20 min`, `2 d 4 h`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60)
    return seconds % 60 === 0 || minutes >= 10 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  const days = Math.floor(hours / 24);
  return hours % 24 === 0 ? `${days} d` : `${days} d ${hours % 24} h`;
}

/** How long ago a moment was: `48 min ago`. One to come was written by a wrong clock: `2 d ahead of the clock`. */
export function describeAge(ageMs: number): string {
  return isAhead(ageMs) ? `${formatDuration(-ageMs)} ahead of the clock` : `${formatDuration(ageMs)} ago`;
}

/** Whether a moment of that age is still to come, by more than the clocks of two machines differ. */
export function isAhead(ageMs: number): boolean {
  return ageMs <= -UNIT_MS.m;
}

/** The time that a quota lasts, after a number of requests: `an hour`, `in 15 min`. */
export function describeWindow(windowMs: number): string {
  return windowMs === UNIT_MS.h ? 'an hour' : `in ${formatDuration(windowMs)}`;
}
