import { sep } from 'node:path';
import { PublishError } from '../../model/errors.ts';

/**
 * Readers take a parent folder named like `client=acme` for a column. Its value then hides a column of the same name.
 *
 * @throws PublishError if a table has such a column
 */
export function assertPathNamesNoColumn(
  lake: string,
  table: { readonly table: string; readonly columns: readonly { readonly name: string }[] },
): void {
  const folders = lake.split(sep).filter((name) => name.includes('='));
  for (const folder of folders) {
    const [named = ''] = folder.split('=', 1);
    const column = table.columns.find(({ name }) => name.toLowerCase() === named.toLowerCase());
    if (column === undefined) continue;
    throw new PublishError(
      `the lake ${lake} lies in a folder ${folder}: readers would take its value for the column ${column.name} of ${table.table}`,
      {
        code: 'publish_refused',
        hint: 'Nothing is lost. Move the lake to a path without such a folder, set destination.parquet to that path, and run again: publishing needs no request.',
        context: { path: lake },
        exitCode: 2,
      },
    );
  }
}
