import type { PlannedStream } from '../model/plan-report.ts';
import { DAY_MS } from '../model/dates.ts';
import type { QuotaLimits, QuotaSnapshot } from '../model/quota.ts';

/** Requests for a paginated scan of this many rows: pages overlap by one row, and the head is read twice. */
export function countRequests(
  rows: number,
  pageSize: number,
): { readonly pages: number; readonly requests: number } {
  if (rows <= pageSize) return { pages: 1, requests: 1 };
  const pages = 1 + Math.ceil((rows - pageSize) / (pageSize - 1));
  return { pages, requests: pages + 1 };
}

/** Sources of the quota: the config and the API's responses. */
export interface DailyQuota {
  readonly settings: { readonly quotaLimits: QuotaLimits };
  readonly source?: { seenQuota(): QuotaSnapshot } | undefined;
}

/** Requests between two daily refreshes. A scan of more pages cannot finish before the data changes. */
export function requestsPerDay({ settings, source }: DailyQuota): number {
  const { quotaLimits } = settings;
  const perWindow = Math.max(
    1,
    requestsPerWindow(quotaLimits, source?.seenQuota().limit) - quotaLimits.reserve,
  );
  return Math.floor((DAY_MS / quotaLimits.windowMs) * perWindow);
}

/** Requests a window allows: the server's own limit, or an assumption until it is known, below a ceiling. */
export function requestsPerWindow(limits: QuotaLimits, told: number | undefined): number {
  const { ceilingPerWindow = Infinity, defaultPerWindow } = limits;
  return Math.min(ceilingPerWindow, told ?? defaultPerWindow);
}

export interface EstimateInput extends QuotaLimits {
  readonly requests: number;
  /** What is known of the current window. */
  readonly quota: QuotaSnapshot | undefined;
  readonly nowMs: number;
}

/** Windows of the quota that this many requests touch, and the least time they take, ms. */
export function estimateDuration(input: EstimateInput): { readonly windows: number; readonly etaMs: number } {
  const { requests, windowMs, burstPerSecond, reserve, quota, nowMs } = input;
  if (requests === 0) return { windows: 0, etaMs: 0 };
  const most = requestsPerWindow(input, quota?.limit);
  const perWindow = Math.max(1, most - reserve);
  const current = quota?.resetAtMs !== undefined && quota.resetAtMs > nowMs ? quota : undefined;
  const now = Math.max(0, spareOf(current, most) - reserve);
  if (requests <= now) return { windows: 1, etaMs: pace(requests, burstPerSecond) };
  const later = requests - now;
  const fullWindows = Math.ceil(later / perWindow) - 1;
  const untilReset = current?.resetAtMs === undefined ? windowMs : current.resetAtMs - nowMs;
  const last = later - fullWindows * perWindow;
  return {
    windows: (now > 0 ? 1 : 0) + fullWindows + 1,
    etaMs: untilReset + fullWindows * windowMs + pace(last, burstPerSecond),
  };
}

// A ceiling applies to everything used in the window, as in the budget.
function spareOf(window: QuotaSnapshot | undefined, most: number): number {
  const { limit = most, remaining } = window ?? {};
  return remaining === undefined ? most : Math.min(remaining, most - (limit - remaining));
}

function pace(requests: number, burstPerSecond: number): number {
  return Math.round((requests / burstPerSecond) * 1_000);
}

/** A sum over streams; undefined when any of them is unknown. */
export function totalOf(
  streams: readonly PlannedStream[],
  what: 'rows' | 'pages' | 'requests',
): number | undefined {
  return streams.reduce<number | undefined>((sum, stream) => {
    const value = stream[what];
    return sum === undefined || value === undefined ? undefined : sum + value;
  }, 0);
}
