import { describeWindow, formatDuration } from '../text/duration.ts';
import { ConfigError, QuotaError } from '../model/errors.ts';
import { formatCountOf } from '../text/format-count.ts';
import type { QuotaLimits, QuotaSnapshot, WaitReason } from '../model/quota.ts';

/** The quota needs a longer wait than `--max-wait` leaves, or the command never waits; times are epoch ms. */
export function buildQuotaExhaustedError(
  wait: { readonly reason: WaitReason; readonly untilMs: number; readonly nowMs: number },
  quota: QuotaSnapshot,
  neverWaits: boolean,
): QuotaError {
  const cause =
    wait.reason === 'rate-limited'
      ? 'the API asked for a pause (429)'
      : `the quota is used up${quota.limit === undefined ? '' : ` (${formatCountOf(quota.limit, 'request')} per window)`}`;
  const length = formatDuration(Math.max(0, wait.untilMs - wait.nowMs));
  const until = formatUtc(wait.untilMs);
  const limit = neverWaits ? 'and this command never waits' : 'which is longer than this run may wait';
  return new QuotaError(`${cause}; requests continue at ${until}, in ${length}, ${limit}`, {
    code: 'quota_exhausted',
    hint: neverWaits
      ? `Run the same command again after ${until}. A sync would wait until then by itself.`
      : `Progress is saved. Run again after ${until}, or allow a longer wait with --max-wait.`,
    resumeAtMs: wait.untilMs,
  });
}

/** The run's deadline is here, or comes before the wait that is needed ends. */
export function buildDeadlineError(
  wait: { readonly untilMs: number } | undefined,
  nowMs: number,
): QuotaError {
  const resumeAtMs = wait?.untilMs ?? nowMs;
  const when = wait === undefined ? 'at any time' : `after ${formatUtc(resumeAtMs)}`;
  return new QuotaError(
    wait === undefined
      ? "the run's deadline is reached"
      : `the next request may leave at ${formatUtc(resumeAtMs)}, after the run's deadline`,
    {
      code: 'deadline_reached',
      hint: `Progress is saved. Run the same command again ${when}, or give the run more time with --deadline.`,
      resumeAtMs,
    },
  );
}

/** The run used the requests that `--max-requests` gave it. */
export function buildRequestLimitError(maxRequests: number, nowMs: number): QuotaError {
  return new QuotaError(`the run used the ${formatCountOf(maxRequests, 'request')} it may send`, {
    code: 'request_limit_reached',
    hint: 'Progress is saved. Run the same command again to continue, or raise --max-requests.',
    resumeAtMs: nowMs,
  });
}

/** Config leaves not one request of a window. */
export function buildNoQuotaError(limit: number, { reserve, windowMs }: QuotaLimits): ConfigError {
  return new ConfigError(
    `source.quota leaves no request: ${limit} ${describeWindow(windowMs)}, of which ${reserve} are held in reserve`,
    {
      code: 'config_invalid',
      hint: 'Lower source.quota.reserve, or raise source.quota.requestsPerHour.',
    },
  );
}

/** A wall time as people and scripts read it, to the second: `2026-11-20 14:00:00 UTC`. */
export function formatUtc(timeMs: number): string {
  // A moment later rather than earlier: coming back a second early would find the quota still used up.
  const iso = new Date(Math.ceil(timeMs / 1000) * 1000).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}
