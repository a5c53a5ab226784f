import { ConfigError } from '../../model/errors.ts';
import type { FleetChange } from '../../model/fleet-report.ts';
import type { FleetDatabase, Row, Sql } from './sql.ts';

/** Above all that a schedule asks for. */
const ASKED_PRIORITY = 10;

/** How a run is asked for. */
export interface AskedRun {
  /** Also for an account that is paused. */
  readonly resumes: boolean;
  /** A key that returns other data than the tables have is taken for a new one of the same account. */
  readonly acceptsNewKey: boolean;
}

/** Makes an account due now, before those of the schedule. */
export function askForRun(
  database: FleetDatabase,
  account: string,
  { resumes, acceptsNewKey }: AskedRun,
): Promise<FleetChange> {
  return change(database, account, async (sql, row) => {
    if (!resumes && row['paused_at'] !== null) return 'still paused';
    if (isAtWork(row)) return 'running';
    // One that is queued already is queued again with its priority.
    await sql.query(
      `UPDATE sluice_fleet.accounts SET next_at = clock_timestamp(), priority = $2, failures = 0, queued_at = NULL, paused_at = NULL,
              accepts_new_key = accepts_new_key OR $3
        WHERE account = $1`,
      [account, ASKED_PRIORITY, acceptsNewKey],
    );
    return 'queued';
  });
}

/** Begins no further run of an account; one that is under way goes on to its end. */
export function pauseAccount(database: FleetDatabase, account: string): Promise<FleetChange> {
  return change(database, account, async (sql, row) => {
    if (row['paused_at'] !== null) return 'paused already';
    await sql.query('UPDATE sluice_fleet.accounts SET paused_at = clock_timestamp() WHERE account = $1', [
      account,
    ]);
    return 'paused';
  });
}

/** Lets runs of an account begin again. */
export function resumeAccount(database: FleetDatabase, account: string): Promise<FleetChange> {
  return change(database, account, async (sql, row) => {
    if (row['paused_at'] === null) return 'not paused';
    await sql.query(
      'UPDATE sluice_fleet.accounts SET paused_at = NULL, queued_at = NULL WHERE account = $1',
      [account],
    );
    return 'resumed';
  });
}

/**
 * Ends the lease of an account: what its holder still does is refused. The next run counts as one that takes over. With
 * `forgetsState`, that run has no state from the store. Throws ConfigError (2) for an account that neither the config nor the
 * fleet has.
 */
export function freeAccount(
  database: FleetDatabase,
  account: string,
  { forgetsState, isInConfig }: { readonly forgetsState: boolean; readonly isInConfig: boolean },
): Promise<FleetChange> {
  const free = async (sql: Sql, row: Row): Promise<FleetChange['outcome']> => {
    const isHeld = row['holder'] !== null;
    if (isHeld)
      await sql.query(
        `UPDATE sluice_fleet.accounts SET token = token + 1, holder = NULL, lease_until = NULL, started_at = NULL,
           is_unsettled = true, next_at = clock_timestamp() WHERE account = $1`,
        [account],
      );
    if (isHeld)
      await sql.query(
        `UPDATE sluice_fleet.runs SET status = 'lost', finished_at = clock_timestamp()
          WHERE account = $1 AND status = 'running'`,
        [account],
      );
    if (forgetsState)
      await sql.query('UPDATE sluice_fleet.accounts SET object = NULL, stages = NULL WHERE account = $1', [
        account,
      ]);
    return isHeld ? 'freed' : 'not held';
  };
  return change(database, account, free, isInConfig);
}

function isAtWork(row: Row): boolean {
  return row['holder'] !== null && row['is_leased'] === true;
}

/** Changes one account while nobody else does; one of the config that no worker has seen yet is added first. */
function change(
  database: FleetDatabase,
  account: string,
  work: (sql: Sql, row: Row) => Promise<FleetChange['outcome']>,
  isInConfig = true,
): Promise<FleetChange> {
  return database.transaction(async (sql) => {
    if (isInConfig)
      await sql.query(
        `INSERT INTO sluice_fleet.accounts (account, next_at) VALUES ($1, clock_timestamp())
         ON CONFLICT (account) DO NOTHING`,
        [account],
      );
    const [row] = await sql.query(
      `SELECT holder, paused_at, lease_until >= clock_timestamp() AS is_leased
         FROM sluice_fleet.accounts WHERE account = $1 FOR UPDATE`,
      [account],
    );
    if (row === undefined) throw refuseUnknown(account);
    const outcome = await work(sql, row);
    return { account, outcome, worker: typeof row['holder'] === 'string' ? row['holder'] : undefined };
  });
}

function refuseUnknown(account: string): ConfigError {
  return new ConfigError(`no account is called ${JSON.stringify(account)}, in the config or in the fleet`, {
    code: 'usage_invalid',
    hint: '`sluice fleet status --all` shows the names. Nothing was changed.',
  });
}
