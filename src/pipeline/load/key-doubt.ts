import type { Checkpoint, Stream } from '../../model/stream.ts';
import { sliceIdOf } from '../../model/stream.ts';
import { tableName } from '../../warehouse/evolve-table.ts';
import { countDuplicates } from '../../warehouse/find-key.ts';
import { readScope } from '../../warehouse/live-rows.ts';
import type { RunContext } from '../run-context.ts';
import type { FetchedScan, PreparedLoad } from '../scan.ts';
import { findCompanion, withCompanions } from './key-columns.ts';
import { isDateShed } from './key-without-date.ts';
import type { ColumnChanges } from '../scan.ts';

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
  if (isKeyFormatChanged(columns, load.columnChanges)) return true;
  const before = checkpoint?.keyFields;
  if (before?.join() === columns.join()) return false;
  // A field that is spread over its companion since this scan: no row has a value there that this key does not find.
  if (before !== undefined && withCompanions(before, load.columns).join() === columns.join())
    return checkpoint?.fingerprint !== stream.fingerprint && !isTyped(load);
  if (origin === 'learned' && (await isDateShed(context, stream, columns, checkpoint))) return false;
  if (origin === 'learned' && checkpoint !== undefined && scan.rows > 0) return true;
  // Old rows can stay beside the new ones if the new key tells them apart as well.
  const known = columns.every((name) =>
    load.columns.some(
      (column) => column.name === name && column.existingType !== undefined && column.existingType !== 'NULL',
    ),
  );
  return !known || (await doesKeyRepeat(context, stream, columns));
}

/**
 * Whether the key is spelt otherwise than before by the table alone: of moments and long decimals it does not know how
 * the API writes them, nor which texts were numbers, so that the same row may have another key now.
 */
export function isKeyFormatChanged(key: readonly string[] | undefined, { retyped }: ColumnChanges): boolean {
  return retyped.some(({ column, companion, from, to }) => {
    const isKey = [column, companion].some((name) => name !== undefined && key?.includes(name));
    const isSpelling = to === 'VARCHAR' || to === 'JSON' || companion !== undefined;
    const isLost = /^(TIMESTAMP|DECIMAL)/.test(from) || (from === 'VARCHAR' && to === 'JSON');
    return isKey && isSpelling && isLost;
  });
}

/** Whether config decides the types of the key's fields that are spread over two columns. */
function isTyped({ key, columns }: PreparedLoad): boolean {
  return columns
    .filter(({ name, companion }) => !companion && key?.columns.includes(name))
    .every((column) => column.forcedType !== undefined || findCompanion(column, columns) === undefined);
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
