import { configDefaults } from '../model/config.ts';
import { requestsPerWindow } from '../plan/estimate.ts';
import { ONE_VERSION_MS } from './page-span.ts';
import type { RunContext } from '../run/run-context.ts';

/** The limits on a run's requests. */
export interface Limits extends Pick<RunContext, 'options' | 'readQuota'> {
  readonly client: { readonly usage: { readonly requests: number } };
  readonly settings: Pick<RunContext['settings'], 'quotaLimits'>;
}

/**
 * How many more requests the run may send before it stops: of its own limit, or of the current window if it may not
 * wait; Infinity if there is no limit or the quota is not known yet.
 */
export function countRequestsLeft({ client, options, readQuota, settings }: Limits): number {
  const { maxRequests = Infinity, maxWaitMs } = options;
  const { remaining, limit } = readQuota?.() ?? {};
  const ofNow = maxWaitMs === 0 ? (remaining ?? limit ?? Infinity) - settings.quotaLimits.reserve : Infinity;
  return Math.min(maxRequests - client.usage.requests, ofNow);
}

/** How many requests the run may send before the quota makes it wait. */
export function countRequestsNow({ client, options, readQuota, settings }: Limits): number {
  const { maxRequests = Infinity } = options;
  const { quotaLimits } = settings;
  const { remaining, limit } = readQuota?.() ?? {};
  const ofWindow = (remaining ?? requestsPerWindow(quotaLimits, limit)) - quotaLimits.reserve;
  return Math.max(0, Math.min(maxRequests - client.usage.requests, ofWindow));
}

/** How many requests the run may send within one version of the source; those of the last window may come at its end. */
export function countReadable(limits: Limits): number {
  return countRequestsWithin(limits, Math.max(0, ONE_VERSION_MS - limits.settings.quotaLimits.windowMs));
}

/** How many requests the run may send within some time, if it waits for the quota as long as it may. */
function countRequestsWithin(limits: Limits, withinMs: number): number {
  const { client, options, readQuota, settings } = limits;
  const { maxRequests = Infinity, maxWaitMs = configDefaults.maxWaitMs, deadlineMs = Infinity } = options;
  const { quotaLimits } = settings;
  const perWindow = Math.max(1, requestsPerWindow(quotaLimits, readQuota?.().limit) - quotaLimits.reserve);
  const windows = Math.floor(Math.min(withinMs, maxWaitMs, deadlineMs) / quotaLimits.windowMs);
  return Math.min(maxRequests - client.usage.requests, countRequestsNow(limits) + windows * perWindow);
}
