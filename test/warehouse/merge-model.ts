import type { AbsentRows, MergeCounts } from '../../src/warehouse/merge-rows.ts';

/** A row of the tables below: id, day, v, t. */
export type Row = readonly [id: number | null, day: string | null, v: number | null, t: string | null];
export const COLUMNS = ['id', 'day', 'v', 't'] as const;
export const TYPES = ['BIGINT', 'DATE', 'DOUBLE', 'VARCHAR'] as const;

/** A row as a table holds it. */
export interface ModelRow {
  readonly row: Row;
  readonly slice: string | null;
  readonly run: string;
  readonly at: string;
  readonly deletedAt: string | null;
}

export interface ModelVersion extends Omit<ModelRow, 'at' | 'deletedAt'> {
  readonly from: string;
  readonly to: string | null;
}

export interface Model {
  /** In the order of being written. */
  readonly table: readonly ModelRow[];
  readonly history: readonly ModelVersion[];
}

export interface ModelRequest {
  readonly key: readonly (typeof COLUMNS)[number][] | undefined;
  readonly absent: AbsentRows;
  readonly insertOnly: boolean;
  readonly slice: string;
  readonly run: string;
  readonly at: string;
}

/** What a merge has to do, spelt out row by row; the history is one that was never switched off. */
export function mergeModel(
  { table, history }: Model,
  incoming: readonly Row[],
  request: ModelRequest,
): Model & { readonly counts: MergeCounts } {
  const { key, absent, insertOnly, slice, run, at } = request;
  const isOwn = (held: ModelRow) => slice === '' || held.slice === slice;
  const isReached = (held: ModelRow) => isOwn(held) || held.slice === null;
  const isPlaced = (held: ModelRow) => held.slice === (slice === '' ? null : slice);
  const identify = (row: Row) =>
    JSON.stringify(key === undefined ? row : key.map((name) => row[COLUMNS.indexOf(name)]));
  const isEqual = (held: ModelRow, row: Row) => JSON.stringify(held.row) === JSON.stringify(row);
  const isSame = (held: ModelRow, row: Row) => isPlaced(held) && isEqual(held, row);

  const matched = new Set<ModelRow>();
  const spares = new Set<ModelRow>();
  const ended = new Set<ModelRow>();
  const written: Row[] = [];
  const counts = { inserted: 0, updated: 0, unchanged: 0, deleted: 0, markedGone: 0 };
  for (const row of takeIncoming(incoming, request)) {
    const candidates = table
      .filter((held) => isReached(held) && identify(held.row) === identify(row) && !matched.has(held))
      .filter((held) => key !== undefined || held.deletedAt === null)
      .toSorted(
        (a, b) =>
          Number(a.deletedAt !== null) - Number(b.deletedAt !== null) ||
          Number(!isPlaced(a)) - Number(!isPlaced(b)) ||
          Number(!isEqual(a, row)) - Number(!isEqual(b, row)) ||
          (key === undefined ? 1 : -1) * (table.indexOf(a) - table.indexOf(b)),
      );
    const [held, ...others] = candidates;
    if (key !== undefined) for (const other of others) spares.add(other);
    if (held === undefined) {
      counts.inserted += 1;
      written.push(row);
      continue;
    }
    matched.add(held);
    const back = held.deletedAt !== null;
    if (!back && (insertOnly ? isPlaced(held) : isSame(held, row))) counts.unchanged += 1;
    else {
      counts.updated += 1;
      ended.add(held);
      // A row that is only appended keeps its values, but belongs to the slice that was read.
      written.push(insertOnly && !back ? held.row : row);
    }
  }

  const gone = new Set(
    table.filter((held) => {
      const [, day] = held.row;
      if (matched.has(held) || !isOwn(held)) return false;
      if (spares.has(held) && held.deletedAt === null && !insertOnly) return true;
      if (absent === 'keep' || (absent.how === 'soft' && held.deletedAt !== null)) return false;
      return absent.window === undefined || (day !== null && day >= absent.window.date);
    }),
  );
  counts.deleted = [...gone].filter(({ deletedAt }) => deletedAt === null).length;
  counts.markedGone = gone.size - counts.deleted;
  const isSoft = absent !== 'keep' && absent.how === 'soft';
  const kept = table
    .filter((held) => !ended.has(held) && (isSoft || !gone.has(held)))
    .map((held) => (gone.has(held) ? { ...held, run, at, deletedAt: at } : held));
  const fresh = written.map((row) => ({
    row,
    slice: slice === '' ? null : slice,
    run,
    at,
    deletedAt: null,
  }));
  return {
    table: [...kept, ...fresh],
    history: [
      ...closeModel(
        history,
        [...ended, ...gone].filter(({ deletedAt }) => deletedAt === null),
        at,
      ),
      ...fresh.map(({ row, slice, run }) => ({ row, slice, run, from: at, to: null })),
    ],
    counts,
  };
}

// A keyless scan replaces whole days of its window; what it brought from before them is left out.
function takeIncoming(incoming: readonly Row[], { key, absent }: ModelRequest): readonly Row[] {
  if (key !== undefined || absent === 'keep' || absent.window === undefined) return incoming;
  const { date } = absent.window;
  return incoming.filter(([, day]) => day === null || day >= date);
}

function closeModel(
  history: readonly ModelVersion[],
  rows: readonly ModelRow[],
  at: string,
): readonly ModelVersion[] {
  const left = [...history];
  for (const row of rows) {
    const found = left.findIndex((version) => version.to === null && isVersionOf(version, row));
    const [version] = found === -1 ? [] : left.splice(found, 1);
    if (version === undefined) throw new Error(`no open version of ${JSON.stringify(row)}`);
    left.push({ ...version, to: at });
  }
  return left;
}

function isVersionOf(version: ModelVersion, { row, slice, run, at }: ModelRow): boolean {
  return (
    version.slice === slice &&
    version.run === run &&
    version.from === at &&
    JSON.stringify(version.row) === JSON.stringify(row)
  );
}

export function showRows(rows: readonly ModelRow[]): readonly string[] {
  return rows
    .map(({ row, slice, run, at, deletedAt }) => JSON.stringify([row, slice, run, at, deletedAt]))
    .toSorted();
}

export function showVersions(versions: readonly ModelVersion[]): readonly string[] {
  return versions
    .map(({ row, slice, run, from, to }) => JSON.stringify([row, slice, run, from, to]))
    .toSorted();
}
