import { isUnfinished, type RunReport, type StreamReport } from '../src/model/run-report.ts';
import { insertRows } from './insert-rows.ts';
import type { SqlSession } from '../src/model/sql.ts';

/** Inserts or replaces a run's row. */
export async function writeRun(session: SqlSession, run: RunReport): Promise<void> {
  await session.run('DELETE FROM _sluice.runs WHERE run_id = $1', [run.runId]);
  await session.run(
    `INSERT INTO _sluice.runs VALUES ($1, $2::TIMESTAMPTZ, $3::TIMESTAMPTZ, $4, $5, $6, $7, $8, $9, $10, $11, $12,
       $13, $14, $15)`,
    [
      run.runId,
      run.startedAt,
      isUnfinished(run.status) ? null : run.finishedAt,
      run.status,
      isUnfinished(run.status) ? null : run.exitCode,
      run.requests,
      run.retries,
      Math.round(run.waitedMs),
      run.rows.read,
      run.rows.inserted,
      run.rows.updated,
      run.rows.unchanged,
      run.rows.deleted,
      run.rows.quarantined,
      run.version,
    ],
  );
}

/** Whether an earlier run has no recorded end; call while the state lock is held, so that none is still running. */
export async function hasOpenRuns(session: SqlSession, currentRunId: string): Promise<boolean> {
  const rows = await session.all(
    `SELECT 1 FROM _sluice.runs WHERE status = 'running' AND run_id <> $1 LIMIT 1`,
    [currentRunId],
  );
  return rows.length > 0;
}

/**
 * Marks runs that never recorded their end as killed; call while the state lock is held, so that none is still
 * running.
 */
export async function closeKilledRuns(session: SqlSession, currentRunId: string): Promise<void> {
  await session.run(`UPDATE _sluice.runs SET status = 'killed' WHERE status = 'running' AND run_id <> $1`, [
    currentRunId,
  ]);
}

/** Inserts or replaces what one run did for one stream. */
export async function writeStreamRun(
  session: SqlSession,
  runId: string,
  report: StreamReport,
): Promise<void> {
  await session.run('DELETE FROM _sluice.stream_runs WHERE run_id = $1 AND stream = $2 AND slice = $3', [
    runId,
    report.stream,
    report.slice,
  ]);
  await session.run(
    `INSERT INTO _sluice.stream_runs VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::TIMESTAMPTZ,
       $12::TIMESTAMPTZ, $13, $14::JSON, $15, $16, $17, $18, $19, $20, $21, $22)`,
    [
      runId,
      report.stream,
      report.slice,
      report.status,
      report.verdict ?? null,
      report.rowsDeclared ?? null,
      report.rows.read,
      report.pages,
      report.requests,
      report.rescans,
      report.startedAt,
      report.finishedAt,
      report.mode ?? null,
      JSON.stringify(report.reasons),
      report.rows.inserted,
      report.rows.updated,
      report.rows.unchanged,
      report.rows.deleted,
      report.rows.quarantined,
      report.rowsInApi ?? null,
      report.rowsInTable ?? null,
      report.difference ?? null,
    ],
  );
  await insertRows(
    session,
    '_sluice.schema_changes',
    ['VARCHAR', 'VARCHAR', 'VARCHAR', 'VARCHAR', 'VARCHAR', 'VARCHAR', 'TIMESTAMPTZ'],
    report.schemaChanges.map(({ column, change, fromType, toType }) => [
      runId,
      report.stream,
      column,
      change,
      fromType ?? null,
      toType ?? null,
      report.finishedAt,
    ]),
  );
}

/** Deletes runs and quarantined records older than their retention. */
export async function purgeHistory(
  session: SqlSession,
  before: { readonly runs: string; readonly quarantine: string },
): Promise<void> {
  await session.run('DELETE FROM _sluice.stream_runs WHERE started_at < $1::TIMESTAMPTZ', [before.runs]);
  await session.run('DELETE FROM _sluice.runs WHERE started_at < $1::TIMESTAMPTZ', [before.runs]);
  await session.run('DELETE FROM _sluice.quarantine WHERE quarantined_at < $1::TIMESTAMPTZ', [
    before.quarantine,
  ]);
}
