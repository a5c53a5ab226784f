import { PublishError } from '../../../model/errors.ts';
import { quoteIdentifier } from '../../../warehouse/identifiers.ts';
import type { StoredColumn } from '../lakehouse.ts';
import { MOST_NAME_BYTES, SYSTEM_COLUMNS } from '../postgres-names.ts';

/** What Postgres calls types of the engine; decimals are `numeric` with the same digits. */
const TYPES: Readonly<Record<string, string>> = {
  BOOLEAN: 'boolean',
  SMALLINT: 'smallint',
  INTEGER: 'integer',
  BIGINT: 'bigint',
  FLOAT: 'real',
  DOUBLE: 'double precision',
  DATE: 'date',
  TIME: 'time without time zone',
  TIMESTAMP: 'timestamp without time zone',
  'TIMESTAMP WITH TIME ZONE': 'timestamp with time zone',
  VARCHAR: 'text',
  BLOB: 'bytea',
  UUID: 'uuid',
};
const WIDER: Readonly<Record<string, string>> = {
  TINYINT: 'SMALLINT',
  UTINYINT: 'SMALLINT',
  USMALLINT: 'INTEGER',
  UINTEGER: 'BIGINT',
  UBIGINT: 'DECIMAL(20,0)',
};
const DECIMAL = /^DECIMAL(\(\d+,\d+\))$/;

/** The type as which the engine reads a column of the work file from Postgres, but for HUGEINT. */
export function choosePostgresType(type: string): string {
  return Object.hasOwn(TYPES, type) || DECIMAL.test(type) ? type : (WIDER[type] ?? 'VARCHAR');
}

/** The type of a column as Postgres prints it. */
export function describeType({ type, storedAs }: Pick<StoredColumn, 'type' | 'storedAs'>): string {
  if (type === 'JSON') return 'json';
  const digits = DECIMAL.exec(storedAs)?.[1];
  return digits === undefined ? (TYPES[storedAs] ?? 'text') : `numeric${digits}`;
}

/**
 * A column as `CREATE TABLE` and `ALTER TABLE` name it.
 *
 * @throws PublishError (2) for a name that Postgres would cut, or has for itself
 */
export function describeColumn(column: StoredColumn, path: string): string {
  if (SYSTEM_COLUMNS.includes(column.name))
    throw new PublishError(`${path}: every table of Postgres has a column ${column.name} of its own`, {
      code: 'publish_refused',
      hint: 'Write `exclude: true` for this column in streams.<name>.columns, or publish to another destination. Nothing was changed.',
      context: { path },
      exitCode: 2,
    });
  return `${quoteName(column.name, path)} ${describeType(column)}`;
}

/** A name of Postgres, in SQL. */
export function quoteName(name: string, path: string): string {
  if (Buffer.byteLength(name) > MOST_NAME_BYTES)
    throw new PublishError(
      `${path}: Postgres has no names of more than 63 bytes, and this one is longer: ${name}`,
      {
        code: 'publish_refused',
        hint: 'For a column, write `exclude: true` for it in streams.<name>.columns; for a table, rename the stream. Nothing was changed.',
        context: { path },
        exitCode: 2,
      },
    );
  return quoteIdentifier(name);
}
