import { readCheckpoints, readContract } from '../../state/checkpoints.ts';
import { describeTable, type TableFacts } from '../dictionary/describe-table.ts';
import { writeTableComments } from '../dictionary/write-comments.ts';
import type { Stream } from '../model/stream.ts';
import type { Loading } from '../run/run-context.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { findColumnsWithNulls, findNulls } from '../warehouse/column-facts.ts';
import { writeComments } from '../warehouse/comments.ts';
import type { Database } from '../warehouse/database.ts';
import { historyOf, isHistory, readColumns } from '../warehouse/evolve-table.ts';
import { INCOMING } from '../warehouse/incoming.ts';
import { storedNames } from './key-columns.ts';

const NEVER_NULL: ReadonlySet<string> = new Set(['_run_id', '_synced_at']);

/**
 * The columns in which a stream's table may have a null once the incoming rows are written. Ask before that: the
 * engine then knows it from its statistics, and would read all rows afterwards.
 */
export async function listNullable(
  database: Database,
  stream: Stream,
  columns: readonly ColumnPlan[],
): Promise<ReadonlySet<string>> {
  const held = [...(await readColumns(database, stream.table)).keys()];
  const incoming = new Set(storedNames(columns));
  const before = await findColumnsWithNulls(database, stream.table, held);
  const brought = await findNulls(database, INCOMING, [...incoming]);
  const others = held.filter((name) => !incoming.has(name) && !NEVER_NULL.has(name));
  return new Set([...before, ...brought, ...others]);
}

/**
 * Writes what a stream's table and its columns are into their comments, where it changed. Call last in the transaction
 * that changed the table: what is published has these comments, too.
 *
 * @param nullable the only columns that may have nulls; all if omitted
 */
export async function commentTable(
  { database, settings }: Loading,
  stream: Stream,
  nullable?: ReadonlySet<string>,
): Promise<void> {
  const held = await readColumns(database, stream.table);
  if (held.size === 0) return;
  const checkpoints = await readCheckpoints(database);
  const mayBeNull = [...held.keys()].filter((name) => nullable?.has(name) ?? true);
  const facts: TableFacts = {
    stream,
    connector: settings.connector.name,
    table: stream.table,
    holds: 'rows',
    held,
    learned: await readContract(database, stream.name),
    checkpoints: checkpoints.filter((one) => one.stream === stream.name),
    withNulls: await findColumnsWithNulls(database, stream.table, mayBeNull),
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
