import type { ColumnType } from '../model/schema.ts';

/** A stream's published table, as exports describe it. */
export interface ExportedTable {
  readonly stream: string;
  readonly table: string;
  /** In the order of the table, ours included. */
  readonly columns: readonly ExportedColumn[];
  /** Columns that tell rows apart; undefined where there are none. */
  readonly key: readonly string[] | undefined;
}

export interface ExportedColumn {
  readonly name: string;
  readonly type: Exclude<ColumnType, 'NULL'>;
  /** Field it comes from, with dots; undefined for a column of ours. */
  readonly field: string | undefined;
  /** No row lacks a value. */
  readonly required: boolean;
}
