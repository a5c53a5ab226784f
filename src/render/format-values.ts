import type { RunReport } from '../model/run-report.ts';
import { formatBytes } from '../text/format-bytes.ts';
import { toSafeLine } from './safe-text.ts';

/**
 * A moment in the future, to the minute: `14:00 UTC`, with the date unless it is today. Rounded up, so that
 * nobody returns too early.
 */
export function formatUpcoming(ms: number, nowMs: number): string {
  const iso = new Date(Math.ceil(ms / 60_000) * 60_000).toISOString();
  const today = new Date(nowMs).toISOString().slice(0, 10);
  const time = `${iso.slice(11, 16)} UTC`;
  return iso.startsWith(today) ? time : `${iso.slice(0, 10)} ${time}`;
}

/** A future moment in UTC and, if that differs, on the machine's own clock, both to the minute. */
export function formatForecast(ms: number, nowMs: number): string {
  return withLocalTime(formatUpcoming(ms, nowMs), Math.ceil(ms / 60_000) * 60_000, 2);
}

/** The same to the second, for messages that name other times to the second. */
export function formatReturnTime(ms: number, nowMs: number): string {
  const wholeMs = Math.ceil(ms / 1_000) * 1_000;
  const iso = new Date(wholeMs).toISOString();
  const today = new Date(nowMs).toISOString().slice(0, 10);
  const time = `${iso.slice(11, 19)} UTC`;
  return withLocalTime(iso.startsWith(today) ? time : `${iso.slice(0, 10)} ${time}`, wholeMs, 3);
}

function withLocalTime(utc: string, ms: number, parts: 2 | 3): string {
  const local = new Date(ms);
  if (local.getTimezoneOffset() === 0) return utc;
  const time = [local.getHours(), local.getMinutes(), local.getSeconds()]
    .slice(0, parts)
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
  return `${utc} (${time} local time)`;
}

/** A summary as a sentence begins. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Where a command published what it changed, after its summary; empty if it published nothing. */
export function describePlace(published: RunReport['published']): string {
  if (published === undefined) return '';
  return ` Published: ${toSafeLine(published.path)} (${formatBytes(published.bytes)}).`;
}
