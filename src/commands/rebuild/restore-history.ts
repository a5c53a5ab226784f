import { readContract } from '../../../state/checkpoints.ts';
import type { LearnedColumn, Stream } from '../../model/stream.ts';
import { alignWithOlder } from '../../warehouse/align-rows.ts';
import { findLossyColumns, fitColumns, renameTable } from '../../warehouse/carry-rows.ts';
import { evolveTable, historyOf, isHistory, readColumns } from '../../warehouse/evolve-table.ts';
import type { Rebuilt, SeenTypes } from '../../warehouse/fit-column.ts';
import { catchUpHistory, renewHistory } from '../../warehouse/keep-history.ts';
import { readScope } from '../../warehouse/live-rows.ts';
import { adviseText, incomplete } from './find-archive.ts';
import type { Loading } from '../../run/run-context.ts';

/**
 * Makes the versions equal to the rows of the table that is about to be rebuilt, if they are not since history was
 * switched off: what changed until then is not of the rebuild.
 */
export async function settleHistory(
  { database, recordClock }: Loading,
  stream: Stream,
  contract: readonly LearnedColumn[],
): Promise<void> {
  if (!stream.history || !isHistory(await readColumns(database, historyOf(stream.table)))) return;
  const columns = contract.filter(({ type }) => type !== 'NULL').map(({ name }) => name);
  const { live, isSliced } = await readScope(database, stream.table, '');
  const versioned = { table: stream.table, columns, live, isSliced };
  await database.transaction(() =>
    catchUpHistory(database, versioned, new Date(recordClock.now()).toISOString()),
  );
}

/**
 * Gives the rows that the rebuild did not change the run and the times that they had in the older table. Rows that it
 * changed get its time if their table has versions: the next version of each begins then.
 */
export async function restoreTimes(
  { database, recordClock }: Loading,
  stream: Stream,
  { older, seen, hasVersions }: Omit<Rebuilt, 'newer'> & { readonly hasVersions: boolean },
): Promise<void> {
  const now = new Date(recordClock.now()).toISOString();
  await database.transaction(() =>
    alignWithOlder(
      database,
      { older, newer: stream.table, seen },
      // `restoreHistory` compares live rows with their versions.
      hasVersions && stream.history
        ? { rows: 'marked', otherwise: undefined }
        : { rows: 'all', otherwise: hasVersions ? now : undefined },
    ),
  );
}

/**
 * Restores the versions of a rebuilt table's rows: they reach further back than the archive, so none is lost.
 * Unchanged rows keep their versions; rows that differ under the current rules get a new one, which begins with the
 * rebuild.
 */
export async function restoreHistory(
  context: Loading,
  stream: Stream,
  { aside, seen }: { readonly aside: string; readonly seen: SeenTypes },
): Promise<void> {
  const { database, recordClock } = context;
  const rebuilt: Rebuilt = { older: aside, newer: stream.table, seen };
  const lossy = await findLossyColumns(database, rebuilt);
  if (lossy.length > 0)
    throw incomplete(
      stream,
      `values in ${historyOf(stream.table)} do not fit the types that ${lossy.join(', ')} would have`,
      adviseText(stream, lossy),
    );
  const stored = (await readContract(database, stream.name)).filter(({ type }) => type !== 'NULL');
  const { live, isSliced } = await readScope(database, stream.table, '');
  await database.transaction(() => fitColumns(database, rebuilt));
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
    await renewHistory(database, versioned, new Date(recordClock.now()).toISOString());
  });
}
