import { readMeta, writeMeta } from '../../state/migrations.ts';
import { limitRunTimes } from '../../state/run-file.ts';
import type { Clock } from '../model/clock.ts';
import { formatDuration } from '../model/duration.ts';
import { formatCountOf } from '../model/format-count.ts';
import type { ApiClient } from '../model/http.ts';
import type { OnProgress } from '../model/progress.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { RecordClock } from '../model/record-clock.ts';
import type { Database } from '../warehouse/database.ts';
import { limitTimes } from '../warehouse/limit-times.ts';

/** What of a run has to do with time. */
interface TimedRun {
  readonly settings: Pick<OfflineSettings, 'stateDir'>;
  readonly clock: Clock;
  readonly recordClock: RecordClock;
  readonly client: Pick<ApiClient, 'serverAheadMs'>;
  readonly database: Database;
  readonly emit: OnProgress;
}

const LAST_TIME = 'last_time';
const HOUR_MS = 3_600_000;
/** How far two clocks may be apart and still agree. */
const CLOCKS_AGREE_MS = HOUR_MS;
const MINUTE_MS = 60_000;

/** The clock of what a run records, which continues where earlier runs left it. */
export async function openRecordClock(database: Database, clock: Clock): Promise<RecordClock> {
  return new RecordClock(clock, await readLastTime(database));
}

async function readLastTime(database: Database): Promise<number | undefined> {
  const written = Date.parse((await readMeta(database)).get(LAST_TIME) ?? '');
  if (!Number.isNaN(written)) return written;
  // A state from before there was such an entry.
  const [row] = await database.all('SELECT max(coalesce(finished_at, started_at)) AS last FROM _sluice.runs');
  return row?.['last'] instanceof Date ? row['last'].getTime() : undefined;
}

/** Remembers the latest time that was recorded; call in the transaction that recorded it. */
export async function writeLastTime(database: Database, atMs: number): Promise<void> {
  await writeMeta(database, LAST_TIME, new Date(atMs).toISOString());
}

/**
 * Corrects times that a clock recorded which was far ahead, once the API's clock shows that this machine's is right
 * again: they become now. Without it every later time would have to lie behind them.
 */
export async function correctFutureTimes(context: TimedRun): Promise<void> {
  const { recordClock, clock, client, database, settings, emit } = context;
  if (!recordClock.isFarAhead || Math.abs(client.serverAheadMs ?? Infinity) > CLOCKS_AGREE_MS) return;
  const nowMs = clock.now();
  const nowIso = new Date(nowMs).toISOString();
  const corrected = await database.transaction(async () => {
    const count = await limitTimes(database, nowIso);
    await writeLastTime(database, nowMs);
    return count;
  });
  limitRunTimes(settings.stateDir, nowIso);
  recordClock.reset();
  const message = `an earlier run had a clock that was ahead: ${formatCountOf(corrected, 'time')} it recorded after ${nowIso} ${corrected === 1 ? 'was' : 'were'} set to now`;
  emit({ type: 'warning', message });
}

/** What the run says of a clock that the API's contradicts; undefined where both agree. */
export function describeClock({ client, clock }: Pick<TimedRun, 'client' | 'clock'>): string | undefined {
  const aheadMs = client.serverAheadMs ?? 0;
  // A Date header has whole seconds.
  const minutes = Math.round(Math.abs(aheadMs) / MINUTE_MS);
  if (minutes * MINUTE_MS < HOUR_MS) return undefined;
  const serverTime = new Date(clock.now() + aheadMs).toISOString().slice(0, 16).replace('T', ' ');
  const distance = `${formatDuration(minutes * MINUTE_MS)} ${aheadMs > 0 ? 'behind' : 'ahead of'}`;
  return `this machine's clock is ${distance} the API's, where it is ${serverTime} UTC; freshness, schedules and recorded times follow this machine's clock: set it right`;
}

/**
 * The time that retention counts from, so that a wrong clock makes nothing old: the earlier one of this machine's clock
 * and the API's, or of this machine's and the last run's where the API's is not known. 0 where nothing is sure.
 */
export function findRetentionTime({
  client,
  clock,
  recordClock,
}: Pick<TimedRun, 'client' | 'clock' | 'recordClock'>): number {
  const { serverAheadMs } = client;
  const nowMs = clock.now();
  const otherMs = serverAheadMs === undefined ? recordClock.recordedMs : nowMs + serverAheadMs;
  return Math.min(nowMs, otherMs ?? 0);
}
