import { readContract } from '../../../state/checkpoints.ts';
import type { Stream } from '../../model/stream.ts';
import { findLossyColumns, renameTable } from '../../warehouse/carry-rows.ts';
import { evolveTable, historyOf } from '../../warehouse/evolve-table.ts';
import { catchUpHistory } from '../../warehouse/keep-history.ts';
import { readScope } from '../../warehouse/live-rows.ts';
import { incomplete } from './find-archive.ts';
import type { Loading } from '../../run/run-context.ts';

/**
 * Restores the versions of a rebuilt table's rows: they reach further back than the archive, so none is lost.
 * Unchanged rows keep their versions; rows that differ under the current rules get a new one.
 */
export async function restoreHistory(context: Loading, stream: Stream, aside: string): Promise<void> {
  const { database, recordClock } = context;
  const lossy = await findLossyColumns(database, aside, stream.table);
  if (lossy.length > 0)
    throw incomplete(
      stream,
      `values in ${historyOf(stream.table)} do not fit the types that ${lossy.join(', ')} would have`,
    );
  const stored = (await readContract(database, stream.name)).filter(({ type }) => type !== 'NULL');
  const { live, isSliced } = await readScope(database, stream.table, '');
  await renameTable(database, aside, historyOf(stream.table));
  await database.transaction(async () => {
    const columns = stored.map((column) => ({
      ...column,
      existingType: column.type,
      takes: 0,
      companion: false,
    }));
    await evolveTable(database, { name: stream.table, exists: true }, columns, {
      sliced: stream.slices.length > 0,
      softDeletes: stream.deletes === 'soft',
      history: stream.history,
    });
    if (!stream.history) return;
    const versioned = { table: stream.table, columns: stored.map(({ name }) => name), live, isSliced };
    await catchUpHistory(database, versioned, new Date(recordClock.now()).toISOString());
  });
}
