import type { CleanRun } from '../../model/fleet-report.ts';
import type { RunReport } from '../../model/run-report.ts';
import type { Sql } from './sql.ts';

/** The last run of each account that ended with exit code 0, by account. */
export async function readCleanRuns(sql: Sql): Promise<ReadonlyMap<string, CleanRun>> {
  const rows = await sql.query(
    `SELECT DISTINCT ON (account) account, report FROM sluice_fleet.runs
      WHERE exit_code = 0 AND report IS NOT NULL ORDER BY account, token DESC`,
  );
  return new Map(rows.map(({ account, report }) => [String(account), readRun(report as Partial<RunReport>)]));
}

/** A report may be of another release. */
function readRun({ runId = '', startedAt = '', requests = 0, streams = [] }: Partial<RunReport>): CleanRun {
  return {
    runId,
    startedAt,
    requests,
    streams: streams.map(({ stream, slice, status, verdict, rowsInTable }) => ({
      stream,
      slice,
      status,
      verdict,
      rowsInTable,
    })),
  };
}
