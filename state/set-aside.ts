import type { SqlSession } from '../src/model/sql.ts';

const KEPT = ['runs', 'stream_runs', 'schema_changes'] as const;

/** Copies the records of all runs: reloading scans must not change them. */
export async function keepRunRecords(session: SqlSession): Promise<void> {
  for (const table of KEPT) {
    await session.run(`CREATE OR REPLACE TEMP TABLE kept_${table} AS FROM _sluice.${table}`);
  }
}

/** Restores the records of all runs; call inside a transaction. */
export async function restoreRunRecords(session: SqlSession): Promise<void> {
  for (const table of KEPT) {
    await session.run(`DELETE FROM _sluice.${table}`);
    await session.run(`INSERT INTO _sluice.${table} BY NAME FROM temp.kept_${table}`);
  }
}

/** Deletes the learned columns of a stream. */
export async function deleteContract(session: SqlSession, stream: string): Promise<void> {
  await session.run('DELETE FROM _sluice.contracts WHERE stream = $1', [stream]);
}

/** Deletes a checkpoint: the next scan reads everything. */
export async function deleteCheckpoint(session: SqlSession, stream: string, slice: string): Promise<void> {
  await session.run('DELETE FROM _sluice.checkpoints WHERE stream = $1 AND slice = $2', [stream, slice]);
}

/** Deletes a stream's records from quarantine: all of them, or those of one slice added by some runs. */
export async function deleteQuarantine(
  session: SqlSession,
  stream: string,
  of?: { readonly slice: string; readonly runIds: readonly string[] },
): Promise<void> {
  if (of === undefined) {
    await session.run('DELETE FROM _sluice.quarantine WHERE stream = $1', [stream]);
    return;
  }
  if (of.runIds.length === 0) return;
  const list = of.runIds.map((_, at) => `$${at + 3}`).join(', ');
  await session.run(
    `DELETE FROM _sluice.quarantine WHERE stream = $1 AND slice = $2 AND run_id IN (${list})`,
    [stream, of.slice, ...of.runIds],
  );
}
