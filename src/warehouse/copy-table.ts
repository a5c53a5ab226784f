import { readComments, toWanted, writeComments } from './comments.ts';
import type { Database } from './database.ts';
import { COMPRESSED } from './define-column.ts';
import { readColumns, tableName } from './evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';

/** The columns of a table that are kept compressed; none of a table without rows. */
export async function listCompressed(database: Database, table: string): Promise<ReadonlySet<string>> {
  if ((await readColumns(database, table)).size === 0) return new Set();
  const rows = await database.all(
    `SELECT column_name AS name FROM pragma_storage_info(${quoteLiteral(tableName(table))})
       WHERE persistent AND segment_type <> 'VALIDITY' GROUP BY ALL HAVING bool_and(compression = 'ZSTD')`,
  );
  return new Set(rows.map(({ name }) => String(name)));
}

export interface CopyOptions {
  /** Columns that are compressed in the copy. */
  readonly compressed: ReadonlySet<string>;
  /** Adds rows to the copy, by its name in SQL. */
  readonly fill?: (copy: string) => Promise<void>;
}

/** Makes a copy take the place of a table, which changes its rowids; call inside a transaction. */
export async function copyTable(
  database: Database,
  table: string,
  { compressed, fill }: CopyOptions,
): Promise<void> {
  const columns = [...(await readColumns(database, table))];
  const definitions = columns.map(
    ([name, type]) => `${quoteIdentifier(name)} ${type}${compressed.has(name) ? COMPRESSED : ''}`,
  );
  const comments = await readComments(database, { name: table });
  // A stream's table cannot have this name.
  const copy = tableName(`${table} renewed`);
  await database.run(`CREATE TABLE ${copy} (${definitions.join(', ')})`);
  await database.run(`INSERT INTO ${copy} FROM ${tableName(table)}`);
  await fill?.(copy);
  await database.run(`DROP TABLE ${tableName(table)}`);
  await database.run(`ALTER TABLE ${copy} RENAME TO ${quoteIdentifier(table)}`);
  await writeComments(
    database,
    toWanted(comments, () => true),
    { name: table },
  );
}
