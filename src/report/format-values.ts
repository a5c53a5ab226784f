import { formatDuration, isAhead } from '../text/duration.ts';

/** A count for an axis: `950`, `1.5k`, `20M`. */
export function formatShort(count: number): string {
  for (const [size, letter] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const) {
    if (count >= size) return `${Number((count / size).toPrecision(3))}${letter}`;
  }
  return String(Number(count.toPrecision(3)));
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** A day for an axis: `20 Nov`. Text that is not a date stays unchanged. */
export function formatDay(iso: string): string {
  const [, month, day] = /^\d{4}-(\d\d)-(\d\d)/.exec(iso) ?? [];
  return month === undefined ? iso : `${Number(day)} ${MONTHS[Number(month) - 1] ?? month}`;
}

/** A moment: `20 Nov 2026, 17:07`, in UTC. */
export function formatMoment(iso: string): string {
  return Number.isNaN(Date.parse(iso))
    ? iso
    : `${formatDay(iso)} ${iso.slice(0, 4)}, ${iso.slice(11, 16)} UTC`;
}

/** A moment in a table, where the year says itself: `20 Nov, 17:07`. */
export function formatShortMoment(iso: string): string {
  return Number.isNaN(Date.parse(iso)) ? iso : `${formatDay(iso)}, ${formatTime(iso)}`;
}

/** A moment for tables of numbers, which sort and copy well: `2026-11-20 17:07`. */
export function formatStamp(iso: string): string {
  return iso.slice(0, 16).replace('T', ' ');
}

/** The time of a moment: `17:07`. */
export function formatTime(iso: string): string {
  return iso.slice(11, 16);
}

/** How long before another a moment was: `3 h 20 min before`; `after`, where a clock was wrong. */
export function formatAge(iso: string, nowIso: string): string {
  const ms = Date.parse(nowIso) - Date.parse(iso);
  if (Number.isNaN(ms)) return '';
  return isAhead(ms) ? `${formatDuration(-ms)} after` : `${formatDuration(ms)} before`;
}

/** A share for people: `0%`, `<0.1%`, `12.3%`, `100%` only where it is all of it. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0 || part === 0) return '0%';
  if (part === whole) return '100%';
  const percent = (part / whole) * 100;
  if (percent < 0.1) return '<0.1%';
  if (percent > 99.9) return '>99.9%';
  return `${percent < 10 ? percent.toFixed(1) : Math.min(99, Math.round(percent))}%`;
}
