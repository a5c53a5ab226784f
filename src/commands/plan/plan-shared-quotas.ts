import type { PlannedAccount, SharedQuotaPlan } from '../../model/plan-report.ts';
import { estimateDuration } from '../../plan/estimate.ts';

/** What accounts with one key take together: each plan alone counts with the whole quota. */
export function planSharedQuotas(planned: readonly PlannedAccount[]): readonly SharedQuotaPlan[] {
  const byKey = Map.groupBy(planned, ({ from }) => from.key);
  return [...byKey.values()].flatMap((alike) => {
    // The last one saw what the plans of the others had spent.
    const newest = alike.at(-1)?.from;
    if (newest === undefined || alike.length === 1) return [];
    const { limits, quota, nowMs } = newest;
    const requests = alike.reduce((sum, one) => sum + (one.requests ?? 0), 0);
    return [
      {
        accounts: alike.map(({ account }) => account),
        requests,
        isWhole: alike.every((one) => one.requests !== undefined),
        windowSeconds: limits.windowMs / 1_000,
        ...estimateDuration({ ...limits, requests, quota, nowMs }),
      },
    ];
  });
}
