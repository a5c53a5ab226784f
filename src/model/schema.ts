/**
 * Types a column can have. `null` is the type of a column that held nothing but nulls so far: such a
 * column is remembered but not created.
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

/** What a stream's data is held against. */
export interface Contract {
  /** For fields no column is known for. */
  readonly columns: ContractMode;
  /** For values their column's type does not hold. */
  readonly types: ContractMode;
  /** JSON Schema of one record, from `contracts/<stream>.schema.json` beside the config. */
  readonly schema: ContractSchema | undefined;
}

/** A contract file as read: its path for messages, its JSON, and a hash that changes with it. */
export interface ContractSchema {
  readonly path: string;
  readonly json: Readonly<Record<string, unknown>>;
}
