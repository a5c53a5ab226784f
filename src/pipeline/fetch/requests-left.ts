import type { RunContext } from '../run-context.ts';

type Limits = Pick<RunContext, 'client' | 'options' | 'readQuota' | 'settings'>;

/**
 * How many more requests the run may send before it stops: of those it was given, or of the hour where it may not
 * wait for the next; Infinity where nothing stops it, or nothing is known of the hour yet.
 */
export function countRequestsLeft({ client, options, readQuota, settings }: Limits): number {
  const { maxRequests = Infinity, maxWaitMs } = options;
  const { remaining, limit } = readQuota?.() ?? {};
  const ofHour = maxWaitMs === 0 ? (remaining ?? limit ?? Infinity) - settings.quotaLimits.reserve : Infinity;
  return Math.min(maxRequests - client.usage.requests, ofHour);
}
