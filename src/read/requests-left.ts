import { configDefaults } from '../model/config.ts';
import { requestsPerHour } from '../plan/estimate.ts';
import { ONE_VERSION_MS } from './page-span.ts';
import type { RunContext } from '../run/run-context.ts';

/** The limits on a run's requests. */
export interface Limits extends Pick<RunContext, 'options' | 'readQuota'> {
  readonly client: { readonly usage: { readonly requests: number } };
  readonly settings: Pick<RunContext['settings'], 'quotaLimits'>;
}

const HOUR_MS = 3_600_000;

/**
 * How many more requests the run may send before it stops: of its own limit, or of the current hour if it may not
 * wait; Infinity if there is no limit or the hourly quota is not known yet.
 */
export function countRequestsLeft({ client, options, readQuota, settings }: Limits): number {
  const { maxRequests = Infinity, maxWaitMs } = options;
  const { remaining, limit } = readQuota?.() ?? {};
  const ofHour = maxWaitMs === 0 ? (remaining ?? limit ?? Infinity) - settings.quotaLimits.reserve : Infinity;
  return Math.min(maxRequests - client.usage.requests, ofHour);
}

/** How many requests the run may send before the quota makes it wait. */
export function countRequestsNow({ client, options, readQuota, settings }: Limits): number {
  const { maxRequests = Infinity } = options;
  const { quotaLimits } = settings;
  const { remaining, limit } = readQuota?.() ?? {};
  const ofWindow = (remaining ?? requestsPerHour(quotaLimits, limit)) - quotaLimits.reserve;
  return Math.max(0, Math.min(maxRequests - client.usage.requests, ofWindow));
}

/** How many requests the run may send within one version of the source; those of the last hour may come at its end. */
export function countReadable(limits: Limits): number {
  return countRequestsWithin(limits, ONE_VERSION_MS - HOUR_MS);
}

/** How many requests the run may send within some time, if it waits for the quota as long as it may. */
function countRequestsWithin(limits: Limits, withinMs: number): number {
  const { client, options, readQuota, settings } = limits;
  const { maxRequests = Infinity, maxWaitMs = configDefaults.maxWaitMs, deadlineMs = Infinity } = options;
  const { quotaLimits } = settings;
  const perHour = Math.max(1, requestsPerHour(quotaLimits, readQuota?.().limit) - quotaLimits.reserve);
  const windows = Math.floor(Math.min(withinMs, maxWaitMs, deadlineMs) / HOUR_MS);
  return Math.min(maxRequests - client.usage.requests, countRequestsNow(limits) + windows * perHour);
}
