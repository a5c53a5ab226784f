import type { FleetDatabase } from './sql.ts';

/** A worker, for people who look at the fleet. */
export interface WorkerIdentity {
  /** Unique for each start. */
  readonly worker: string;
  readonly host: string;
  readonly pid: number;
  readonly lanes: number;
  readonly version: string;
}

/** Records that a worker is there; call it again and again. */
export async function markSeen(database: FleetDatabase, one: WorkerIdentity): Promise<void> {
  await database.query(
    `INSERT INTO sluice_fleet.workers (worker, host, pid, lanes, version) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (worker) DO UPDATE SET seen_at = clock_timestamp(), stopped_at = NULL`,
    [one.worker, one.host, one.pid, one.lanes, one.version],
  );
}

/** Records that a worker has stopped, and forgets those that stopped long ago. */
export async function markStopped(database: FleetDatabase, worker: string): Promise<void> {
  await database.query(
    'UPDATE sluice_fleet.workers SET stopped_at = clock_timestamp(), seen_at = clock_timestamp() WHERE worker = $1',
    [worker],
  );
  await database.query(
    `DELETE FROM sluice_fleet.workers WHERE seen_at < clock_timestamp() - interval '30 days'`,
  );
}
