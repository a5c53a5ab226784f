import { median } from 'd3-array';
import { HOUR_MS } from '../model/dates.ts';
import { formatDuration } from '../text/duration.ts';
import type { AttemptFacts, RunFacts, StreamFacts } from '../model/report-data.ts';
import { nameScan } from '../model/stream.ts';

/** How a stream stands, the first that is true of it. */
export type StreamState =
  | 'damaged'
  | 'failed'
  | 'stopped'
  | 'never'
  | 'reset'
  | 'unavailable'
  | 'partial'
  | 'drifted'
  | 'late'
  | 'stale'
  | 'differs'
  | 'unverified'
  | 'verified';

/** What that means to a reader: all well, worth knowing, to be acted on, nothing to say. */
export type Tone = 'good' | 'note' | 'bad' | 'idle';

export interface JudgedStream {
  readonly name: string;
  readonly facts: StreamFacts;
  readonly state: StreamState;
  readonly tone: Tone;
}

/** What the state of a stream follows from. */
export interface StreamStanding extends Pick<
  StreamFacts,
  'isDamaged' | 'isReset' | 'verdict' | 'verifiedAt' | 'newest' | 'counts' | 'fullRefreshDue'
> {
  readonly lastAttempt: Pick<AttemptFacts, 'status' | 'startedAt'> | undefined;
}

/** What findings and lateness look at in a run. */
export type RunStanding = Pick<RunFacts, 'isSync' | 'startedAt' | 'status'>;

/** Something a reader should know, and what to do about it. */
export interface Finding {
  readonly tone: Tone;
  readonly what: string;
  readonly todo: string | undefined;
}

/** What each state means to a reader. */
export const streamTones: Readonly<Record<StreamState, Tone>> = {
  damaged: 'bad',
  failed: 'bad',
  stopped: 'note',
  never: 'note',
  reset: 'note',
  unavailable: 'idle',
  partial: 'bad',
  drifted: 'note',
  late: 'bad',
  stale: 'note',
  differs: 'note',
  unverified: 'note',
  verified: 'good',
};

// The API refreshes its data daily, "typically": half a day more is still no news.
const LEAST_LATENESS_MS = 36 * HOUR_MS;
const RHYTHM_RUNS = 10;

/** One and a half times the usual time between syncs, and 36 h at least. */
export function findLateness(runs: readonly RunStanding[]): number {
  const syncs = runs.filter(({ isSync }) => isSync);
  const starts = syncs.slice(-RHYTHM_RUNS).map(({ startedAt }) => Date.parse(startedAt));
  const gaps = starts.slice(1).map((start, at) => start - (starts[at] ?? start));
  return Math.max(LEAST_LATENESS_MS, (median(gaps) ?? 0) * 1.5);
}

/** The last sync that is over. */
export function findLastEnded<T extends RunStanding>(runs: readonly T[]): T | undefined {
  return runs.findLast(({ isSync, status }) => isSync && status !== 'running');
}

/** Judges one stream by its last attempt, its verdict and its age. */
export function judgeStream(facts: StreamFacts, nowMs: number, lateAfterMs: number): JudgedStream {
  const state = findState(facts, nowMs, lateAfterMs);
  return { name: nameScan(facts.stream, facts.slice), facts, state, tone: streamTones[state] };
}

/** The state of one stream: the first that is true of it. */
export function findState(
  { isDamaged, isReset, lastAttempt, verdict, verifiedAt, newest, counts, fullRefreshDue }: StreamStanding,
  nowMs: number,
  lateAfterMs: number,
): StreamState {
  if (isDamaged === true) return 'damaged';
  if (lastAttempt?.status === 'failed') return 'failed';
  if (lastAttempt?.status === 'stopped') return 'stopped';
  if (verdict === undefined && lastAttempt?.status === 'unavailable') return 'unavailable';
  if (verdict === undefined) return isReset === true ? 'reset' : 'never';
  if (verdict === 'partial' || verdict === 'drifted') return verdict;
  const lastGood = verifiedAt ?? lastAttempt?.startedAt;
  // A time in the future means a wrong clock, not a recent sync.
  const ageMs = lastGood === undefined ? 0 : nowMs - Date.parse(lastGood);
  if (ageMs > lateAfterMs || -ageMs > LEAST_LATENESS_MS) return 'late';
  if (newest?.stale === true) return 'stale';
  if (verdict === 'unverified') return 'unverified';
  return fullRefreshDue !== undefined || (counts?.difference ?? 0) !== 0 ? 'differs' : 'verified';
}

/** What a state says, for the legend: each is a sentence. */
export function describeState(state: StreamState, lateAfterMs: number): string {
  switch (state) {
    case 'verified':
      return 'The last scan was proved to be all that the API holds.';
    case 'unverified':
      return 'Read to its end, but not proved: the API gave no total, rows share a key, or it took hours.';
    case 'differs':
      return 'Its last scan was verified, but the table as a whole is not what the API holds: a full refresh is due.';
    case 'drifted':
      return 'The data moved while it was read: rows may be missing until the next scan.';
    case 'partial':
      return 'Not read to its end; the table is unchanged.';
    case 'damaged':
      return 'Files of the lake are missing or damaged: readers miss rows until it is complete again.';
    case 'failed':
      return 'The last attempt failed; the table is unchanged.';
    case 'stopped':
      return 'The last attempt was stopped; the pages read are kept for the next run.';
    case 'late':
      return `No verified scan in the last ${formatDuration(lateAfterMs)}.`;
    case 'stale':
      return 'Synced, but nothing newer has arrived for longer than usual: the source may not have been refreshed.';
    case 'never':
      return 'Never synced.';
    case 'reset':
      return 'Reset: its rows are still there, and the next sync reads everything.';
    case 'unavailable':
      return 'The API does not offer it.';
  }
}
