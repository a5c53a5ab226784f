import type { AttemptFacts, RunFacts } from '../../model/report-data.ts';
import type { ReportedError, RowCounts, RunReport } from '../../model/run-report.ts';
import { isOfSync, isSync, isUnfinished } from '../../model/run-report.ts';
import { type SqlRow, toIso } from '../../model/sql.ts';
import { nameScan } from '../../model/stream.ts';
import type { Database } from '../../warehouse/database.ts';

/** Runs that are shown. */
export const MOST_RUNS = 60;
/** Most stream results read for those runs. */
const MOST_ATTEMPT_ROWS = 50_000;

/** An attempt with its reasons and error. */
export type LastAttempt = AttemptFacts & {
  readonly reasons: readonly string[];
  readonly error: ReportedError | undefined;
};

/** What happened so far. */
export interface History {
  /** Oldest first. */
  readonly runs: readonly RunFacts[];
  /** Attempts of each stream and slice, by `nameScan`, oldest first. */
  readonly attempts: ReadonlyMap<string, readonly LastAttempt[]>;
}

/** Joins the published history and the run file, which also has the runs that never reached the warehouse. */
export async function readHistory(
  database: Database | undefined,
  recent: readonly RunReport[],
): Promise<History> {
  const told = new Map(recent.map((run) => [run.runId, run]));
  const rows = database === undefined ? [] : await readStreamRuns(database);
  const published = database === undefined ? [] : await readRuns(database, rows);
  const runs = [...recent.map(toRunFacts), ...published.filter(({ runId }) => !told.has(runId))]
    .toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1))
    .slice(-MOST_RUNS);
  const shown = new Set(runs.map(({ runId }) => runId));
  const fromTable = rows.filter(
    (row) => isOfSync(row) && shown.has(row.attempt.runId) && !told.has(row.attempt.runId),
  );
  const all = [...fromTable, ...recent.filter(({ runId }) => shown.has(runId)).flatMap(toAttempts)];
  all.sort((a, b) => (a.attempt.startedAt < b.attempt.startedAt ? -1 : 1));
  const attempts = new Map<string, LastAttempt[]>();
  for (const { name, attempt } of all) {
    const own = attempts.get(name) ?? [];
    attempts.set(name, own);
    own.push(attempt);
  }
  return { runs, attempts };
}

async function readRuns(
  database: Database,
  attempts: readonly PublishedAttempt[],
): Promise<readonly RunFacts[]> {
  const streams = Map.groupBy(attempts, ({ attempt }) => attempt.runId);
  const rows = await database.all(
    `SELECT * FROM _sluice.runs ORDER BY started_at DESC LIMIT ${MOST_RUNS + 1}`,
  );
  return rows.map((row) => ({
    runId: String(row['run_id']),
    isSync: isSync({ status: String(row['status']), streams: streams.get(String(row['run_id'])) ?? [] }),
    startedAt: toIso(row['started_at']),
    finishedAt: row['finished_at'] === null ? undefined : toIso(row['finished_at']),
    status: String(row['status']),
    exitCode: row['exit_code'] === null ? undefined : Number(row['exit_code']),
    requests: Number(row['requests']),
    retries: Number(row['retries']),
    waitedMs: Number(row['waited_ms']),
    rows: toCounts(row),
    error: undefined,
  }));
}

function toRunFacts(run: RunReport): RunFacts {
  const isOpen = isUnfinished(run.status);
  return {
    runId: run.runId,
    isSync: isSync(run),
    startedAt: run.startedAt,
    finishedAt: isOpen ? undefined : run.finishedAt,
    status: run.status,
    exitCode: isOpen ? undefined : run.exitCode,
    requests: run.requests,
    retries: run.retries,
    waitedMs: run.waitedMs,
    rows: run.rows,
    error: run.error,
  };
}

interface NamedAttempt {
  readonly name: string;
  readonly attempt: LastAttempt;
}

interface PublishedAttempt extends NamedAttempt {
  readonly mode: string | undefined;
  readonly status: string;
}

async function readStreamRuns(database: Database): Promise<readonly PublishedAttempt[]> {
  // `mode` and `reasons` were added to the table later.
  const rows = await database.all(
    `SELECT * FROM _sluice.stream_runs WHERE run_id IN
       (SELECT run_id FROM _sluice.runs ORDER BY started_at DESC LIMIT ${MOST_RUNS})
       ORDER BY started_at DESC LIMIT ${MOST_ATTEMPT_ROWS}`,
  );
  return rows.map((row) => ({
    name: nameScan(String(row['stream']), String(row['slice'])),
    mode: 'mode' in row ? toText(row['mode']) : 'full',
    status: String(row['status']),
    attempt: {
      runId: String(row['run_id']),
      startedAt: toIso(row['started_at']),
      status: String(row['status']),
      verdict: toText(row['verdict']),
      reasons: readReasons(row['reasons']),
      error: undefined,
    },
  }));
}

function toAttempts(run: RunReport): readonly NamedAttempt[] {
  return run.streams
    .filter(isOfSync)
    .map(({ stream, slice, startedAt, status, verdict, reasons, error }) => ({
      name: nameScan(stream, slice),
      attempt: { runId: run.runId, startedAt, status, verdict, reasons, error },
    }));
}

function toText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function readReasons(value: unknown): readonly string[] {
  if (typeof value !== 'string') return [];
  const read: unknown = JSON.parse(value);
  return Array.isArray(read) ? read.map(String) : [];
}

function toCounts(row: SqlRow): RowCounts {
  const count = (name: string) => Number(row[`rows_${name}`] ?? 0);
  return {
    read: count('read'),
    inserted: count('inserted'),
    updated: count('updated'),
    unchanged: count('unchanged'),
    deleted: count('deleted'),
    quarantined: count('quarantined'),
  };
}
