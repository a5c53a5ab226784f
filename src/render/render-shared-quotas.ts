import type { SharedQuotaPlan } from '../model/plan-report.ts';
import { describePlanTime } from './describe-plan-time.ts';
import { formatCountOf } from '../text/format-count.ts';
import { listNames } from '../text/list-names.ts';

/** What accounts with one key take together, a line for each key; '' where each has its own. */
export function renderSharedQuotas(shared: readonly SharedQuotaPlan[]): string {
  return shared
    .map(({ accounts, requests, isWhole, ...time }) => {
      const count = `${isWhole ? '' : 'at least '}${formatCountOf(requests, 'request')}`;
      return `${listNames(accounts)} share one key and its quota: together they take ${count}${describePlanTime(time)}.`;
    })
    .join('\n');
}
