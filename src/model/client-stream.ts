import type { ColumnType, JsonType } from './schema.ts';

/** A column as programs of other ecosystems receive it. */
export interface ClientColumn {
  /** In catalogs and records. */
  readonly name: string;
  /** In the table, where that is another name; undefined if it is the same. */
  readonly column?: string | undefined;
  readonly type: Exclude<ColumnType, 'NULL'>;
  /** JSON types its values have had; undefined if not remembered. */
  readonly jsonTypes?: readonly JsonType[] | undefined;
}

/** A published table that Airbyte, Singer and the like receive rows of. */
export interface ClientStream {
  readonly name: string;
  readonly table: string;
  /** Columns of the data, in the order of the table; `_slice` too where the stream has slices. */
  readonly columns: readonly ClientColumn[];
  /** Columns that tell rows apart; undefined if nothing does: the table is always sent whole. */
  readonly key: readonly string[] | undefined;
  /** Column of the date that incremental scans use. */
  readonly cursor: string | undefined;
  /** Names what hides fields of it: earlier keys are forgotten when that changes. */
  readonly masks: string;
}

/** How far a client has received a stream. */
export interface ChangePosition {
  /** The log of changes that the version belongs to. */
  readonly log: string;
  readonly version: number;
  /** Columns that it did not take: once it wants one, it has to receive all rows. */
  readonly without?: readonly string[] | undefined;
}

/** A row of a stream, or the key of one that is gone. */
export interface SentRow {
  /** JSON members without braces, e.g. `"id":1,"name":"a"`. */
  readonly members: string;
  /** ISO time; undefined for a row that is there. */
  readonly deletedAt: string | undefined;
}

/** What is sent of a stream, from a position of a client on. */
export interface StreamDelivery {
  readonly stream: ClientStream;
  /** All rows are sent, not only those that changed. */
  readonly isWhole: boolean;
  /** Why all rows are sent again, though the client had some; undefined if that is not the case. */
  readonly again: string | undefined;
  /** Where the client is once it has received all rows. */
  readonly position: ChangePosition;
  /** Each key once; in chunks, read from the engine as they are asked for. */
  readonly rows: AsyncIterable<readonly SentRow[]>;
}
