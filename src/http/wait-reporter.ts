import type { Clock } from '../model/clock.ts';
import type { QuotaSnapshot, WaitReason } from '../model/quota.ts';
import type { QuotaWait } from './quota-wait.ts';

/** Waits shorter than this are the normal pace and are not reported, ms. */
const SHORTEST_REPORTED_WAIT_MS = 2_000;

/** What a quota reports while it is used; wall times, epoch ms. */
export interface QuotaListener {
  onWait?(reason: WaitReason, untilMs: number): void;
  /** The last reported wait is over. */
  onResume?(): void;
  /** After every answer that was settled. */
  onObserved?(snapshot: QuotaSnapshot): void;
}

/** One stretch of waiting, which may change its reason and its end. */
export interface ReportedWait {
  /** Notifies the listener if the wait is or has become long, and its reason or end is new. */
  update(wait: Pick<QuotaWait, 'reason' | 'untilMs' | 'latestMs'>): void;
  end(): void;
}

/** Reports waits to a listener. Several may overlap; `onResume` is called after the last. */
export function createWaitReporter(clock: Clock, listener: QuotaListener | undefined): () => ReportedWait {
  let openWaits = 0;

  return function begin(): ReportedWait {
    const startMs = clock.monotonic();
    let reported: { readonly reason: WaitReason; readonly untilMs: number } | undefined;
    return {
      update({ reason, untilMs, latestMs }) {
        // Most answers come at once, whenever they may come at the latest.
        const isLong = untilMs - clock.now() >= SHORTEST_REPORTED_WAIT_MS;
        if (!isLong && clock.monotonic() - startMs < SHORTEST_REPORTED_WAIT_MS) return;
        const wait = { reason, untilMs: latestMs ?? untilMs };
        const isNew =
          reported === undefined ||
          wait.reason !== reported.reason ||
          Math.abs(wait.untilMs - reported.untilMs) >= SHORTEST_REPORTED_WAIT_MS;
        if (!isNew) return;
        if (reported === undefined) openWaits += 1;
        reported = wait;
        listener?.onWait?.(wait.reason, wait.untilMs);
      },
      end() {
        if (reported === undefined) return;
        reported = undefined;
        openWaits -= 1;
        if (openWaits === 0) listener?.onResume?.();
      },
    };
  };
}
