/**
 * Types a column can have. `null` is the type of a column that has held only nulls so far: such a column is
 * remembered but not created.
 */
export type ColumnType =
  | 'NULL'
  | 'BOOLEAN'
  | 'BIGINT'
  | 'HUGEINT'
  | 'DOUBLE'
  | `DECIMAL(${number},${number})`
  | 'DATE'
  | 'TIMESTAMP'
  | 'TIMESTAMPTZ'
  | 'VARCHAR'
  | 'JSON';

/** How numbers with decimals are stored. */
export const decimalsModes = ['double', 'exact'] as const;
export type DecimalsMode = (typeof decimalsModes)[number];

/** A type as JSON Schema names it; `number` is for integers as well. */
export type JsonType = 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object';

/** Types a config may force on a column. */
export type ForcedType = Exclude<ColumnType, 'NULL'>;

/** What config says about one column: a type, not stored at all, or a keyed hash in place of its values. */
export type ColumnRule =
  | { readonly kind: 'type'; readonly type: ForcedType }
  | { readonly kind: 'exclude' }
  | { readonly kind: 'hash' };

/** What happens to data that its contract does not know: words as in dlt. */
export type ContractMode = 'evolve' | 'freeze' | 'discard_row' | 'discard_value';

/** What a stream's data is checked against. */
export interface Contract {
  /** For fields without a known column. */
  readonly columns: ContractMode;
  /** For values that do not fit their column's type. */
  readonly types: ContractMode;
  /** JSON Schema of one record, from `contracts/<stream>.schema.json` next to the config. */
  readonly schema: ContractSchema | undefined;
}

/** A contract file as read: its path for messages, its JSON, and a hash that changes with it. */
export interface ContractSchema {
  readonly path: string;
  readonly json: Readonly<Record<string, unknown>>;
}

/** What a contract file says about a field, or about a table, for people. */
export interface FieldNotes {
  readonly description: string | undefined;
  readonly unit: string | undefined;
}
