import { randomBytes } from 'node:crypto';
import { readRunFile } from '../../state/run-file.ts';
import { purgeHistory, writeRun, writeStreamRun } from '../../state/runs.ts';
import { QuotaError, type SyncError } from '../model/errors.ts';
import type { QuotaSnapshot } from '../model/quota.ts';
import {
  isUnfinished,
  type RowCounts,
  type RunReport,
  type StreamReport,
  toReportedError,
} from '../model/run-report.ts';
import { nameScan } from '../model/stream.ts';
import { version } from '../model/version.ts';
import type { Database } from '../warehouse/database.ts';
import { purgeVersions } from '../warehouse/keep-history.ts';
import { decideExitCode, describeOutcome } from './decide-exit-code.ts';
import { hideSecrets } from '../storage/hide-secrets.ts';
import { findRetentionTime } from '../storage/record-times.ts';
import type { Recording } from '../run/run-context.ts';

/** What a run knows about itself at some moment. */
export interface RunFacts {
  readonly startedAtMs: number;
  readonly streams: readonly StreamReport[];
  readonly warnings: readonly string[];
  readonly error: SyncError | undefined;
  readonly published: RunReport['published'];
  readonly quota: QuotaSnapshot;
}

/** The report of a run as it stands. */
export function reportRun({ runId, source, recordClock, settings }: Recording, facts: RunFacts): RunReport {
  const { streams, warnings, error, published, quota } = facts;
  const nowMs = recordClock.now();
  // May be later than now if the clock was corrected since.
  const startedAtMs = Math.min(facts.startedAtMs, nowMs);
  const exitCode = decideExitCode(streams, error?.exitCode);
  const { requests, retries, rateLimited, waitedMs } = source.client.usage;
  // Only a time that is still ahead is worth waiting for.
  const resumeAtMs = findResumeMs(error, streams);
  const resumesLater = resumeAtMs !== undefined && resumeAtMs > nowMs + 1_000;
  return {
    runId,
    status: describeOutcome(exitCode),
    exitCode,
    startedAt: new Date(startedAtMs).toISOString(),
    finishedAt: new Date(nowMs).toISOString(),
    requests,
    retries,
    rateLimited,
    // Parallel waits cannot be longer than the run.
    waitedMs: Math.min(waitedMs, Math.max(0, nowMs - startedAtMs)),
    rows: sumRows(streams),
    streams,
    warnings: [...warnings],
    published,
    quota: quota.limit === undefined ? undefined : quota,
    resumeAt: resumesLater ? new Date(resumeAtMs).toISOString() : undefined,
    error: error && hideSecrets(settings, toReportedError(error)),
    version,
  };
}

/** When the run's error, or the last of its streams' errors, says that running again makes progress. */
function findResumeMs(error: SyncError | undefined, streams: readonly StreamReport[]): number | undefined {
  if (error !== undefined) return error instanceof QuotaError ? error.resumeAtMs : undefined;
  const times = streams.flatMap(({ error: own }) => own?.resumeAt ?? []);
  return times.length === 0 ? undefined : Math.max(...times.map(Date.parse));
}

/**
 * Adds runs that never reached the warehouse because nothing was committed, and the ends that are not recorded there:
 * of a run that could not write any more, or not publish.
 */
export async function addMissingRuns(database: Database, runs: readonly RunReport[]): Promise<void> {
  const rows = await database.all('SELECT run_id, status, exit_code FROM _sluice.runs');
  const known = new Map(rows.map((row) => [String(row['run_id']), row]));
  for (const run of runs) {
    const row = known.get(run.runId);
    if (row === undefined) await addRun(database, run, new Set());
    else if (!isUnfinished(run.status) && (row['status'] !== run.status || row['exit_code'] !== run.exitCode))
      await addRun(database, run, await readCommitted(database, run.runId));
  }
}

async function addRun(database: Database, run: RunReport, committed: ReadonlySet<string>): Promise<void> {
  await writeRun(database, run);
  for (const report of run.streams)
    if (!committed.has(nameScan(report.stream, report.slice)))
      await writeStreamRun(database, run.runId, report);
}

/** Streams and slices of a run that were recorded with their commits. */
async function readCommitted(database: Database, runId: string): Promise<ReadonlySet<string>> {
  const rows = await database.all('SELECT stream, slice FROM _sluice.stream_runs WHERE run_id = $1', [runId]);
  return new Set(rows.map(({ stream, slice }) => nameScan(String(stream), String(slice))));
}

/** A warning as in the run's report, if nothing else names its stream. */
export function nameWarning({ stream = '', message }: WarningEvent): string {
  return message.includes(stream) ? message : `${stream}: ${message}`;
}

type WarningEvent = { readonly stream?: string | undefined; readonly message: string };

/** Forgets runs, quarantined records and closed versions older than their retention. */
export async function purgeRecords(context: Recording): Promise<void> {
  const { database, settings } = context;
  const { runsMs, quarantineMs, historyMs } = settings.retention;
  const nowMs = findRetentionTime(context);
  const before = (ageMs: number) => new Date(nowMs - ageMs).toISOString();
  await purgeHistory(database, { runs: before(runsMs), quarantine: before(quarantineMs) });
  if (historyMs !== undefined) await purgeVersions(database, before(historyMs));
}

function sumRows(streams: readonly StreamReport[]): RowCounts {
  const sum = (pick: (rows: RowCounts) => number) =>
    streams.reduce((total, { rows }) => total + pick(rows), 0);
  return {
    read: sum(({ read }) => read),
    inserted: sum(({ inserted }) => inserted),
    updated: sum(({ updated }) => updated),
    unchanged: sum(({ unchanged }) => unchanged),
    deleted: sum(({ deleted }) => deleted),
    quarantined: sum(({ quarantined }) => quarantined),
  };
}

/** The id of a run: the requested one, with a number appended if it is already in use. */
export async function chooseRunId(
  database: Database,
  stateDir: string,
  wanted: string | undefined,
  startedAtMs: number,
): Promise<string> {
  if (wanted === undefined) return createRunId(startedAtMs);
  const rows = await database.all('SELECT run_id FROM _sluice.runs');
  const taken = new Set([
    ...rows.map((row) => String(row['run_id'])),
    ...readRunFile(stateDir).map(({ runId }) => runId),
  ]);
  let runId = wanted;
  for (let number = 2; taken.has(runId); number += 1) runId = `${wanted}-${number}`;
  return runId;
}

/** Sorts by time, and is unique for two runs within a second. */
function createRunId(startedAtMs: number): string {
  const time = new Date(startedAtMs)
    .toISOString()
    .replace(/[-:]/g, '')
    .replace(/\.\d+Z$/, 'Z');
  return `${time}-${randomBytes(3).toString('hex')}`;
}
