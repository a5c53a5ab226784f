import type { Clock } from '../model/clock.ts';
import type { QuotaSnapshot, WaitReason } from '../model/quota.ts';

/** Waits shorter than this are the normal pace and are not told, ms. */
export const SHORTEST_TOLD_WAIT_MS = 2_000;

/** What a quota tells while it is used; wall times, epoch ms. */
export interface QuotaListener {
  onWait?(reason: WaitReason, untilMs: number): void;
  /** The last wait that was told is over. */
  onResume?(): void;
  /** After every answer that was settled. */
  onObserved?(snapshot: QuotaSnapshot): void;
}

/** One stretch of waiting, which may change its reason and its end. */
export interface ToldWait {
  /** Tells the listener when the wait is long, or has become so, and what it says is new. */
  update(wait: { readonly reason: WaitReason; readonly untilMs: number }): void;
  end(): void;
}

/** Tells a listener about waits, several of which may overlap; `onResume` comes after the last. */
export function createWaitTeller(clock: Clock, listener: QuotaListener | undefined): () => ToldWait {
  let openWaits = 0;

  return function begin(): ToldWait {
    const startMs = clock.monotonic();
    let told: { readonly reason: WaitReason; readonly untilMs: number } | undefined;
    return {
      update(wait) {
        const isLong = wait.untilMs - clock.now() >= SHORTEST_TOLD_WAIT_MS;
        if (!isLong && clock.monotonic() - startMs < SHORTEST_TOLD_WAIT_MS) return;
        const isNew =
          told === undefined ||
          wait.reason !== told.reason ||
          Math.abs(wait.untilMs - told.untilMs) >= SHORTEST_TOLD_WAIT_MS;
        if (!isNew) return;
        if (told === undefined) openWaits += 1;
        told = wait;
        listener?.onWait?.(wait.reason, wait.untilMs);
      },
      end() {
        if (told === undefined) return;
        told = undefined;
        openWaits -= 1;
        if (openWaits === 0) listener?.onResume?.();
      },
    };
  };
}
