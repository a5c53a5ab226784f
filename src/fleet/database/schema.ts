import { ConfigError } from '../../model/errors.ts';
import { quotaTableSql } from '../quota/quota-table.ts';
import type { FleetDatabase, Sql } from './sql.ts';

/** The schema of a fleet's tables; the queue has one of its own. */
export const FLEET_SCHEMA = 'sluice_fleet';

/** Steps that make the tables, in order; they are only ever added to. */
const STEPS: readonly string[] = [
  `CREATE TABLE sluice_fleet.accounts (
     account text PRIMARY KEY,
     -- Grows with each holder: what comes late from an earlier one is refused.
     token bigint NOT NULL DEFAULT 0,
     holder text,
     lease_until timestamptz,
     -- The last lease was ended by somebody else: its holder may still be at work.
     is_unsettled boolean NOT NULL DEFAULT false,
     started_at timestamptz,
     next_at timestamptz,
     priority int NOT NULL DEFAULT 0,
     queued_at timestamptz,
     job_id uuid,
     paused_at timestamptz,
     -- The state folder as it was put away last, and pages that were put away since.
     object text,
     stages jsonb,
     -- What was left of the window of its key, where that is little: a ledger that travels does not know of a killed run.
     quota jsonb,
     failures int NOT NULL DEFAULT 0,
     last_run_id text,
     last_exit_code int,
     last_started_at timestamptz,
     last_ended_at timestamptz,
     last_clean_at timestamptz,
     last_error jsonb,
     source jsonb,
     added_at timestamptz NOT NULL DEFAULT clock_timestamp()
   );
   CREATE INDEX accounts_due ON sluice_fleet.accounts (next_at) WHERE paused_at IS NULL;
   CREATE TABLE sluice_fleet.runs (
     account text NOT NULL,
     token bigint NOT NULL,
     worker text NOT NULL,
     run_id text,
     started_at timestamptz NOT NULL,
     finished_at timestamptz,
     -- running, ended, lost (its lease ended), failed (its process ended)
     status text NOT NULL,
     exit_code int,
     requests int,
     rate_limited int,
     rows_read bigint,
     rows_changed bigint,
     object_bytes bigint,
     resume_at timestamptz,
     error jsonb,
     report jsonb,
     PRIMARY KEY (account, token)
   );
   CREATE INDEX runs_finished ON sluice_fleet.runs (finished_at);
   CREATE TABLE sluice_fleet.workers (
     worker text PRIMARY KEY,
     host text NOT NULL,
     pid int NOT NULL,
     lanes int NOT NULL,
     version text NOT NULL,
     started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     stopped_at timestamptz
   );
   CREATE TABLE sluice_fleet.objects (
     name text NOT NULL,
     part int NOT NULL,
     bytes bytea NOT NULL,
     stored_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     PRIMARY KEY (name, part)
   );
   -- What is encrypted cannot be compressed.
   ALTER TABLE sluice_fleet.objects ALTER COLUMN bytes SET STORAGE EXTERNAL;`,
  quotaTableSql,
  // Somebody said that the next run may read with a key whose data differs.
  `ALTER TABLE sluice_fleet.accounts ADD COLUMN accepts_new_key boolean NOT NULL DEFAULT false`,
];

/** Version of the tables that this release makes. */
export const FLEET_VERSION = STEPS.length;

/** Two that make the tables at once take turns; the number is only ours. */
const LOCK = 7_205_841_106;

/** Makes the tables, or brings older ones up to date, in one transaction. Returns the version that was there before. */
export async function migrateFleet(database: FleetDatabase): Promise<number> {
  return database.transaction(async (sql) => {
    await sql.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    await sql.query(`CREATE SCHEMA IF NOT EXISTS ${FLEET_SCHEMA}`);
    await sql.query(`CREATE TABLE IF NOT EXISTS ${FLEET_SCHEMA}.version (version int NOT NULL)`);
    const before = await readVersion(sql);
    refuseNewer(before, database.place);
    for (const step of STEPS.slice(before)) await sql.query(step);
    await sql.query(`DELETE FROM ${FLEET_SCHEMA}.version`);
    await sql.query(`INSERT INTO ${FLEET_SCHEMA}.version VALUES ($1)`, [FLEET_VERSION]);
    return before;
  });
}

/** Throws a ConfigError (2) unless the database has exactly the tables of this release. */
export async function assertMigrated(database: FleetDatabase): Promise<void> {
  const version = await readVersion(database);
  refuseNewer(version, database.place);
  if (version === FLEET_VERSION) return;
  throw new ConfigError(`${database.place} has the fleet's tables of an older release`, {
    code: 'config_invalid',
    hint: 'Run `sluice fleet init` with this release once; workers of the older one keep running until they are replaced.',
    context: { path: database.place },
  });
}

async function readVersion(sql: Sql): Promise<number> {
  const [row] = await sql.query(`SELECT version FROM ${FLEET_SCHEMA}.version`);
  return Number(row?.['version'] ?? 0);
}

function refuseNewer(version: number, place: string): void {
  if (version <= FLEET_VERSION) return;
  throw new ConfigError(`${place} has the fleet's tables of a newer release`, {
    code: 'config_invalid',
    hint: 'Upgrade Sluice here. Nothing was changed.',
    context: { path: place },
  });
}
