import { formatUtc } from '../../http/quota-errors.ts';
import type { LeftOutParam } from '../../model/discover-report.ts';
import { formatCount, formatCountOf } from '../../text/format-count.ts';
import type { QuotaRoom } from '../../model/quota.ts';
import type { ReportedError } from '../../model/run-report.ts';

/** What one call may still send, and what limits it. */
export interface Room {
  readonly requests: number;
  readonly bound: 'quota' | 'max-requests' | 'none';
  /** When the quota resets, epoch ms; only set if the quota is the limit. */
  readonly returnsAtMs: number | undefined;
}

/** The lower of what the quota has and what `--max-requests` leaves. */
export function findRoom(quota: QuotaRoom | undefined, maxRequests: number | undefined, spent: number): Room {
  const own = Math.max(0, (maxRequests ?? Infinity) - spent);
  const ofQuota = quota?.requests ?? Infinity;
  const requests = Math.min(own, ofQuota);
  const bound = requests === Infinity ? 'none' : own <= ofQuota ? 'max-requests' : 'quota';
  return { requests, bound, returnsAtMs: bound === 'quota' ? quota?.returnsAtMs : undefined };
}

/** Reports parameters left out for lack of requests, and when or how to try them. */
export function reportLeftOut(leftOut: readonly LeftOutParam[], most: number, room: Room): ReportedError {
  const streams = [...new Set(leftOut.map(({ stream }) => stream))];
  const names = streams.map((name) => {
    const params = leftOut.filter(({ stream }) => stream === name).map(({ param }) => param);
    return `${name} (${params.join(', ')})`;
  });
  const needed = `trying all takes up to ${formatCountOf(most, 'request')}`;
  const rest = `left out: ${names.join(', ')}`;
  const left = formatCount(room.requests);
  if (room.bound === 'max-requests') {
    return {
      code: 'request_limit_reached',
      message: `${needed}, and --max-requests left ${left}; ${rest}`,
      hint: 'Raise --max-requests, or name fewer streams.',
      exitCode: 75,
    };
  }
  const when = room.returnsAtMs === undefined ? 'later' : `after ${formatUtc(room.returnsAtMs)}`;
  return {
    code: 'quota_exhausted',
    message: `${needed}, and the quota had ${left} left; ${rest}`,
    hint: `Run \`sluice discover ${streams.join(',')} --yes\` ${when}; nothing was changed.`,
    exitCode: 75,
  };
}
