import type { Database } from '../../warehouse/database.ts';
import { quoteLiteral } from '../../warehouse/identifiers.ts';
import { AUTHOR, type HeldLake, splitName } from './lake-state.ts';
import { LAKE, nameInLake, OWN_TABLES } from './names.ts';

/** Often enough for a few files a table, whatever the number of syncs. */
const EVERY_MS = 24 * 3_600_000;

/** How a lake is maintained. */
export interface Maintenance {
  /** Open on the lake. */
  readonly database: Database;
  readonly schema: string;
  readonly held: HeldLake;
  readonly nowMs: number;
  /** Snapshots and files stay this long after something newer took their place. */
  readonly keepMs: number;
}

/** Whether the last maintenance is long enough ago. */
export function isMaintenanceDue(maintainedAtMs: number, nowMs: number): boolean {
  // A clock that was set back must not keep it from being due.
  return Math.abs(nowMs - maintainedAtMs) >= EVERY_MS;
}

/**
 * Joins small files, removes deleted rows from large ones, and removes snapshots and files that nobody needs any more.
 * Rows are the same before and after.
 *
 * @throws Error if a table has other rows afterwards: nothing was committed then
 */
export async function maintainLake(maintenance: Maintenance): Promise<void> {
  const { database, nowMs, keepMs } = maintenance;
  const before = await countRows(maintenance);
  const lake = quoteLiteral(LAKE);
  // The engine cannot commit two of them at once.
  for (const work of [
    `ducklake_flush_inlined_data(${lake})`,
    `ducklake_merge_adjacent_files(${lake})`,
    `ducklake_rewrite_data_files(${lake}, delete_threshold => ${keepMs === 0 ? '0.0' : '0.1'})`,
  ])
    await database.transaction(async () => {
      await nameTransaction(maintenance);
      await database.run(`CALL ${work}`);
      assertSame(before, await countRows(maintenance));
    });
  await database.transaction(async () => {
    await nameTransaction(maintenance);
    const commit = nameInLake(maintenance.schema, '_sluice', OWN_TABLES.commit);
    await database.run(`UPDATE ${commit} SET maintained_at = make_timestamptz(${nowMs * 1_000}::BIGINT)`);
  });
  // Snapshots have the times of the engine's clock.
  const until = `older_than => now() - to_milliseconds(${Math.round(keepMs)}::BIGINT)`;
  await database.run(`CALL ducklake_expire_snapshots(${lake}, ${until})`);
  const files = keepMs === 0 ? 'cleanup_all => true' : until;
  await database.run(`CALL ducklake_cleanup_old_files(${lake}, ${files})`);
}

/** The snapshot is ours, and of the same commit: nobody has to look at what changed in it. */
async function nameTransaction({ database, held }: Maintenance): Promise<void> {
  const about = quoteLiteral(JSON.stringify({ generation: held.generation }));
  await database.run(
    `CALL ducklake_set_commit_message(${quoteLiteral(LAKE)}, ${quoteLiteral(AUTHOR)}, 'maintenance', extra_info => ${about})`,
  );
}

async function countRows({ database, schema, held }: Maintenance): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const name of held.tables.keys())
    counts.set(name, await database.count(`SELECT count(*) FROM ${nameInLake(schema, ...splitName(name))}`));
  return counts;
}

function assertSame(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): void {
  const changed = [...before].find(([name, rows]) => after.get(name) !== rows);
  if (changed === undefined) return;
  const [name, rows] = changed;
  throw new Error(
    `maintenance would change ${name} from ${rows} to ${after.get(name) ?? 0} rows; it was not done`,
  );
}
