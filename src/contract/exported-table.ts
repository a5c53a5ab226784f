import type { FieldNotes } from '../model/schema.ts';
import type { ColumnType } from '../model/schema.ts';

/** A stream's published table, as exports describe it. */
export interface ExportedTable {
  /** What the contract file says about the records. */
  readonly description: string | undefined;
  readonly stream: string;
  readonly table: string;
  /** In the order of the table, ours included. */
  readonly columns: readonly ExportedColumn[];
  /** Columns that tell rows apart; undefined where nothing does. */
  readonly key: readonly string[] | undefined;
}

export interface ExportedColumn extends FieldNotes {
  readonly name: string;
  readonly type: Exclude<ColumnType, 'NULL'>;
  /** Field it comes from, with dots; undefined for a column of ours. */
  readonly field: string | undefined;
  /** No row lacks a value. */
  readonly required: boolean;
}

/** What a contract file says about a column, in one sentence or two; empty where it says nothing. */
export function describeNotes({ description, unit }: FieldNotes): string {
  const words = [description, unit === undefined ? undefined : `Unit: ${unit}`].filter(
    (one) => one !== undefined,
  );
  return words.map((one) => (/[.!?…]$/.test(one) ? one : `${one}.`)).join(' ');
}
