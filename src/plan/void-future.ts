import { DAY_MS, LONG_AGO } from '../model/dates.ts';
import type { Checkpoint } from '../model/stream.ts';

/** How far two clocks may be apart and still agree. */
export const CLOCKS_AGREE_MS = 3_600_000;

/** Times of a checkpoint after these (epoch ms) were recorded by a clock that was ahead. */
export interface FutureLimits {
  /** For what makes work wait for hours. */
  readonly verifiedMs: number;
  /** For what makes work wait for weeks. */
  readonly fullScanMs: number;
}

/** @param isFarAhead a clock is known to have been more than a day ahead: then no future time is right */
export function limitFuture(nowMs: number, isFarAhead: boolean): FutureLimits {
  return isFarAhead
    ? { verifiedMs: nowMs, fullScanMs: nowMs }
    : { verifiedMs: nowMs + CLOCKS_AGREE_MS, fullScanMs: nowMs + DAY_MS };
}

/**
 * A checkpoint without future times. They are not set to now: nobody knows when the stream was verified, so it must be
 * read again. A full scan did happen: its time becomes the oldest one.
 */
export function withoutFutureTimes<T extends Checkpoint | undefined>(checkpoint: T, limits: FutureLimits): T {
  if (checkpoint === undefined || !hasFutureTimes(checkpoint, limits)) return checkpoint;
  const { lastVerifiedAt, lastFullScanAt, wholeAt, counts } = checkpoint;
  const { verifiedMs, fullScanMs } = limits;
  return {
    ...checkpoint,
    lastVerifiedAt: isLater(lastVerifiedAt, verifiedMs) ? undefined : lastVerifiedAt,
    lastFullScanAt: isLater(lastFullScanAt, fullScanMs) ? LONG_AGO : lastFullScanAt,
    wholeAt: isLater(wholeAt, fullScanMs) ? undefined : wholeAt,
    counts:
      counts !== undefined && isLater(counts.broughtForwardAt, verifiedMs)
        ? { ...counts, broughtForwardAt: undefined }
        : counts,
  };
}

/** Whether a checkpoint has a time recorded by a clock that was ahead. */
export function hasFutureTimes(
  { lastVerifiedAt, lastFullScanAt, wholeAt, counts }: Checkpoint,
  { verifiedMs, fullScanMs }: FutureLimits,
): boolean {
  return (
    isLater(lastVerifiedAt, verifiedMs) ||
    isLater(counts?.broughtForwardAt, verifiedMs) ||
    isLater(lastFullScanAt, fullScanMs) ||
    isLater(wholeAt, fullScanMs)
  );
}

function isLater(time: string | undefined, limitMs: number): boolean {
  return time !== undefined && Date.parse(time) > limitMs;
}
