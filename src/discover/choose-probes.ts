import { countProbes, type ParamPlan } from './plan-probes.ts';

/** The most requests that the plans with room take, in their order; a plan is asked whole or not at all. */
export function countAffordable(plans: readonly ParamPlan[], room: number): number {
  let sum = 0;
  for (const plan of plans) {
    const cost = countProbes(plan);
    if (sum + cost <= room) sum += cost;
  }
  return sum;
}

/** Start dates first: they decide whether a sync has to read everything each time. */
export function sortByUse<T extends { readonly plan: ParamPlan }>(asked: readonly T[]): readonly T[] {
  const rank = ({ plan }: T) => (plan.kind === 'start-date' ? 0 : 1);
  return asked.toSorted((a, b) => rank(a) - rank(b));
}
