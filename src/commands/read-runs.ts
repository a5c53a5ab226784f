import { readRecentRuns } from '../../state/recent-runs.ts';
import { ConfigError } from '../model/errors.ts';
import type { RunSummary } from '../model/reports.ts';
import { kindOf, type RunReport } from '../model/run-report.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { type SqlRow, toIso } from '../model/sql.ts';
import { withHeld } from '../storage/with-held.ts';
import type { Database } from '../warehouse/database.ts';
import { findUnreadableState, toUnreadable } from './unreadable-state.ts';

/** The reports of the last runs that the state folder has, newest first. */
export function readRecent({ stateDir }: Pick<OfflineSettings, 'stateDir'>): readonly RunReport[] {
  return readRecentRuns(stateDir);
}

/**
 * The last runs, newest first: those the run file has, and the published history behind them.
 *
 * @throws StorageError (6) if there is only the run file, and this user cannot read it
 */
export async function readRuns(
  settings: OfflineSettings,
  { limit }: { readonly limit: number },
): Promise<readonly RunSummary[]> {
  const recent = readRecentRuns(settings.stateDir).map(summarizeRun);
  const known = new Set(recent.map(({ runId }) => runId));
  const published = await readHeldRuns(settings, limit);
  if (published.length === 0) assertReadable(settings);
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
  assertReadable(settings);
  throw new ConfigError(`no run has the id ${runId}`, {
    code: 'usage_invalid',
    hint: '`sluice runs` lists the runs.',
  });
}

function assertReadable(settings: OfflineSettings): void {
  const unreadable = findUnreadableState(settings);
  if (unreadable !== undefined) throw toUnreadable(settings.stateDir, unreadable);
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
