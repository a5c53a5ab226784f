import type { ElementFields } from '../schema/observe-fields.ts';

/** A view of a table, or of all of them. */
export interface View {
  readonly schema: 'main' | '_sluice';
  readonly name: string;
  /** What it shows, for messages: `the elements of items.tags`. */
  readonly about: string;
  /** What it holds, for its comment: sentences without their full stops. */
  readonly holds: readonly string[];
  /** The table that it is a view of; undefined for one of the state. */
  readonly of?: string;
  /** Names of columns that its table does not have. */
  readonly names?: readonly string[];
  /** SQL of its rows. */
  readonly select: string;
}

/** A table that views are made of. */
export interface ViewTable {
  readonly name: string;
  /** Engine types by name. */
  readonly columns: ReadonlyMap<string, string>;
  /** Columns that tell its rows apart; empty if they are not known. */
  readonly key: readonly string[];
  /** The cursor. */
  readonly cursor: string | undefined;
  readonly hasHistory: boolean;
  /** What is known of the elements of its arrays, by column. */
  readonly elements: ReadonlyMap<string, ElementFields>;
  /** The column that names the account, where the tables of several are joined. */
  readonly account: string | undefined;
}

/** How a database is spoken to. */
export interface Dialect {
  /** A table or view in SQL. */
  locate(schema: View['schema'], name: string): string;
  /** SQL of the elements of arrays of one table. */
  readElements(
    table: ViewTable,
    column: string,
    fields: readonly ElementColumn[],
    fieldsSeen: ElementFields,
  ): string;
  /** A member of a JSON column as text. */
  readMember(column: string, member: string): string;
  /** Whether a name can be given. */
  mayName(name: string): boolean;
}

/** A column of a view of elements. */
export interface ElementColumn {
  readonly name: string;
  /** Names of members from the element on. */
  readonly path: readonly string[];
  readonly type: string;
  /** Whether numbers are among its texts, whose spelling counts. */
  readonly mixesNumbers: boolean;
}
