import { readCheckpointsAfter, writeCheckpoint } from '../../state/checkpoints.ts';
import { addCorrectedTime } from '../../state/corrected-times.ts';
import { HOUR_MS } from '../model/dates.ts';
import { readMeta, writeMeta } from '../../state/migrations.ts';
import { limitRunTimes } from '../../state/run-file.ts';
import type { Clock } from '../model/clock.ts';
import { formatDuration } from '../text/duration.ts';
import { formatCountOf } from '../text/format-count.ts';
import type { ApiClient } from '../model/http.ts';
import type { OnProgress } from '../model/progress.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { RecordClock } from '../model/record-clock.ts';
import type { Checkpoint } from '../model/stream.ts';
import type { Database } from '../warehouse/database.ts';
import { limitTimes } from '../warehouse/limit-times.ts';
import {
  CLOCKS_AGREE_MS,
  type FutureLimits,
  hasFutureTimes,
  limitFuture,
  withoutFutureTimes,
} from '../plan/void-future.ts';

/** The parts of a run that concern time. */
interface TimedRun {
  readonly settings: Pick<OfflineSettings, 'stateDir'>;
  readonly clock: Clock;
  readonly recordClock: RecordClock;
  readonly source: { readonly client: Pick<ApiClient, 'serverAheadMs'> };
  readonly database: Database;
  readonly emit: OnProgress;
}

const LAST_TIME = 'last_time';
const MINUTE_MS = 60_000;

/** The clock of what a run records, which continues where earlier runs left it. */
export async function openRecordClock(database: Database, clock: Clock): Promise<RecordClock> {
  return new RecordClock(clock, await readLastTime(database));
}

async function readLastTime(database: Database): Promise<number | undefined> {
  const written = Date.parse((await readMeta(database)).get(LAST_TIME) ?? '');
  if (!Number.isNaN(written)) return written;
  // A state from before this entry existed.
  const [row] = await database.all('SELECT max(coalesce(finished_at, started_at)) AS last FROM _sluice.runs');
  return row?.['last'] instanceof Date ? row['last'].getTime() : undefined;
}

/** The entry of `_sluice.meta` for the latest time that was recorded; write it in the transaction that recorded it. */
export function nameLastTime(atMs: number): readonly [string, string] {
  return [LAST_TIME, new Date(atMs).toISOString()];
}

/**
 * Corrects times recorded by a clock that was ahead, once the API's clock shows that this machine's is right again.
 * If it was far ahead, times of past events become now: every later time would have to follow them. Times that prove
 * that a stream or slice was read become unknown, so that each is read again.
 *
 * @returns the corrected checkpoint of the stream at hand
 */
export async function correctFutureTimes<T extends Checkpoint | undefined>(
  context: TimedRun,
  checkpoint: T,
): Promise<T> {
  const { recordClock, clock, source, database, settings, emit } = context;
  const { isFarAhead } = recordClock;
  const { serverAheadMs } = source.client;
  const nowMs = clock.now();
  // If the API gives no time, reading again is the safe choice.
  if (Math.abs(serverAheadMs ?? 0) > CLOCKS_AGREE_MS) return checkpoint;
  const limits = limitFuture(nowMs, isFarAhead);
  await voidFutureProof(database, nowMs, limits);
  const corrected = withoutFutureTimes(checkpoint, limits);
  if (!isFarAhead || serverAheadMs === undefined) return corrected;
  const nowIso = new Date(nowMs).toISOString();
  const count = await database.transaction(async () => {
    const limited = await limitTimes(database, nowIso);
    await writeMeta(database, ...nameLastTime(nowMs));
    await addCorrectedTime(database, nowIso);
    return limited;
  });
  limitRunTimes(settings.stateDir, nowIso);
  recordClock.reset();
  const message = `the clock was ahead during an earlier run: ${formatCountOf(count, 'recorded time')} after ${nowIso} ${count === 1 ? 'was' : 'were'} set to now`;
  emit({ type: 'warning', message });
  return corrected;
}

async function voidFutureProof(database: Database, nowMs: number, limits: FutureLimits): Promise<void> {
  const found = await readCheckpointsAfter(database, new Date(nowMs).toISOString());
  const future = found.filter((checkpoint) => hasFutureTimes(checkpoint, limits));
  if (future.length === 0) return;
  await database.transaction(async () => {
    for (const checkpoint of future) await writeCheckpoint(database, withoutFutureTimes(checkpoint, limits));
  });
}

/** A warning if the API's clock contradicts this machine's; undefined if both agree. */
export function describeClock({ source, clock }: Pick<TimedRun, 'source' | 'clock'>): string | undefined {
  const aheadMs = source.client.serverAheadMs ?? 0;
  // A Date header has whole seconds.
  const minutes = Math.round(Math.abs(aheadMs) / MINUTE_MS);
  if (minutes * MINUTE_MS < HOUR_MS) return undefined;
  const serverTime = new Date(clock.now() + aheadMs).toISOString().slice(0, 16).replace('T', ' ');
  const distance = `${formatDuration(minutes * MINUTE_MS)} ${aheadMs > 0 ? 'behind' : 'ahead of'}`;
  return `this machine's clock is ${distance} the API's, where it is ${serverTime} UTC; freshness, schedules and recorded times follow this machine's clock: correct it`;
}

/**
 * The time that retention counts from, so that a wrong clock expires nothing: the earlier one of this machine's clock
 * and the API's, or of this machine's and the last run's if the API's is not known. 0 if neither is known.
 */
export function findRetentionTime({
  source,
  clock,
  recordClock,
}: Pick<TimedRun, 'source' | 'clock' | 'recordClock'>): number {
  const { serverAheadMs } = source.client;
  const nowMs = clock.now();
  const otherMs = serverAheadMs === undefined ? recordClock.recordedMs : nowMs + serverAheadMs;
  return Math.min(nowMs, otherMs ?? 0);
}
