import type { DuckLakeDestination } from '../../../model/destination.ts';
import type { Database } from '../../../warehouse/database.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import { onOneThread } from '../../../warehouse/on-one-thread.ts';
import type { Maintenance } from '../lakehouse.ts';
import { LAKE, locateInLake, nameInLake, OWN_TABLES } from '../names.ts';
import { AUTHOR } from './inspect-ducklake.ts';
import { loosenBounds } from './loosen-bounds.ts';
import { formatCount, formatCountOf } from '../../../text/format-count.ts';

interface Job extends Maintenance {
  /** Open on the lake. */
  readonly database: Database;
  readonly lake: Pick<DuckLakeDestination, 'catalog' | 'schema'>;
  /** Prepares each transaction. */
  readonly begin: () => Promise<void>;
}

/**
 * Joins small files, removes deleted rows from large ones, and removes snapshots and files that nobody needs any more.
 * Rows are the same before and after.
 *
 * @throws Error if a table has other rows afterwards: nothing was committed then
 */
export function maintainDuckLake(job: Job): Promise<void> {
  // Several tables end at once otherwise, and the extension (of DuckDB 1.5.5) notes each in one unguarded list: a crash.
  return onOneThread(job.database, () => maintain(job));
}

async function maintain(job: Job): Promise<void> {
  const { database, nowMs, keepMs } = job;
  const before = await countRows(job);
  const name = quoteLiteral(LAKE);
  // The engine cannot commit two of them at once.
  for (const work of [
    `ducklake_flush_inlined_data(${name})`,
    `ducklake_merge_adjacent_files(${name})`,
    `ducklake_rewrite_data_files(${name}, delete_threshold => ${keepMs === 0 ? '0.0' : '0.1'})`,
  ]) {
    await loosenBounds(database, job.lake);
    await database.transaction(async () => {
      await nameTransaction(job);
      await database.run(`CALL ${work}`);
      assertSame(before, await countRows(job));
    });
  }
  await database.transaction(async () => {
    await nameTransaction(job);
    const commit = nameInLake(job.lake, '_sluice', OWN_TABLES.commit);
    await database.run(`UPDATE ${commit} SET maintained_at = make_timestamptz(${nowMs * 1_000}::BIGINT)`);
  });
  // Snapshots have the times of the engine's clock.
  const until = `older_than => now() - to_milliseconds(${Math.round(keepMs)}::BIGINT)`;
  await database.run(`CALL ducklake_expire_snapshots(${name}, ${until})`);
  const files = keepMs === 0 ? 'cleanup_all => true' : until;
  await database.run(`CALL ducklake_cleanup_old_files(${name}, ${files})`);
}

/** The snapshot is ours, and of the same commit: nobody has to look at what changed in it. */
async function nameTransaction({ database, generation, begin, refuseTouched }: Job): Promise<void> {
  await begin();
  await refuseTouched();
  const about = quoteLiteral(JSON.stringify({ generation }));
  await database.run(
    `CALL ducklake_set_commit_message(${quoteLiteral(LAKE)}, ${quoteLiteral(AUTHOR)}, 'maintenance', extra_info => ${about})`,
  );
}

async function countRows({ database, lake, tables }: Job): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const name of tables.keys())
    counts.set(name, await database.count(`SELECT count(*) FROM ${locateInLake(lake, name)}`));
  return counts;
}

function assertSame(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): void {
  const changed = [...before].find(([name, rows]) => after.get(name) !== rows);
  if (changed === undefined) return;
  const [name, rows] = changed;
  throw new Error(
    `maintenance would change ${name} from ${formatCount(rows)} to ${formatCountOf(after.get(name) ?? 0, 'row')}; it was not done`,
  );
}
