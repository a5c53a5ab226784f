import { toDamageError } from '../../state/prove-state.ts';
import type { Database } from '../warehouse/database.ts';
import { readColumns } from '../warehouse/evolve-table.ts';

/**
 * Checks the tables of streams against their checkpoints: a dropped or altered table must not pass as complete.
 *
 * @param streams streams of the config; other streams in the file have tables of the same name
 * @param except names of streams whose tables may be missing
 * @throws StorageError `state_damaged`.
 */
export async function proveTables(
  database: Database,
  streams: readonly { readonly name: string; readonly table: string }[],
  except: readonly string[] = [],
): Promise<void> {
  const learned = await database.all(
    `SELECT stream, '_run_id' AS column_name FROM _sluice.checkpoints
       UNION ALL SELECT stream, column_name FROM _sluice.contracts WHERE type <> 'NULL'`,
  );
  const tables = new Map(streams.map(({ name, table }) => [name, table]));
  for (const { stream, column_name: column } of learned) {
    const name = String(stream);
    const table = tables.get(name) ?? name;
    if (except.includes(name)) continue;
    // Columns are read once a table, and a sync needs them anyway; the list of all columns costs 20 ms.
    if ((await readColumns(database, table)).has(String(column))) continue;
    const what = column === '_run_id' ? 'is gone' : `has lost its column ${String(column)}`;
    throw toDamageError(database.file, `the table ${table} ${what}`);
  }
}
