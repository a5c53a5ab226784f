import { dirname, join } from 'node:path';
import type { AccountData } from '../model/account.ts';
import type { JointFile } from '../model/accounts-report.ts';
import { LAKE_CATALOG } from '../model/lake.ts';
import type { SqlSession } from '../model/sql.ts';
import { type AttachedAccount, findAccounts, listAccountTables } from '../warehouse/attach-accounts.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';
import { groupParts, joinTables, type TableParts } from '../warehouse/join-tables.ts';
import { readLakeEntry } from '../warehouse/lake-entry.ts';
import { selectRows } from '../warehouse/select-lake.ts';
import { replaceAccountsFile, type ReplaceOptions } from './replace-accounts-file.ts';

/**
 * Writes a DuckDB file with views over the lakes of all accounts: each table with the column `account`. As in the
 * `lake.duckdb` of one account, a view names one generation of each table by its absolute path, so that all tables are
 * of the same moment and every column has its exact type; the tables of `_sluice` are copies. The file is replaced
 * whole, and stays where no lake has changed since. Call it after every run.
 *
 * @param file absolute path; usually `lake.duckdb` in the folder of the lakes
 * @param accounts all accounts of the config
 * @throws PublishError: 2 for a file there that must stay, 6 for what failed; LockedError (75); the signal's own error.
 * The old file is unchanged.
 */
export function writeAccountsCatalog(
  file: string,
  accounts: readonly AccountData[],
  options: ReplaceOptions = {},
): Promise<JointFile> {
  const lakes = accounts.map(({ account, lake }) => ({
    account,
    readersFile: lake === undefined ? '' : join(lake, LAKE_CATALOG),
  }));
  const { found: files, leftOut } = findAccounts(lakes);
  const found = files.map((one) => ({ ...one, lake: dirname(one.file) }));
  return replaceAccountsFile({
    ...options,
    found,
    leftOut,
    file,
    kind: 'views',
    async fill(database) {
      for (const table of await listLakeTables(database, found)) {
        const view = `main.${quoteIdentifier(table.name)}`;
        await database.run(`CREATE VIEW ${view} AS ${await joinTables(database, table)}`);
      }
      for (const table of await listAccountTables(database, found)) {
        if (table.schema !== '_sluice' || table.name === 'meta') continue;
        const name = `_sluice.${quoteIdentifier(table.name)}`;
        await database.run(`CREATE TABLE ${name} AS ${await joinTables(database, table)}`);
      }
    },
  });
}

/** The tables of lakes, as their own `lake.duckdb` reads them. */
async function listLakeTables(
  session: SqlSession,
  accounts: readonly (AttachedAccount & { readonly lake: string })[],
): Promise<readonly TableParts[]> {
  const tables = [];
  for (const { account, lake, prefix } of accounts) {
    for (const table of await readLakeEntry(session, prefix)) {
      const from = `(${selectRows(lake, table)})`;
      tables.push({ account, schema: 'main', name: table.table, from, columns: table.columns });
    }
  }
  return groupParts(tables);
}
