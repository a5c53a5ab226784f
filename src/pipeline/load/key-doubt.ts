import type { Checkpoint, Stream } from '../../model/stream.ts';
import { sliceIdOf } from '../../model/stream.ts';
import { tableName } from '../../warehouse/evolve-table.ts';
import { countDuplicates } from '../../warehouse/find-key.ts';
import { readScope } from '../../warehouse/live-rows.ts';
import type { RunContext } from '../run-context.ts';
import type { FetchedScan, PreparedLoad } from '../scan.ts';

/**
 * Whether the table's rows came by another key than this scan's, so that those it does not find again may be
 * older versions of others.
 */
export async function isKeyInDoubt(
  context: RunContext,
  stream: Stream,
  scan: FetchedScan,
  load: PreparedLoad,
  checkpoint: Checkpoint | undefined,
): Promise<boolean> {
  if (!load.tableExisted || load.key === undefined) return false;
  const { columns, origin } = load.key;
  if (checkpoint?.keyFields?.join() === columns.join()) return false;
  if (origin === 'learned' && checkpoint !== undefined && scan.rows > 0) return true;
  // Old rows can stay beside the new ones if the new key tells them apart as well.
  const known = columns.every((name) =>
    load.columns.some(
      (column) => column.name === name && column.existingType !== undefined && column.existingType !== 'NULL',
    ),
  );
  return !known || (await doesKeyRepeat(context, stream, columns));
}

async function doesKeyRepeat(
  { database }: RunContext,
  stream: Stream,
  key: readonly string[],
): Promise<boolean> {
  const { own, live, isSliced } = await readScope(database, stream.table, sliceIdOf(stream));
  const rows = `(SELECT * FROM ${tableName(stream.table)} t WHERE ${own} AND ${live})`;
  // The same key in two slices is two rows, also once the stream is no longer cut into slices.
  return (await countDuplicates(database, rows, isSliced ? [...key, '_slice'] : key)) > 0;
}
