import { DAY_MS, subtractDays, toDate } from '../model/dates.ts';
import { readsFresh, type SyncOptions } from '../model/settings.ts';
import { type Checkpoint, nameOf, type Stream } from '../model/stream.ts';
import type { ScanPlan, StreamPlan } from './scan-plan.ts';
import { countRequests } from './estimate.ts';
import { formatMoment } from '../text/format-moment.ts';

/** Minimum time between two full refreshes that are brought forward. */
const LEAST_BETWEEN_MS = 20 * 3_600_000;
/**
 * A time that is ahead by less than this share of the interval, and by less than a day, comes from a corrected clock.
 */
const CLOCK_SLACK = 1 / 10;

/** What a plan depends on in addition to config, checkpoint and options. */
export interface PlanFacts {
  readonly nowMs: number;
  /** Requests that the run may send while the source stays unchanged. */
  readonly readable: number;
}

/** Decides from config, checkpoint and options what a stream needs; pure, costs no request. */
export function planStream(
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  options: SyncOptions,
  facts: PlanFacts,
): StreamPlan {
  if (options.completed?.includes(nameOf(stream)) === true)
    return { action: 'skip', reason: 'read by an earlier run of this sync' };
  if (isFresh(stream, checkpoint, options, facts.nowMs) && findDue(stream, checkpoint, facts) === undefined) {
    const reason = `verified ${formatMoment(checkpoint?.lastVerifiedAt ?? '')}, still fresh`;
    return { action: 'skip', reason: addDeferral(reason, stream, checkpoint, facts) };
  }
  const scan = planScan(stream, checkpoint, options, facts);
  if (scan.mode === 'full') return { action: 'scan', scan };
  return { action: 'scan', scan: { ...scan, reason: addDeferral(scan.reason, stream, checkpoint, facts) } };
}

/** Why a full refresh is brought forward, if it can be read as one version of the data. */
function findDue(
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  { nowMs, readable }: PlanFacts,
): string | undefined {
  if (checkpoint?.fullRefreshDue === undefined) return undefined;
  if (!mayBringForward(checkpoint, nowMs)) return undefined;
  const rows = checkpoint.counts?.inApi ?? checkpoint.rowsDeclared ?? 0;
  const { requests } = stream.paginated ? countRequests(rows, stream.pageSize) : { requests: 1 };
  return requests <= readable ? checkpoint.fullRefreshDue : undefined;
}

function addDeferral(
  reason: string,
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  { nowMs }: PlanFacts,
): string {
  const fromMs = findDeferral(stream, checkpoint, nowMs);
  return fromMs === undefined
    ? reason
    : `${reason}; a full refresh is due, from ${formatMoment(fromMs)} on, or with --full-refresh`;
}

/**
 * When a full refresh that is due may be brought forward again, epoch ms; undefined if it may now, if none is due, or
 * if the next scan is a full one in any case.
 */
export function findDeferral(
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  nowMs: number,
): number | undefined {
  const { fullRefreshDue, counts } = checkpoint ?? {};
  if (fullRefreshDue === undefined || counts?.broughtForwardAt === undefined) return undefined;
  const next = planScan(stream, checkpoint, {}, { nowMs, readable: Infinity });
  return next.mode === 'full' ? undefined : findNextForward(counts.broughtForwardAt);
}

/** When the next full refresh may be brought forward after one at that time, epoch ms. */
export function findNextForward(broughtForwardAt: string): number {
  return Date.parse(broughtForwardAt) + LEAST_BETWEEN_MS;
}

/** Whether no full refresh was brought forward recently: if rows arrive late all day, one per day is enough. */
export function mayBringForward(checkpoint: Checkpoint | undefined, nowMs: number): boolean {
  return isDayOver(checkpoint?.counts?.broughtForwardAt, nowMs);
}

/** Whether the next full refresh may be brought forward, after one at that time. */
export function isDayOver(broughtForwardAt: string | undefined, nowMs: number): boolean {
  return isLongAgo(broughtForwardAt, LEAST_BETWEEN_MS, nowMs);
}

/** Whether a time is that long ago; a time in the future counts as well, as a clock was wrong. */
function isLongAgo(time: string | undefined, leastMs: number, nowMs: number): boolean {
  const ageMs = time === undefined ? Infinity : nowMs - Date.parse(time);
  return ageMs >= leastMs || ageMs < -Math.min(DAY_MS, leastMs * CLOCK_SLACK);
}

/** True while the last verified scan is young enough that asking again would bring nothing. */
export function isFresh(
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  options: SyncOptions,
  nowMs: number,
): boolean {
  if (readsFresh(options)) return false;
  if (
    checkpoint?.lastVerifiedAt === undefined ||
    checkpoint.fingerprint !== stream.fingerprint ||
    checkpoint.lastVerdict !== 'verified' ||
    haveRulesChanged(stream, checkpoint)
  )
    return false;
  const ageMs = nowMs - Date.parse(checkpoint.lastVerifiedAt);
  // A tenth less, so that an hourly job does not miss its slot by seconds. A scan "in the future" does not count.
  return ageMs >= 0 && ageMs < stream.freshnessMs * 0.9;
}

/** Whether the rules for records changed since the last scan. */
export function haveRulesChanged(stream: Stream, checkpoint: Checkpoint): boolean {
  return stream.rules !== undefined && checkpoint.rules !== undefined && stream.rules !== checkpoint.rules;
}

function planScan(
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  options: SyncOptions,
  facts: PlanFacts,
): ScanPlan {
  const { nowMs } = facts;
  const full = (reason: string, warnings: readonly string[] = []): ScanPlan => ({
    mode: 'full',
    from: undefined,
    trial: false,
    reason,
    warnings,
  });
  if (options.fullRefresh === true) return full('asked for with --full-refresh');
  const { cursor } = stream;
  if (options.from !== undefined) {
    if (cursor.kind === 'off' || checkpoint?.cursorState === 'refuted') {
      return full('the stream has no usable cursor', [
        `--from is ignored for ${stream.name}: it has no usable cursor`,
      ]);
    }
    const known = checkpoint?.lastFullScanAt !== undefined;
    if (cursor.kind === 'auto' && known && checkpoint.cursorField === undefined)
      return full('it has no cursor');
    const trial = cursor.kind === 'auto' && checkpoint?.cursorState !== 'proved';
    const warnings = warnOfGap(stream, checkpoint, options.from);
    const from = checkpoint === undefined ? options.from : leaveRoom(options.from, checkpoint);
    return { mode: 'incremental', from, trial, reason: `asked for with --from ${options.from}`, warnings };
  }
  if (checkpoint === undefined) return full('first sync');
  if (checkpoint.fingerprint !== stream.fingerprint) return full('its config changed');
  if (stream.write === 'replace') return full('it is replaced as a whole');
  if (cursor.kind === 'off') return full('its cursor is off');
  if (checkpoint.lastFullScanAt === undefined) return full('no full scan yet');
  if (isLongAgo(checkpoint.lastFullScanAt, stream.fullRefreshEveryMs, nowMs))
    return full('a full refresh is due');
  const due = findDue(stream, checkpoint, facts);
  if (due !== undefined)
    return { ...full(`a full refresh is due: ${due}`), isBroughtForward: true, readsAll: true };
  if (checkpoint.cursorState === 'refuted') return full('the API does not honour its cursor');
  if (checkpoint.cursorField === undefined) return full('it has no cursor');
  if (checkpoint.watermark === undefined) return full('its cursor has no date to continue from yet');
  const { watermark } = checkpoint;
  // A clock was wrong when it was written, so it is unknown from which day on rows are missing.
  if (watermark > toDate(nowMs + DAY_MS))
    return full('its watermark lies in the future', [
      `the watermark of ${stream.name} (${watermark}) lies in the future, because a clock was wrong: the stream is read in full`,
    ]);
  return {
    mode: 'incremental',
    from: leaveRoom(subtractDays(watermark, stream.lookbackMs), checkpoint),
    trial: cursor.kind === 'auto' && checkpoint.cursorState !== 'proved',
    reason: `watermark ${watermark} minus the lookback`,
    warnings: [],
  };
}

// Without a key whole days are replaced, and the first two days asked for may be incomplete.
function leaveRoom(date: string, { keyFields }: Checkpoint): string {
  return keyFields === undefined ? subtractDays(date, 2 * DAY_MS) : date;
}

// The watermark stays where it is, so a later sync fills the gap; until then the table has a hole.
function warnOfGap(stream: Stream, checkpoint: Checkpoint | undefined, from: string): readonly string[] {
  const { watermark } = checkpoint ?? {};
  if (watermark === undefined || from <= watermark) return [];
  return [
    `--from ${from} leaves out what ${stream.name} has after ${watermark}; a sync without --from reads it`,
  ];
}
