import type { ViewTable } from './view.ts';

/** Columns of a table that a view of its elements has as well. */
export interface ParentColumns {
  /** The account, the key and the slice. */
  readonly before: readonly string[];
  /** Whether the row is marked. */
  readonly after: readonly string[];
}

export function listParentColumns({ columns, key, account }: ViewTable): ParentColumns {
  const wanted = [...(account === undefined ? [] : [account]), ...key, '_slice'];
  return {
    before: [...new Set(wanted)].filter((name) => columns.has(name)),
    after: columns.has('_deleted_at') && !wanted.includes('_deleted_at') ? ['_deleted_at'] : [],
  };
}
