import type { Stream } from '../model/stream.ts';
import { sliceIdOf } from '../model/stream.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { tableName } from '../warehouse/evolve-table.ts';
import { countDuplicates } from '../warehouse/find-key.ts';
import { readScope } from '../warehouse/live-rows.ts';
import type { Loading } from '../run/run-context.ts';
import type { PreparedLoad } from '../run/scan.ts';
import type { LoadedScan, PlannedScan } from '../run/turn.ts';
import { findCompanion, withCompanions } from './key-columns.ts';
import { isDateShed } from './key-without-date.ts';
import type { ColumnChanges } from '../run/scan.ts';

/**
 * Whether the table's rows were merged by a different key than this scan's, so that unmatched rows may be older
 * versions of others.
 */
export async function isKeyInDoubt(
  context: Loading,
  { stream, checkpoint }: PlannedScan,
  { scan, load }: LoadedScan,
): Promise<boolean> {
  if (!load.tableExisted || load.key === undefined) return false;
  const { columns, origin } = load.key;
  if (isKeyFormatChanged(columns, load.columnChanges)) return true;
  const before = checkpoint?.keyFields;
  if (before?.join() === columns.join()) return false;
  // A field that gets a companion with this scan: no row has a value there yet.
  if (before !== undefined && withCompanions(before, load.columns).join() === columns.join())
    return checkpoint?.fingerprint !== stream.fingerprint && !isTyped(load);
  if (origin === 'learned' && (await isDateShed(context, stream, load, checkpoint))) return false;
  if (origin === 'learned' && checkpoint !== undefined && scan.rows > 0) return true;
  // Old rows can stay next to new ones if the new key is unique over them as well.
  return doHeldRowsRepeat(context, stream, columns, load.columns);
}

/**
 * Whether retyping changed the format of the key in the table: it does not store how the API writes timestamps and
 * long decimals, nor which texts were numbers, so the same row may now have a different key.
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

/** Whether live rows of a table have the same values of a key, or none: a column may be new. */
export async function doHeldRowsRepeat(
  { database }: Loading,
  stream: Stream,
  key: readonly string[],
  columns: readonly ColumnPlan[],
): Promise<boolean> {
  const isHeld = (name: string) =>
    columns.some((one) => one.name === name && one.existingType !== undefined && one.existingType !== 'NULL');
  if (!key.every(isHeld)) return true;
  const { own, live, isSliced } = await readScope(database, stream.table, sliceIdOf(stream));
  const rows = `(SELECT * FROM ${tableName(stream.table)} t WHERE ${own} AND ${live})`;
  // The same key in two slices means two rows, even after the stream is no longer sliced.
  return (await countDuplicates(database, rows, isSliced ? [...key, '_slice'] : key)) > 0;
}
