import { LostLockError } from '../../model/errors.ts';
import { buildLostLeaseError, type Lease } from '../../model/state-lock.ts';
import type { Database } from '../../warehouse/database.ts';
import { createCommit } from './create-commit.ts';
import { type Fence, readCommit } from './held-tables.ts';
import type { Lakehouse, StoredColumn } from './lakehouse.ts';
import { nameInLake, OWN_TABLES } from './names.ts';
import { openToWrite } from './open-to-write.ts';

/** A try fails when others commit during it. It takes less time than their commits, so that this ends soon. */
const TRIES = 20;

/** Whose lakehouse is taken over, and by whom. */
export interface Takeover {
  /** Entries of `meta` that say whose rows these are. */
  readonly owner: ReadonlyMap<string, string>;
  readonly lease: Lease;
  /** For what does not fit into memory. */
  readonly folder: string;
}

/**
 * Raises the token of a lakehouse. It changes the table that every publish changes: of a publish that has begun before,
 * nothing becomes visible, and one that begins later finds the token.
 *
 * @throws LostLockError if a later holder was here; PublishError
 */
export async function takeOverLakehouse(lakehouse: Lakehouse, takeover: Takeover): Promise<void> {
  const database = await openToWrite(lakehouse, takeover.folder);
  try {
    await takeOverTables(database, lakehouse, takeover);
  } catch (error) {
    // The next publish writes all tables again, and what was begun on these fails.
    if (lakehouse.lostFiles?.isMeant(error) !== true) throw lakehouse.describeFailure(error);
  } finally {
    await database.release();
  }
}

async function takeOverTables(database: Database, lakehouse: Lakehouse, takeover: Takeover): Promise<void> {
  for (let left = TRIES - 1; ; left -= 1) {
    try {
      await database.transaction(() => raiseToken(database, lakehouse, takeover));
      return;
    } catch (thrown) {
      if (thrown instanceof LostLockError || left === 0) throw thrown;
      await takeover.lease.confirm();
    }
  }
}

async function raiseToken(
  database: Database,
  lakehouse: Lakehouse,
  { owner, lease }: Takeover,
): Promise<void> {
  const { token } = lease;
  await lakehouse.begin?.(database, lease);
  await lakehouse.endOvertaken?.(database, lease);
  const commit = await readCommit(database, lakehouse);
  if (commit === undefined) {
    // Nothing was maintained yet, so that the first publish does it.
    await createCommit(database, lakehouse, { owner, runId: undefined, nowMs: 0, token });
    return;
  }
  assertNotOvertaken(lakehouse, commit.fence, lease);
  if (!commit.hasFence) await addToken(database, lakehouse);
  const table = nameInLake(lakehouse.destination, '_sluice', OWN_TABLES.commit);
  await database.run(`UPDATE ${table} SET token = ${token}`);
  await lakehouse.sign?.(database, { generation: commit.generation ?? '', runId: `takeover ${token}` });
}

async function addToken(database: Database, lakehouse: Lakehouse): Promise<void> {
  const column: StoredColumn = { name: 'token', type: 'BIGINT', storedAs: 'BIGINT' };
  const table = nameInLake(lakehouse.destination, '_sluice', OWN_TABLES.commit);
  if (lakehouse.addColumn === undefined) {
    await database.run(`ALTER TABLE ${table} ADD COLUMN token BIGINT`);
    return;
  }
  const name = `_sluice.${OWN_TABLES.commit}`;
  const about = { columns: [column], partitions: '', datedBy: undefined };
  await lakehouse.addColumn(
    database,
    { ...about, name, schema: '_sluice', table: OWN_TABLES.commit },
    column,
  );
}

/** @throws LostLockError if a later holder of the lease took over */
export function assertNotOvertaken(
  { destination }: Pick<Lakehouse, 'destination'>,
  fence: Fence | undefined,
  lease: Lease | undefined,
): void {
  if (fence !== undefined && lease !== undefined && fence.token > lease.token)
    throw buildLostLeaseError(destination.path);
}
