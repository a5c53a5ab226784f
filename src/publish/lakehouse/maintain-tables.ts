import { PublishError } from '../../model/errors.ts';
import type { Database } from '../../warehouse/database.ts';
import { isAnyTouched, readHeldTables } from './held-tables.ts';
import type { Extent, Lakehouse, OwnUpkeep } from './lakehouse.ts';

/**
 * Removes what nobody needs any more from an open lakehouse.
 *
 * @throws PublishError (6) if another program may have changed rows: its change would be hidden behind our own snapshot,
 * so that no sync repaired it
 */
export async function maintainTables(
  lakehouse: Lakehouse,
  upkeep: OwnUpkeep,
  database: Database,
  extent: Extent,
): Promise<void> {
  const held = await readHeldTables(database, lakehouse);
  if (held === undefined) return;
  const { path } = lakehouse.destination;
  if (isAnyTouched(held))
    throw new PublishError(`another program changed ${path} since the last publish`, {
      code: 'publish_failed',
      hint: 'Run `sluice sync --force`: it compares the tables with what was synced, repairs them, and then maintains them. Nothing was removed.',
      context: { path },
    });
  await upkeep.maintain(database, { ...held, ...extent });
}
