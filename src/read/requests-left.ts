import { configDefaults } from '../model/config.ts';
import { requestsPerWindow } from '../plan/estimate.ts';
import { ONE_VERSION_MS } from './page-span.ts';
import type { Source } from '../model/source.ts';
import type { RunContext } from '../run/run-context.ts';

/** What limits requests to a source; its quota is what this process last saw. */
export interface LimitedSource extends Pick<Source, 'seenQuota'> {
  readonly client: { readonly usage: { readonly requests: number } };
}

/** The limits on a run's requests. */
export interface Limits extends Pick<RunContext, 'options'> {
  /** Undefined before a run begins: nothing is spent, and the quota is not known. */
  readonly source: LimitedSource | undefined;
  readonly settings: Pick<RunContext['settings'], 'quotaLimits'>;
}

/**
 * How many more requests the run may send before it stops: of its own limit, or of the current window if it may not
 * wait; Infinity if there is no limit or the quota is not known yet.
 */
export function countRequestsLeft({ source, options, settings }: Limits): number {
  const { maxRequests = Infinity, maxWaitMs } = options;
  const { remaining, limit } = source?.seenQuota() ?? {};
  const ofNow = maxWaitMs === 0 ? (remaining ?? limit ?? Infinity) - settings.quotaLimits.reserve : Infinity;
  return Math.min(maxRequests - spentOf(source), ofNow);
}

/** How many requests the run may send before the quota makes it wait. */
export function countRequestsNow({ source, options, settings }: Limits): number {
  const { maxRequests = Infinity } = options;
  const { quotaLimits } = settings;
  const { remaining, limit } = source?.seenQuota() ?? {};
  const ofWindow = (remaining ?? requestsPerWindow(quotaLimits, limit)) - quotaLimits.reserve;
  return Math.max(0, Math.min(maxRequests - spentOf(source), ofWindow));
}

/** How many requests the run may send within one version of the source; those of the last window may come at its end. */
export function countReadable(limits: Limits): number {
  return countRequestsWithin(limits, Math.max(0, ONE_VERSION_MS - limits.settings.quotaLimits.windowMs));
}

/** How many requests the run may send within some time, if it waits for the quota as long as it may. */
function countRequestsWithin(limits: Limits, withinMs: number): number {
  const { source, options, settings } = limits;
  const { maxRequests = Infinity, maxWaitMs = configDefaults.maxWaitMs, deadlineMs = Infinity } = options;
  const { quotaLimits } = settings;
  const perWindow = Math.max(
    1,
    requestsPerWindow(quotaLimits, source?.seenQuota().limit) - quotaLimits.reserve,
  );
  const windows = Math.floor(Math.min(withinMs, maxWaitMs, deadlineMs) / quotaLimits.windowMs);
  return Math.min(maxRequests - spentOf(source), countRequestsNow(limits) + windows * perWindow);
}

function spentOf(source: LimitedSource | undefined): number {
  return source?.client.usage.requests ?? 0;
}
