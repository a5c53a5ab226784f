import { HOUR_MS } from '../model/dates.ts';
import { formatDuration } from '../text/duration.ts';

/** How long requests take under a quota; what is undefined is not known. */
export interface PlanTime {
  readonly windows: number | undefined;
  readonly windowSeconds: number;
  readonly etaMs: number | undefined;
}

/** The end of a sentence about planned requests: ` in 3 hourly windows, about 2 h 5 min`. */
export function describePlanTime({ windows, windowSeconds, etaMs }: PlanTime): string {
  const windowMs = windowSeconds * 1_000;
  const inWindows = windows === undefined || windows <= 1 ? '' : ` in ${nameWindows(windows, windowMs)}`;
  return etaMs === undefined ? inWindows : `${inWindows}, about ${formatDuration(etaMs)}`;
}

function nameWindows(windows: number, windowMs: number): string {
  return windowMs === HOUR_MS
    ? `${windows} hourly windows`
    : `${windows} windows of ${formatDuration(windowMs)}`;
}
