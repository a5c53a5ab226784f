import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { readCheckpoints } from '../../state/checkpoints.ts';
import { readProgressFile } from '../../state/progress-file.ts';
import { listUnproved, readUnproved, type UnprovedStreams } from '../../state/unproved-streams.ts';
import type { NewestData } from '../model/data-age.ts';
import { type ErrorCode, SyncError } from '../model/errors.ts';
import type { QuotaSnapshot } from '../model/quota.ts';
import type {
  PublishedElsewhere,
  PublishedFault,
  StatusReport,
  StreamStatusRow,
  UnsettledAttempt,
} from '../model/reports.ts';
import { isSync, type RunReport, type Verdict } from '../model/run-report.ts';
import type { RunUnderWay } from '../model/run-under-way.ts';
import type { OfflineSettings } from '../model/settings.ts';
import {
  type Checkpoint,
  KEY_PROOF_DAYS,
  nameOf,
  nameScan,
  sliceIdOf,
  sliceStream,
  type Stream,
} from '../model/stream.ts';
import type { Database } from '../warehouse/database.ts';
import { readColumns } from '../warehouse/evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from '../warehouse/identifiers.ts';
import { findLakeLosses, type LakeLoss } from '../warehouse/lake-losses.ts';
import { lakeOf } from '../warehouse/query-published.ts';
import { readNewest } from './read-newest.ts';
import { readRecentRuns } from '../../state/recent-runs.ts';
import { findRefusal } from './refused-run.ts';
import { findUnreadableState, toUnreadable } from './unreadable-state.ts';
import { listUnavailable, listUnsettled, withoutFreshness } from '../plan/last-attempts.ts';
import { findDeferral, isFresh } from '../plan/plan-scan.ts';
import { listUnpublished } from '../plan/unpublished-streams.ts';
import type { Publisher } from '../publish/publisher.ts';
import { listPublishers } from '../publish/registry.ts';
import { findMissing, findPublishedFaults } from '../storage/published-fault.ts';
import { lookForRestore } from '../storage/restore-work-file.ts';
import { workFile } from '../../state/work-file.ts';
import { withHeld } from '../storage/with-held.ts';

/**
 * How each stream stands, from the published file and the small run file. The work file is read only if nothing is
 * published and no run has it open.
 */
export async function readStatus(
  settings: OfflineSettings,
  nowMs: number = Date.now(),
  /** The published file, if the caller has it open already: then it is not opened twice. */
  opened?: Database,
): Promise<StatusReport> {
  const runs = readRecentRuns(settings.stateDir);
  const lastRun = runs.find(isSync);
  const underWay =
    lastRun?.status === 'running' ? readProgressFile(settings.stateDir, lastRun.runId) : undefined;
  const unsettled = listUnsettled(settings.stateDir);
  const { readersFile } = settings;
  const published = existsSync(readersFile) ? statSync(readersFile) : undefined;
  const faults = [
    ...(await findPublishedFaults(settings)),
    ...(await findMissing(settings, listUnread(settings))),
  ];
  const read = (database: Database) => readHeld(database, settings, runs);
  const unreadable = findUnreadableState(settings);
  // With nothing published and no records, this would look like a first start.
  if (unreadable !== undefined && published === undefined) throw toUnreadable(settings.stateDir, unreadable);
  const known = opened === undefined ? await readOrAdvise(settings, read, faults) : await read(opened);
  const held = known ?? nothingHeld;
  // What is missing in a lake that is read here is told with its rows.
  const faultsTold = held.losses.length === 0 ? faults : faults.filter(({ path }) => path === readersFile);
  const told = { runs, unsettled, unpublished: listUnpublished(runs), unavailable: listUnavailable(runs) };
  return {
    duckdbPath: readersFile,
    published: published && { bytes: published.size, modifiedAt: published.mtime.toISOString() },
    elsewhere: listElsewhere(settings, runs),
    streams: settings.streams.flatMap(sliceStream).map((stream) => describeStream(stream, held, told, nowMs)),
    // A rebuild, for example, does not see the quota.
    quota: findQuota(underWay) ?? runs.find(({ quota }) => quota !== undefined)?.quota,
    lastRun,
    underWay,
    refused: findRefusal(settings.stateDir, runs),
    ...(unreadable !== undefined && { unreadable }),
    quarantined: [...held.quarantined.values()].reduce((sum, records) => sum + records, 0),
    ...(await lookForRestore(settings)),
    ...(published === undefined && held.facts.size > 0 && { unpublished: workFile(settings.stateDir) }),
    ...(faultsTold.length > 0 && { faults: faultsTold }),
    ...(held.losses.length > 0 && { losses: held.losses.map(({ text }) => text) }),
  };
}

/** Reads what readers have. Where that fails for a fault that was found, what helps against it is known. */
async function readOrAdvise<T>(
  settings: OfflineSettings,
  read: (database: Database) => Promise<T>,
  faults: readonly PublishedFault[],
): Promise<T | undefined> {
  try {
    return await withHeld(settings, read);
  } catch (thrown) {
    const fault = faults.find(({ path }) => path === settings.readersFile);
    if (fault === undefined || !(thrown instanceof SyncError)) throw thrown;
    throw ADVISED.includes(thrown.code) ? thrown.withHint(fault.fix) : thrown;
  }
}

/** Of a file that is damaged, or of another program. */
const ADVISED: readonly ErrorCode[] = ['state_damaged', 'publish_refused'];

/** Lakes next to the file that is read here: whether they are there shows without an engine. */
function listUnread(settings: OfflineSettings): readonly Publisher[] {
  return listPublishers(settings).filter(
    ({ name, place }) => name === 'parquet' && dirname(settings.readersFile) !== place,
  );
}

/** What the run file says of destinations: a server may be far away, or stopped. */
function listElsewhere(
  settings: OfflineSettings,
  runs: readonly RunReport[],
): readonly PublishedElsewhere[] | undefined {
  const others = listPublishers(settings).filter(
    ({ label, place }) => label !== undefined && dirname(settings.readersFile) !== place,
  );
  if (others.length === 0) return undefined;
  return others.map(({ label, place }) => ({
    destination: label ?? place,
    publishedAt: runs.find(({ published }) =>
      Object.values(published ?? {}).some((part) => typeof part === 'object' && part.path === place),
    )?.finishedAt,
  }));
}

function findQuota(run: RunUnderWay | undefined): QuotaSnapshot | undefined {
  return run?.quota && { ...run.quota, notBeforeMs: undefined };
}

interface Facts {
  /** Undefined if the state of the stream was reset and its table is still there. */
  readonly checkpoint: Checkpoint | undefined;
  readonly rows: number | undefined;
  readonly newest: NewestData | undefined;
}

/** What earlier runs left, by `nameScan`. */
interface Held {
  readonly facts: ReadonlyMap<string, Facts>;
  /** Records in quarantine, if there are any. */
  readonly quarantined: ReadonlyMap<string, number>;
  readonly losses: readonly LakeLoss[];
  readonly unproved: UnprovedStreams;
}

/** What the run file says of streams, by `nameScan`. */
interface Told {
  readonly runs: readonly RunReport[];
  readonly unsettled: ReadonlyMap<string, UnsettledAttempt>;
  readonly unpublished: ReadonlyMap<string, string>;
  readonly unavailable: ReadonlySet<string>;
}

const nothingHeld: Held = { facts: new Map(), quarantined: new Map(), losses: [], unproved: new Map() };

async function readHeld(
  database: Database,
  { readersFile, streams: configured }: OfflineSettings,
  runs: readonly RunReport[],
): Promise<Held> {
  const lake = lakeOf(readersFile);
  const streams = configured.flatMap(sliceStream);
  const facts = new Map<string, Facts>();
  const checkpoints = await readCheckpoints(database);
  const newest = await readNewest(database, checkpoints, runs);
  for (const checkpoint of checkpoints) {
    const { stream, slice } = checkpoint;
    const name = nameScan(stream, slice);
    facts.set(name, {
      checkpoint,
      rows: await countRows(database, stream, slice),
      newest: newest.get(name),
    });
  }
  for (const stream of await listReset(database, streams, facts)) {
    const rows = await countRows(database, stream.table, sliceIdOf(stream));
    if (rows !== undefined) facts.set(nameOf(stream), { checkpoint: undefined, rows, newest: undefined });
  }
  const losses = lake === undefined ? [] : await findLakeLosses(database, lake);
  const unproved = await readUnproved(database);
  return { facts, quarantined: await countQuarantined(database), losses, unproved };
}

/** Streams without a checkpoint whose last commit was a reset of their state. */
async function listReset(
  database: Database,
  streams: readonly Stream[],
  facts: ReadonlyMap<string, Facts>,
): Promise<readonly Stream[]> {
  const unknown = streams.filter((stream) => !facts.has(nameOf(stream)));
  if (unknown.length === 0) return [];
  // `mode` was added to the table later.
  const rows = await database
    .all(
      `SELECT stream, slice FROM _sluice.stream_runs WHERE status = 'complete'
         GROUP BY ALL HAVING arg_max(mode, started_at) = 'state'`,
    )
    .catch(() => []);
  const reset = new Set(rows.map((row) => nameScan(String(row['stream']), String(row['slice']))));
  return unknown.filter((stream) => reset.has(nameOf(stream)));
}

async function countQuarantined(database: Database): Promise<ReadonlyMap<string, number>> {
  const rows = await database.all('SELECT stream, slice, count(*) AS n FROM _sluice.quarantine GROUP BY ALL');
  return new Map(
    rows.map((row) => [nameScan(String(row['stream']), String(row['slice'])), Number(row['n'])]),
  );
}

/** Undefined for a table that cannot be read. */
async function countRows(database: Database, table: string, slice: string): Promise<number | undefined> {
  try {
    const columns = await readColumns(database, table);
    const live = columns.has('_deleted_at') ? '_deleted_at IS NULL' : 'true';
    const part = slice !== '' && columns.has('_slice') ? `_slice = ${quoteLiteral(slice)}` : 'true';
    return await database.count(
      `SELECT count(*) FROM main.${quoteIdentifier(table)} WHERE ${live} AND ${part}`,
    );
  } catch {
    return undefined;
  }
}

function describeStream(
  stream: Stream,
  { facts, quarantined, losses, unproved }: Held,
  { runs, unsettled, unpublished, unavailable }: Told,
  nowMs: number,
): StreamStatusRow {
  const name = nameOf(stream);
  const { checkpoint, rows, newest } = facts.get(name) ?? {};
  const deferredMs = findDeferral(stream, checkpoint, nowMs);
  const committedBy = unpublished.get(name);
  const isUnpublished = committedBy !== undefined && checkpoint?.runId !== committedBy;
  const isDamaged = losses.some(({ table }) => table === stream.table);
  return {
    stream: stream.name,
    slice: sliceIdOf(stream),
    ...(isDamaged && { isDamaged }),
    ...(isUnproved(unproved, stream) && { isUnproved: true }),
    ...(isUnpublished && { isUnpublished }),
    ...(checkpoint === undefined && unavailable.has(name) && { isUnavailable: true }),
    ...(!isUnpublished && checkpoint === undefined && rows !== undefined && { isReset: true }),
    verdict: checkpoint?.lastVerdict as Verdict | undefined,
    ...(checkpoint?.lastVerdict === 'unverified' && { doubt: findDoubt(runs, checkpoint) }),
    unsettled: unsettled.get(name),
    rows,
    quarantined: quarantined.get(name) ?? 0,
    watermark: checkpoint?.watermark,
    newest,
    verifiedAt: checkpoint?.lastVerifiedAt,
    fresh:
      checkpoint?.fullRefreshDue === undefined &&
      isFresh(stream, withoutFreshness(checkpoint, unsettled), {}, nowMs),
    counts: checkpoint?.counts,
    fullRefreshDue: checkpoint?.fullRefreshDue,
    ...(deferredMs !== undefined && { fullRefreshFrom: new Date(deferredMs).toISOString() }),
    wholeAt: checkpoint?.wholeAt,
    provedFrom: checkpoint?.provedFrom,
    keyColumns: checkpoint?.keyFields,
    keyState: keyState(checkpoint),
  };
}

function findDoubt(runs: readonly RunReport[], { stream, slice, runId }: Checkpoint): string | undefined {
  const run = runs.find((one) => one.runId === runId);
  return run?.streams.find((one) => one.stream === stream && one.slice === slice)?.reasons[0];
}

function isUnproved(unproved: UnprovedStreams, stream: Stream): boolean {
  if (stream.slice !== undefined) return unproved.has(nameOf(stream));
  return listUnproved(unproved, stream.name).length > 0;
}

function keyState(checkpoint: Checkpoint | undefined): StreamStatusRow['keyState'] {
  if (checkpoint?.keyOrigin === undefined) return undefined;
  if (checkpoint.keyOrigin === 'config') return 'config';
  return checkpoint.keyProvedOn.length >= KEY_PROOF_DAYS ? 'proved' : 'provisional';
}
