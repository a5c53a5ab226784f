import type { ExportedColumn } from './exported-table.ts';
import type { DbtTable } from './to-dbt.ts';

/** A table of one account, as dbt is told of it. */
export type AccountTable = Omit<DbtTable, 'loadedAt' | 'location'>;

/** The table of all accounts that these are parts of. */
export interface JoinedTable {
  readonly table: string;
  /** With types, in the order of the table; the first one names the account. */
  readonly columns: readonly Pick<ExportedColumn, 'name' | 'type'>[];
}

/**
 * What is true of the rows of all accounts together: a key in each account where all have the same one, a column without
 * nulls where the contracts of all say so, and the latest time at which one of them is late.
 */
export function joinDbtTables({ table, columns }: JoinedTable, parts: readonly AccountTable[]): AccountTable {
  const [label, ...others] = columns;
  const [first] = parts;
  if (label === undefined || first === undefined) throw new TypeError(`no account has the table ${table}`);
  const sharedBy = (listOf: (part: AccountTable) => readonly string[] | undefined) => {
    const lists = new Set(parts.map((part) => JSON.stringify(listOf(part))));
    return lists.size === 1 ? listOf(first) : undefined;
  };
  const aboutOf = (name: string) => {
    const [own] = parts.flatMap((part) => part.columns.filter((column) => column.name === name));
    return { field: own?.field, description: own?.description, unit: own?.unit };
  };
  const uniqueBy = sharedBy((part) => part.uniqueBy);
  const key = sharedBy((part) => part.key);
  return {
    description: first.description,
    stream: first.stream,
    table,
    columns: [
      { ...label, field: undefined, description: undefined, unit: undefined, required: true },
      ...others.map((column) => ({ ...column, ...aboutOf(column.name), required: false })),
    ],
    key: key && [label.name, ...key],
    uniqueBy: uniqueBy && [label.name, ...uniqueBy],
    neverNull: new Set([
      label.name,
      ...[...first.neverNull].filter((name) => parts.every((part) => part.neverNull.has(name))),
    ]),
    lateAfterHours: Math.max(...parts.map((part) => part.lateAfterHours)),
  };
}
