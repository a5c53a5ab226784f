import { join } from 'node:path';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { type CatalogTable, generationFolder } from './lake-entry.ts';

/** SQL that reads a table of a lake, or one of its files, with the types of the warehouse. */
export function selectRows(lake: string, table: Omit<CatalogTable, 'files'>, path = '**/*.parquet'): string {
  return selectFiles(`${generationFolder(lake, table.table, table.generation)}/${path}`, table);
}

/** The same for the `current` folder, which readers resolve each time they read. */
export function selectCurrent(lake: string, table: CatalogTable): string {
  return selectFiles(`${join(lake, table.table, 'current')}/**/*.parquet`, table);
}

function selectFiles(
  pattern: string,
  { columns, partitionBy }: Pick<CatalogTable, 'columns' | 'partitionBy'>,
): string {
  const names = columns.map(({ name, type, storedAs }) => {
    const column = quoteIdentifier(name);
    // DuckDB 1.5 looks into a file that is alone for the least and greatest value of its folder's name, and fails. Files are
    // still skipped by the value of such an expression.
    const isFolder = partitionBy.some(({ folder }) => folder === name);
    const value = isFolder ? `coalesce(${column}, NULL)` : column;
    const cell = storedAs === type ? value : `CAST(${value} AS ${type})`;
    return cell === column ? column : `${cell} AS ${column}`;
  });
  const files = quoteLiteral(pattern);
  const hive =
    partitionBy.length === 0
      ? 'hive_partitioning = false'
      : `hive_partitioning = true, hive_types = {${partitionBy.map(({ folder, type }) => `${quoteIdentifier(folder)}: ${quoteLiteral(type)}`).join(', ')}}`;
  return `SELECT ${names.join(', ')} FROM read_parquet(${files}, ${hive})`;
}
