import type { AccountData } from '../model/account.ts';
import type { JointFile } from '../model/accounts-report.ts';
import { assertLakesAreWhole, listAccountTables } from '../warehouse/attach-accounts.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';
import { joinTables } from '../warehouse/join-tables.ts';
import { writeJointComments } from './joint-comments.ts';
import { addViews } from '../views/add-views.ts';
import { replaceAccountsFile, type ReplaceOptions } from './replace-accounts-file.ts';

/** What to combine, and where. */
export interface CombineJob extends ReplaceOptions {
  /** Absolute path of the file to replace. */
  readonly file: string;
  /** All accounts of the config, including failed ones: their last published rows stay in the file. */
  readonly accounts: readonly AccountData[];
}

/**
 * Publishes one DuckDB file with the rows of all accounts: each table with the column `account`, in `main` as in
 * `_sluice`, whose `meta` says what the file is. The file is replaced as a whole, which costs a copy of everything;
 * it is left alone if no account has published since.
 *
 * @throws PublishError: 2 if the file there must not be replaced, 6 if something failed; LockedError (75); the signal's own error.
 * The old file is unchanged.
 */
export function publishCombined(job: CombineJob): Promise<JointFile> {
  return replaceAccountsFile({
    ...job,
    kind: 'combined',
    async fill(database, found) {
      await assertLakesAreWhole(database, found, { readsBytes: true });
      for (const table of await listAccountTables(database, found)) {
        // The `meta` of an account describes its own file.
        if (table.schema === '_sluice' && table.name === 'meta') continue;
        const name = `${table.schema}.${quoteIdentifier(table.name)}`;
        await database.run(`CREATE TABLE ${name} AS ${await joinTables(database, table)}`);
      }
      await writeJointComments(database, found);
      await addViews(database, { isJoint: true });
    },
  });
}
