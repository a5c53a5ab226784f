import { quoteIdentifier, quoteLiteral } from '../warehouse/identifiers.ts';

/** Tables and views of the published file; with several accounts, those of all their files as well, which have the comments. */
const TABLES = `(
  SELECT schema_name, table_name, comment FROM duckdb_tables() WHERE NOT internal AND NOT temporary
  UNION ALL
  SELECT schema_name, view_name, comment FROM duckdb_views() WHERE NOT internal AND NOT temporary
)`;

/** Lists every table with its comment. */
export function listTablesSql(): string {
  return `SELECT schema_name AS "schema", table_name AS "table", max(comment) AS comment
FROM ${TABLES} WHERE schema_name IN ('main', '_sluice')
GROUP BY ALL ORDER BY schema_name DESC, table_name`;
}

/** A table, as a caller named it. */
export interface NamedTable {
  readonly schema: string;
  readonly table: string;
}

/** Lists the columns of a table; an empty list if it does not exist. */
export function listColumnsSql({ schema, table }: NamedTable): string {
  return `SELECT column_name AS "column", any_value(data_type ORDER BY database_name <> current_database()) AS type, max(comment) AS comment
FROM duckdb_columns() WHERE lower(schema_name) = lower(${quoteLiteral(schema)}) AND lower(table_name) = lower(${quoteLiteral(table)})
GROUP BY column_name ORDER BY min(CASE WHEN database_name = current_database() THEN column_index ELSE 1000000 + column_index END)`;
}

/** Counts the rows of a table. */
export function countRowsSql({ schema, table }: NamedTable): string {
  return `SELECT count(*) AS "rows" FROM ${quoteIdentifier(schema)}.${quoteIdentifier(table)}`;
}
