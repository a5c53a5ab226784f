/** A row, by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;

/** Runs statements on the database of a fleet; times are `timestamptz`, read as epoch ms where a query says so. */
export interface Sql {
  /** Values are bound, in the order of `$1`, `$2`, … */
  query(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
}

/** The database of a fleet. */
export interface FleetDatabase extends Sql {
  /** As people see it, without a login. */
  readonly place: string;
  /** Runs work in one transaction: all of it is there afterwards, or nothing. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
