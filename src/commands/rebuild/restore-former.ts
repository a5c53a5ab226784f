import { readCheckpoint, readCheckpoints, writeCheckpoint } from '../../../state/checkpoints.ts';
import { type Checkpoint, sliceIdOf, type Stream } from '../../model/stream.ts';
import type { Database } from '../../warehouse/database.ts';
import { readColumns, tableName } from '../../warehouse/evolve-table.ts';
import { quoteLiteral } from '../../warehouse/identifiers.ts';
import type { SliceArchive } from './find-archive.ts';

/** Checkpoints of slices that are not rebuilt, and of the stream before it was sliced. */
export async function readFormer(
  database: Database,
  stream: Stream,
  archives: readonly SliceArchive[],
): Promise<readonly Checkpoint[]> {
  const rebuilt = new Set(archives.map((archive) => sliceIdOf(archive.stream)));
  const held = await readCheckpoints(database);
  return held.filter((one) => one.stream === stream.name && !rebuilt.has(one.slice));
}

/**
 * Restores those whose rows the table has again. A replayed scan deletes them, as it comes before rows that are not in
 * the archive; without them a slice would not recognise its rows among those from before the stream was sliced.
 */
export async function restoreFormer(
  database: Database,
  { name, table }: Stream,
  former: readonly Checkpoint[],
): Promise<void> {
  if (!(await readColumns(database, table)).has('_slice')) return;
  for (const checkpoint of former) {
    const { slice } = checkpoint;
    if ((await readCheckpoint(database, name, slice)) !== undefined) continue;
    const own = slice === '' ? 't._slice IS NULL' : `t._slice = ${quoteLiteral(slice)}`;
    const rows = await database.count(`SELECT count(*) FROM ${tableName(table)} t WHERE ${own}`);
    if (rows > 0) await writeCheckpoint(database, checkpoint);
  }
}
