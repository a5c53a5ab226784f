import { readCheckpoints, readContract } from '../../state/checkpoints.ts';
import { describeTable, type TableFacts } from '../dictionary/describe-table.ts';
import { writeTableComments } from '../dictionary/write-comments.ts';
import type { Stream } from '../model/stream.ts';
import type { Loading } from '../run/run-context.ts';
import { findColumnsWithNulls } from '../warehouse/column-facts.ts';
import { writeComments } from '../warehouse/comments.ts';
import { historyOf, isHistory, readColumns } from '../warehouse/evolve-table.ts';

/**
 * Writes what a stream's table and its columns are into their comments, where it changed. Call last in the transaction
 * that changed the table: what is published has these comments, too.
 */
export async function commentTable({ database, settings }: Loading, stream: Stream): Promise<void> {
  const held = await readColumns(database, stream.table);
  if (held.size === 0) return;
  const checkpoints = await readCheckpoints(database);
  const facts: TableFacts = {
    stream,
    connector: settings.connector.name,
    table: stream.table,
    holds: 'rows',
    held,
    learned: await readContract(database, stream.name),
    checkpoints: checkpoints.filter((one) => one.stream === stream.name),
    withNulls: await findColumnsWithNulls(database, stream.table, [...held.keys()]),
  };
  const history = historyOf(stream.table);
  const versions = await readColumns(database, history);
  const tables = [
    describeTable(facts),
    ...(isHistory(versions)
      ? [
          describeTable({
            ...facts,
            table: history,
            holds: 'versions',
            held: versions,
            withNulls: undefined,
          }),
        ]
      : []),
  ];
  for (const table of tables)
    await writeComments(database, [writeTableComments(table)], { name: table.table });
}
