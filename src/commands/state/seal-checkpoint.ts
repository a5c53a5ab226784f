import { hash } from 'node:crypto';
import { canonicalText } from '../../json/fingerprint.ts';
import type { Checkpoint } from '../../model/stream.ts';
import type { Database } from '../../warehouse/database.ts';
import { readColumns, tableExists, tableName } from '../../warehouse/evolve-table.ts';
import { quoteIdentifier } from '../../warehouse/identifiers.ts';
import { readScope } from '../../warehouse/live-rows.ts';

/** Columns about when a row was written, not about its content. */
const RUN_COLUMNS: ReadonlySet<string> = new Set(['_run_id', '_synced_at', '_deleted_at']);

/**
 * Binds a checkpoint to the rows that it describes: with different rows the same checkpoint has a different seal.
 * Undefined if there is no table. Reads the table once.
 */
export async function sealCheckpoint(
  database: Database,
  checkpoint: Checkpoint,
): Promise<string | undefined> {
  const { stream, slice } = checkpoint;
  if (!(await tableExists(database, stream))) return undefined;
  const { own, live } = await readScope(database, stream, slice);
  const columns = [...(await readColumns(database, stream)).keys()]
    .filter((column) => !RUN_COLUMNS.has(column))
    .toSorted();
  const values = columns.map((column) => `t.${quoteIdentifier(column)}`).join(', ');
  const [row] = await database.all(
    `SELECT count(*) AS n, coalesce(sum(hash(${values})), 0)::VARCHAR AS sum FROM ${tableName(stream)} t WHERE ${own} AND ${live}`,
  );
  const rows = { columns, count: String(row?.['n']), sum: String(row?.['sum']) };
  return hash('sha256', canonicalText({ ...checkpoint, rows })).slice(0, 32);
}
