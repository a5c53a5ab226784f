import { formatDuration } from '../text/duration.ts';
import { nameCause, type WaitReason } from '../model/quota.ts';
import { formatUpcoming } from './format-values.ts';

/** Shorter waits are part of the normal pace and get no line. */
export const SHORT_WAIT_MS = 2_000;

/** What a run waits for, until when and how much longer. */
export function describeWait(reason: WaitReason, untilMs: number, nowMs: number): string {
  const leftMs = Math.max(0, untilMs - nowMs);
  const left = `${isForAnswer(reason) ? 'at most ' : ''}${formatDuration(leftMs)} left`;
  if (leftMs < 60_000) return `waiting for ${nameCause(reason)} (${left})`;
  return `waiting for ${nameCause(reason)} until ${formatUpcoming(untilMs, nowMs)} (${left})`;
}

// An answer may come at any moment.
function isForAnswer(reason: WaitReason): boolean {
  return reason === 'first-response' || reason === 'other-run';
}
