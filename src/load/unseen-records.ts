import type { Checkpoint, Stream } from '../model/stream.ts';
import { sliceIdOf } from '../model/stream.ts';
import { companionPath, companionSource, toFieldName } from '../schema/field-paths.ts';
import { pathKey } from '../schema/name-columns.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { type KeptField, markAbsent, type SeenRecords } from '../warehouse/absent-records.ts';
import type { VersionedRows } from '../warehouse/record-versions.ts';
import { listSliceValues } from '../schema/mask-records.ts';
import type { Loading } from '../run/run-context.ts';
import type { LoadedScan } from '../run/turn.ts';
import type { PreparedLoad } from '../run/scan.ts';
import { cameEarlier, windowOf } from './asked-days.ts';

/**
 * Marks quarantined records that the source no longer has, as this scan shows: a retry would overwrite the current
 * row with an older version. Call in its commit, before its own records are quarantined.
 */
export async function markUnseen(
  context: Loading,
  stream: Stream,
  { scan, load }: LoadedScan,
  next: Checkpoint,
): Promise<void> {
  const { scope, key } = describeVersions(context, stream, load);
  await markAbsent(context.database, scope, {
    runId: context.runId,
    startedAt: new Date(scan.startedAtMs).toISOString(),
    covers: findCovered({ scan, load }, next, describeCursor(context, stream, load)),
    key: key?.fields,
  });
}

/** Which records a scan would have returned again; as limited as what it proves about missing rows. */
function findCovered(
  { scan, load }: LoadedScan,
  next: Checkpoint,
  cursor: KeptField | undefined,
): SeenRecords['covers'] {
  // Without a key the returned rows have replaced the earlier ones.
  const isTrusted = scan.verdict === 'verified' || (scan.verdict === 'unverified' && load.key === undefined);
  if (!isTrusted) return undefined;
  if (scan.plan.mode === 'full') return 'all';
  const window = windowOf(scan, load);
  if (cameEarlier(scan, load) || (scan.plan.trial && next.cursorState !== 'proved')) return undefined;
  return window && cursor && { cursor, date: window.date };
}

type NamedColumn = Pick<ColumnPlan, 'name' | 'path' | 'type'>;

/** A key, and the columns that it is of. */
interface KeyedColumns {
  readonly key: Pick<NonNullable<PreparedLoad['key']>, 'columns'> | undefined;
  readonly columns: readonly NamedColumn[];
}

/** The quarantined records of a stream, and the rows that may be older versions of them. */
export function describeVersions(
  { settings }: Loading,
  stream: Stream,
  { key, columns }: KeyedColumns,
): VersionedRows {
  const values = listSliceValues(stream, settings.hashKey);
  const fields = key?.columns.flatMap((name) => describeField(name, columns, values)) ?? [];
  return {
    scope: { stream: stream.name, slice: sliceIdOf(stream) },
    table: stream.table,
    key: key === undefined || fields.length === 0 ? undefined : { fields, columns: key.columns },
  };
}

/** The cursor's field in the texts of quarantined records. */
export function describeCursor(
  { settings }: Loading,
  stream: Stream,
  { cursorColumn, columns }: PreparedLoad,
): KeptField | undefined {
  if (cursorColumn === undefined) return undefined;
  return describeField(cursorColumn, columns, listSliceValues(stream, settings.hashKey))[0];
}

/** The field of a column, with all columns its values are in; none for a companion, which belongs to another column. */
function describeField(
  name: string,
  columns: readonly NamedColumn[],
  values: ReturnType<typeof listSliceValues>,
): readonly KeptField[] {
  const column = columns.find((one) => one.name === name);
  if (column === undefined || companionSource(column.path) !== undefined) return [];
  const beside = pathKey(companionPath(column.path));
  const stored = columns.filter((one) => one === column || pathKey(one.path) === beside);
  const path = column.path.map(toFieldName);
  const [first = ''] = path;
  const value = path.length === 1 && Object.hasOwn(values, first) ? values[first] : undefined;
  return [
    {
      path,
      fill: value === undefined ? undefined : String(value),
      columns: stored.flatMap((one) => (one.type === 'NULL' ? [] : [{ name: one.name, type: one.type }])),
    },
  ];
}
