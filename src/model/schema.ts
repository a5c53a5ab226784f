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
