import type { WaitReason } from '../model/quota.ts';

/** Longest time between two looks at the state while an answer of another process may change it, ms. */
export const ANSWER_POLL_MS = 100;

/** Why a request may not leave yet, and until when at the latest to look again. */
export interface QuotaWait {
  /** Wall time, epoch ms. */
  readonly untilMs: number;
  readonly reason: WaitReason;
  /** `time`: nothing but time helps. `answer-or-time`: an answer in flight may end the wait earlier. */
  readonly endsBy: 'time' | 'answer-or-time';
}

/** The wait that ends last: a request may leave when every rule lets it. */
export function findLongestWait(waits: readonly (QuotaWait | undefined)[]): QuotaWait | undefined {
  let longest: QuotaWait | undefined;
  for (const wait of waits) {
    if (wait !== undefined && (longest === undefined || wait.untilMs > longest.untilMs)) longest = wait;
  }
  return longest;
}

/** Waits for whatever is in flight to be answered. */
export function waitForAnswer(now: number): QuotaWait {
  return { untilMs: now + ANSWER_POLL_MS, reason: 'first-response', endsBy: 'answer-or-time' };
}
