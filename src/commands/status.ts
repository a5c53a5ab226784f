import { existsSync, statSync } from 'node:fs';
import { readCheckpoints } from '../../state/checkpoints.ts';
import { isRunUnderWay } from '../../state/lock.ts';
import { readProgressFile } from '../../state/progress-file.ts';
import { findUnreadable, readRunFile } from '../../state/run-file.ts';
import { listUnproved, readUnproved, type UnprovedStreams } from '../../state/unproved-streams.ts';
import type { NewestData } from '../model/data-age.ts';
import { ConfigError, StorageError } from '../model/errors.ts';
import type { QuotaSnapshot } from '../model/quota.ts';
import type { RunSummary, StatusReport, StreamStatusRow, UnsettledAttempt } from '../model/reports.ts';
import { isSync, kindOf, type RunReport, type Verdict } from '../model/run-report.ts';
import type { RunUnderWay } from '../model/run-under-way.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { type SqlRow, toIso } from '../model/sql.ts';
import { type Checkpoint, nameOf, nameScan, sliceIdOf, sliceStream, type Stream } from '../model/stream.ts';
import type { Database } from '../warehouse/database.ts';
import { readColumns } from '../warehouse/evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from '../warehouse/identifiers.ts';
import { findLakeLosses, type LakeLoss } from '../warehouse/lake-losses.ts';
import { lakeOf } from '../warehouse/query-published.ts';
import { readNewest } from './read-newest.ts';
import { findRefusal } from './refused-run.ts';
import { listUnsettled, withoutFreshness } from '../plan/last-attempts.ts';
import { isFresh } from '../plan/plan-scan.ts';
import { findPublishedFaults } from '../storage/published-fault.ts';
import { findRestoreSource } from '../storage/restore-work-file.ts';
import { KEY_PROOF_DAYS } from '../run/scan.ts';
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
  const faults = await findPublishedFaults(settings);
  const read = (database: Database) => readHeld(database, lakeOf(readersFile), runs);
  const unreadable = findUnreadable(settings.stateDir);
  // With nothing published and no records, this would look like a first start.
  if (unreadable !== undefined && published === undefined) throw toUnreadable(settings.stateDir, unreadable);
  const known = opened === undefined ? await withHeld(settings, read) : await read(opened);
  const held = known ?? nothingHeld;
  return {
    duckdbPath: readersFile,
    published: published && { bytes: published.size, modifiedAt: published.mtime.toISOString() },
    streams: settings.streams
      .flatMap(sliceStream)
      .map((stream) => describeStream(stream, held, unsettled, nowMs)),
    // A rebuild, for example, does not see the quota.
    quota: findQuota(underWay) ?? runs.find(({ quota }) => quota !== undefined)?.quota,
    lastRun,
    underWay,
    refused: findRefusal(settings.stateDir, runs),
    ...(unreadable !== undefined && { unreadable }),
    quarantined: [...held.quarantined.values()].reduce((sum, records) => sum + records, 0),
    restoresFrom: (await findRestoreSource(settings))?.place,
    ...(published === undefined && held.facts.size > 0 && { unpublished: workFile(settings.stateDir) }),
    ...(faults.length > 0 && { faults }),
    ...(held.losses.length > 0 && { losses: held.losses.map(({ text }) => text) }),
  };
}

function toUnreadable(stateDir: string, why: string): StorageError {
  return new StorageError(`the state folder ${stateDir} cannot be read: ${why}`, {
    code: 'storage_failed',
    hint: 'Run it as the user who syncs, or let this user read the folder. Nothing was changed.',
    context: { path: stateDir },
  });
}

/** The runs of the run file, newest first. One without a recorded end is still running or was killed. */
export function readRecentRuns(stateDir: string): readonly RunReport[] {
  const runs = readRunFile(stateDir);
  if (!runs.some(({ status }) => status === 'running') || isRunUnderWay(stateDir)) return runs;
  return runs.map((run) => (run.status === 'running' ? { ...run, status: 'killed' } : run));
}

function findQuota(run: RunUnderWay | undefined): QuotaSnapshot | undefined {
  return run?.quota && { ...run.quota, notBeforeMs: undefined };
}

interface Facts {
  readonly checkpoint: Checkpoint;
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

const nothingHeld: Held = { facts: new Map(), quarantined: new Map(), losses: [], unproved: new Map() };

async function readHeld(
  database: Database,
  lake: string | undefined,
  runs: readonly RunReport[],
): Promise<Held> {
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
  const losses = lake === undefined ? [] : await findLakeLosses(database, lake);
  const unproved = await readUnproved(database);
  return { facts, quarantined: await countQuarantined(database), losses, unproved };
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
  unsettled: ReadonlyMap<string, UnsettledAttempt>,
  nowMs: number,
): StreamStatusRow {
  const name = nameOf(stream);
  const { checkpoint, rows, newest } = facts.get(name) ?? {};
  const isDamaged = losses.some(({ table }) => table === stream.table);
  return {
    stream: stream.name,
    slice: sliceIdOf(stream),
    ...(isDamaged && { isDamaged }),
    ...(isUnproved(unproved, stream) && { isUnproved: true }),
    verdict: checkpoint?.lastVerdict as Verdict | undefined,
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
    wholeAt: checkpoint?.wholeAt,
    provedFrom: checkpoint?.provedFrom,
    keyColumns: checkpoint?.keyFields,
    keyState: keyState(checkpoint),
  };
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

/** The last runs, newest first: those the run file has, and the published history behind them. */
export async function readRuns(
  settings: OfflineSettings,
  { limit }: { readonly limit: number },
): Promise<readonly RunSummary[]> {
  const recent = readRecentRuns(settings.stateDir).map(summarizeRun);
  const known = new Set(recent.map(({ runId }) => runId));
  const published = await readHeldRuns(settings, limit);
  return [...recent, ...published.filter(({ runId }) => !known.has(runId))]
    .toSorted((a, b) => (a.startedAt < b.startedAt ? 1 : -1))
    .slice(0, limit);
}

/** One run: the whole report while the run file has it, else its row in the published history. */
export async function readRun(settings: OfflineSettings, runId: string): Promise<RunReport | RunSummary> {
  const report = readRecentRuns(settings.stateDir).find((run) => run.runId === runId);
  if (report !== undefined) return report;
  const published = await readHeldRuns(settings, 100_000);
  const found = published.find((run) => run.runId === runId);
  if (found !== undefined) return found;
  throw new ConfigError(`no run has the id ${runId}`, {
    code: 'usage_invalid',
    hint: '`sluice runs` lists the runs.',
  });
}

async function readHeldRuns(settings: OfflineSettings, limit: number): Promise<readonly RunSummary[]> {
  const runs = await withHeld(settings, async (database) => {
    const rows = await database.all(
      `SELECT * FROM _sluice.runs ORDER BY started_at DESC LIMIT ${Math.trunc(limit)}`,
    );
    const streams = await readModes(database, Math.trunc(limit));
    return rows.map((row) => toSummary(row, streams.get(String(row['run_id'])) ?? []));
  });
  return runs ?? [];
}

/** What the runs of the published history did to their streams, by run. */
async function readModes(database: Database, limit: number) {
  // `mode` was added to the table later.
  const rows = await database.all(
    `SELECT DISTINCT run_id, status, COLUMNS('^mode$|^stream$') FROM _sluice.stream_runs WHERE run_id IN
       (SELECT run_id FROM _sluice.runs ORDER BY started_at DESC LIMIT ${limit})`,
  );
  const streams = rows.map((row) => ({
    runId: String(row['run_id']),
    status: String(row['status']),
    mode: 'mode' in row ? ((row['mode'] ?? undefined) as string | undefined) : 'full',
  }));
  return Map.groupBy(streams, ({ runId }) => runId);
}

function summarizeRun(run: RunReport): RunSummary {
  const { rows } = run;
  return {
    runId: run.runId,
    kind: kindOf(run),
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    status: run.status,
    exitCode: run.exitCode,
    requests: run.requests,
    waitedMs: run.waitedMs,
    rowsRead: rows.read,
    rowsInserted: rows.inserted,
    rowsUpdated: rows.updated,
    rowsUnchanged: rows.unchanged,
  };
}

function toSummary(row: SqlRow, streams: Parameters<typeof kindOf>[0]['streams']): RunSummary {
  return {
    runId: String(row['run_id']),
    kind: kindOf({ status: String(row['status']), streams }),
    startedAt: toIso(row['started_at']),
    finishedAt: toIso(row['finished_at'] ?? row['started_at']),
    status: String(row['status']),
    exitCode: Number(row['exit_code']),
    requests: Number(row['requests']),
    waitedMs: Number(row['waited_ms']),
    rowsRead: Number(row['rows_read']),
    rowsInserted: Number(row['rows_inserted']),
    rowsUpdated: Number(row['rows_updated']),
    rowsUnchanged: Number(row['rows_unchanged']),
  };
}
