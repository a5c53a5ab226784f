import type { Reservation, WaitReason } from '../model/quota.ts';
import { RESERVATION_LIFETIME_MS } from './deadlines.ts';

/** Longest time between two looks at the state while an answer of another process may change it, ms. */
export const ANSWER_POLL_MS = 100;

/** Why a request may not leave yet, and until when at the latest to look again. */
export interface QuotaWait {
  /** Wall time, epoch ms. */
  readonly untilMs: number;
  readonly reason: WaitReason;
  /** `time`: nothing but time helps. `answer-or-time`: an answer in flight may end the wait earlier. */
  readonly endsBy: 'time' | 'answer-or-time';
  /** When answers are waited for no longer, epoch ms. */
  readonly latestMs?: number;
}

/** The wait that ends last: a request may leave when every rule lets it. */
export function findLongestWait(waits: readonly (QuotaWait | undefined)[]): QuotaWait | undefined {
  let longest: QuotaWait | undefined;
  for (const wait of waits) {
    if (wait !== undefined && (longest === undefined || wait.untilMs > longest.untilMs)) longest = wait;
  }
  return longest;
}

/** Lets the request with this id wait for whatever is in flight to be answered. */
export function waitForAnswer(flying: readonly Reservation[], now: number, id: string): QuotaWait {
  const isOwn = flying.some((slot) => nameOwner(slot.id) === nameOwner(id));
  return {
    untilMs: now + ANSWER_POLL_MS,
    reason: isOwn ? 'first-response' : 'other-run',
    endsBy: 'answer-or-time',
    latestMs: Math.max(now, ...flying.map(({ sentAtMs }) => sentAtMs + RESERVATION_LIFETIME_MS)),
  };
}

/** The part of a slot's id that all slots of one run share. */
function nameOwner(id: string): string {
  return id.slice(0, Math.max(0, id.lastIndexOf('/')));
}
