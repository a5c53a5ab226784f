import { sep } from 'node:path';
import { PublishError } from '../../model/errors.ts';
import type { SqlSession } from '../../model/sql.ts';
import { quoteIdentifier } from '../../warehouse/identifiers.ts';

/** A table of a lake, and where its rows are read from without the folders above. */
interface PublishedTable {
  readonly table: string;
  readonly columns: readonly { readonly name: string }[];
  /** What follows FROM. */
  readonly source: string;
}

/**
 * Readers take a parent folder named like `client=acme` for a column. Its value then hides a column of the same name,
 * which does no harm where each row has that value.
 *
 * @throws PublishError if a table has such a column with another value
 */
export async function refuseHiddenColumns(
  session: SqlSession,
  lake: string,
  { table, columns, source }: PublishedTable,
): Promise<void> {
  const folders = lake.split(sep).filter((name) => name.includes('='));
  for (const folder of folders) {
    const at = folder.indexOf('=');
    const named = folder.slice(0, at).toLowerCase();
    const column = columns.find(({ name }) => name.toLowerCase() === named);
    if (column === undefined) continue;
    const differs = `${quoteIdentifier(column.name)}::VARCHAR IS DISTINCT FROM $1`;
    const found = await session.all(`SELECT 1 FROM ${source} WHERE ${differs} LIMIT 1`, [
      folder.slice(at + 1),
    ]);
    if (found.length === 0) continue;
    throw new PublishError(
      `the lake ${lake} is in a folder ${folder}: readers would take its value for the column ${column.name} of ${table}, which has other values`,
      {
        code: 'publish_refused',
        hint: `Nothing is lost. Write another name in destination.parquet, e.g. ${findFreeName(columns)}= in place of ${folder.slice(0, at)}=, or leave that folder out, and run again: publishing needs no request. Move an existing lake to the new path.`,
        context: { path: lake },
        exitCode: 2,
      },
    );
  }
}

/** A name for a folder that no column has. */
function findFreeName(columns: PublishedTable['columns']): string {
  const taken = columns.map(({ name }) => name.toLowerCase());
  return ['client', 'customer', 'workspace'].find((name) => !taken.includes(name)) ?? 'lake_of';
}
