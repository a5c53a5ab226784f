import type { QuotaLimits, QuotaRoom, QuotaState } from '../model/quota.ts';
import { readOwnBudget, readOwnReturn } from './quota-own-count.ts';
import { countSpare, RESET_SLACK_MS } from './quota-window.ts';

/**
 * How many requests may leave before one has to wait for the quota, and when that wait ends; of a state that
 * `tidyState` has brought up to now. Counts what `reserveSlot` counts: ceiling, reserve and requests in flight.
 */
export function readRoom(state: QuotaState, limits: QuotaLimits): QuotaRoom | undefined {
  const { window, partial, inFlight, headersMissing } = state;
  if (window !== undefined) {
    const spare = countSpare(state, window, limits) - inFlight.length;
    const ceiling = window.limit === undefined ? limits.ceilingPerWindow : undefined;
    const own = ceiling === undefined ? Infinity : countOwn({ ...state, knownLimit: ceiling }, limits);
    return toRoom(Math.min(spare, own), window.resetAtMs + RESET_SLACK_MS);
  }
  if (!headersMissing) return undefined;
  const own = toRoom(countOwn(state, limits), readOwnReturn(state.sendsByMinute, limits.windowMs));
  if (partial === undefined) return own;
  const lost = state.unaccounted?.count ?? 0;
  const told = partial.remaining - lost - limits.reserve - inFlight.length;
  if (told >= own.requests) return own;
  return toRoom(told, partial.resetAtMs && partial.resetAtMs + RESET_SLACK_MS);
}

function countOwn(state: QuotaState, limits: QuotaLimits): number {
  return state.sendsByMinute.reduce((left, [, count]) => left - count, readOwnBudget(state, limits));
}

function toRoom(requests: number, returnsAtMs: number | undefined): QuotaRoom {
  return { requests: Math.max(0, requests), returnsAtMs };
}
