import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { resolveLinks } from '../files/real-paths.ts';
import { writeWhole } from '../files/write-whole.ts';
import type { AccountData } from '../model/account.ts';
import type { JointFile } from '../model/accounts-report.ts';
import { LAKE_CATALOG } from '../model/lake.ts';
import { assertLakesAreWhole, listAccountTables } from '../warehouse/attach-accounts.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';
import { groupParts, joinTables, type TableParts } from '../warehouse/join-tables.ts';
import { type KeptViews, keptFile, readKeptViews } from '../warehouse/kept-generations.ts';
import { type CatalogTable, readLakeEntry } from '../warehouse/lake-entry.ts';
import { selectRows } from '../warehouse/select-lake.ts';
import { writeJointComments } from './joint-comments.ts';
import { addViews } from '../views/add-views.ts';
import { replaceAccountsFile, type ReplaceOptions } from './replace-accounts-file.ts';

/**
 * Writes a DuckDB file with views over the lakes of all accounts: each table with the column `account`. As in the
 * `lake.duckdb` of one account, a view names one generation of each table by its absolute path, so that all tables
 * come from the same moment and columns keep their exact types. The tables of `_sluice` are copies. Each lake keeps the
 * generations that the views name. The file is replaced as a whole, or left alone if no lake has changed. Call it after
 * every run.
 *
 * @param file absolute path; usually `lake.duckdb` in the folder of the lakes
 * @param accounts all accounts of the config
 * @throws PublishError: 2 if the file there must not be replaced, 6 if something failed; LockedError (75); the signal's own error.
 * The old file is unchanged.
 */
export function writeAccountsCatalog(
  file: string,
  accounts: readonly AccountData[],
  options: ReplaceOptions = {},
): Promise<JointFile> {
  const named: NamedLake[] = [];
  return replaceAccountsFile({
    ...options,
    accounts: accounts.map(({ account, lake, stateDir }) =>
      lake === undefined
        ? { account, lake, readersFile: '' }
        : { account, lake, stateDir, readersFile: join(lake, LAKE_CATALOG) },
    ),
    file,
    kind: 'views',
    async fill(database, found) {
      await assertLakesAreWhole(database, found);
      for (const one of found) {
        const lake = dirname(one.file);
        named.push({ account: one.account, lake, tables: await readLakeEntry(database, one.prefix) });
      }
      for (const table of groupLakeTables(named)) {
        const view = `main.${quoteIdentifier(table.name)}`;
        await database.run(`CREATE VIEW ${view} AS ${await joinTables(database, table)}`);
      }
      for (const table of await listAccountTables(database, found)) {
        if (table.schema !== '_sluice' || table.name === 'meta') continue;
        const name = `_sluice.${quoteIdentifier(table.name)}`;
        await database.run(`CREATE TABLE ${name} AS ${await joinTables(database, table)}`);
      }
      await writeJointComments(database, found);
      await addViews(database, { isJoint: true });
    },
    // Before the views can be seen: no lake may remove what they name.
    async onReady(temporary) {
      const { dev: device, ino: inode } = statSync(temporary);
      for (const { lake, tables } of named) {
        const generations = Object.fromEntries(tables.map(({ table, generation }) => [table, generation]));
        await keepGenerations(lake, { file: resolveLinks(file), device, inode, generations });
      }
    },
  });
}

/** A lake, and its tables that the views read. */
interface NamedLake {
  readonly account: string;
  readonly lake: string;
  readonly tables: readonly CatalogTable[];
}

/** The tables of several lakes, read as in each `lake.duckdb`. */
function groupLakeTables(lakes: readonly NamedLake[]): readonly TableParts[] {
  return groupParts(
    lakes.flatMap(({ account, lake, tables }) =>
      tables.map((table) => {
        const from = `(${selectRows(lake, table)})`;
        return { account, schema: 'main', name: table.table, from, columns: table.columns };
      }),
    ),
  );
}

/** Adds views to those for which a lake keeps generations, and drops those that are replaced. */
async function keepGenerations(lake: string, views: KeptViews): Promise<void> {
  const path = keptFile(lake);
  const content = { version: 1, views: [...readKeptViews(lake), views] };
  await writeWhole(path, `${JSON.stringify(content)}\n`, { temporary: `${path}.tmp`, mode: 0o666 });
}
