import type { ReportedError, RunReport } from '../../model/run-report.ts';
import { isHeld, type StoredSource, type TakenAccount } from './leases.ts';
import type { AccountQueue } from './queue.ts';
import type { FleetDatabase, Sql } from './sql.ts';

/** How a run of an account ended. */
export interface RunEnd {
  /** `ended`: by itself; `failed`: its process ended before it could report. */
  readonly status: 'ended' | 'failed';
  readonly exitCode: number;
  /** Undefined for a run that could not begin. */
  readonly report: RunReport | undefined;
  readonly error: ReportedError | undefined;
  /** From the end of the run until running it again makes progress, ms, where that is known. */
  readonly resumeInMs: number | undefined;
  /** Its state folder in the store; undefined where nothing was put away. */
  readonly object: { readonly name: string; readonly bytes: number } | undefined;
  readonly source: StoredSource | undefined;
}

/** What follows a run. */
export interface NextRun {
  /** When the account is due again, from now, ms; undefined: when somebody asks for it. */
  readonly delayMs: number | undefined;
  /** Runs in a row that have to be tried again. */
  readonly failures: number;
}

/**
 * Commits the end of a run, in one transaction: the state that was put away becomes that of the account, the run is
 * recorded, its job completed, its lease ended and the next run planned.
 *
 * @param plan what follows, from the database's time (epoch ms) and the failures in a row before
 * @returns false if the lease was lost: nothing was changed, and what was put away belongs to nobody. May be called again
 *   when the answer of a commit was lost: what is committed stays so
 */
export function endRun(
  { database, queue }: { readonly database: FleetDatabase; readonly queue: AccountQueue },
  taken: TakenAccount,
  end: RunEnd,
  plan: (nowMs: number, failures: number) => NextRun,
): Promise<boolean> {
  const { account, token, jobId } = taken;
  return database.transaction(async (sql) => {
    if (!(await isHeld(sql, taken))) return isEnded(sql, taken);
    const [row] = await sql.query(
      `SELECT failures, extract(epoch FROM clock_timestamp())::float8 * 1000 AS now FROM sluice_fleet.accounts WHERE account = $1`,
      [account],
    );
    const { delayMs, failures } = plan(Number(row?.['now']), Number(row?.['failures']));
    const { report, error, exitCode, object, source, status, resumeInMs } = end;
    await sql.query(
      `UPDATE sluice_fleet.accounts SET
         holder = NULL, lease_until = NULL, started_at = NULL, queued_at = NULL, job_id = NULL,
         next_at = clock_timestamp() + $2::float8 * interval '1 ms',
         object = coalesce($3, object), stages = CASE WHEN $3::text IS NULL THEN stages END,
         failures = $4, source = coalesce($5, source), accepts_new_key = accepts_new_key AND NOT $9,
         last_run_id = coalesce($6, last_run_id), last_exit_code = $7, last_error = $8,
         last_started_at = started_at, last_ended_at = clock_timestamp(),
         last_clean_at = CASE WHEN $7 = 0 THEN clock_timestamp() ELSE last_clean_at END
       WHERE account = $1`,
      [
        account,
        delayMs ?? null,
        object?.name ?? null,
        failures,
        toJson(source),
        report?.runId ?? null,
        exitCode,
        toJson(error),
        // The state that was put away has the new key.
        taken.acceptsNewKey && report !== undefined && object !== undefined,
      ],
    );
    await sql.query(
      `UPDATE sluice_fleet.runs SET
         finished_at = clock_timestamp(), status = $3, exit_code = $4, run_id = $5, requests = $6, rate_limited = $7,
         rows_read = $8, rows_changed = $9, object_bytes = $10,
         resume_at = clock_timestamp() + $11::float8 * interval '1 ms', error = $12, report = $13
       WHERE account = $1 AND token = $2`,
      [
        account,
        token,
        status,
        exitCode,
        report?.runId ?? null,
        report?.requests ?? null,
        report?.rateLimited ?? null,
        report?.rows.read ?? null,
        report === undefined ? null : report.rows.inserted + report.rows.updated + report.rows.deleted,
        object?.bytes ?? null,
        resumeInMs ?? null,
        toJson(error),
        toJson(report),
      ],
    );
    await queue.complete(sql, jobId, { exitCode });
    return true;
  });
}

/** Only the holder of a token ends its run so; another one that takes over marks it as lost. */
async function isEnded(sql: Sql, { account, token }: TakenAccount): Promise<boolean> {
  const rows = await sql.query(
    `SELECT 1 FROM sluice_fleet.runs WHERE account = $1 AND token = $2 AND status IN ('ended', 'failed')`,
    [account, token],
  );
  return rows.length > 0;
}

function toJson(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
