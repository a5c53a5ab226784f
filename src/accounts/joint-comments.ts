import { writeComment } from '../dictionary/comment-text.ts';
import { describeOwnColumn } from '../dictionary/own-columns.ts';
import type { RelationComments } from '../model/dictionary.ts';
import type { SqlSession } from '../model/sql.ts';
import type { AttachedAccount } from '../warehouse/attach-accounts.ts';
import { readComments, writeComments } from '../warehouse/comments.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';
import { keyOf } from '../warehouse/join-tables.ts';

/** A comment of an account's file; without a column it is that of a table or view. */
interface AccountComment {
  readonly account: string;
  readonly relation: string;
  readonly column: string | undefined;
  readonly comment: string | undefined;
}

/**
 * Gives the tables and views of a file with several accounts the comments that they have in the files of the accounts.
 * Where these differ, the comment is that of the first account, and says so.
 */
export async function writeJointComments(
  session: SqlSession,
  accounts: readonly AttachedAccount[],
): Promise<void> {
  const comments = await readAccountComments(session, accounts);
  const byPlace = Map.groupBy(comments, ({ relation, column }) => placeOf(relation, column));
  const held = await readComments(session);
  const wanted = held.map((one): RelationComments => {
    const relation = `${one.schema}.${one.name}`;
    const columns = [...one.columns.keys()].map((column) => {
      const own = byPlace.get(placeOf(relation, column));
      return [column, own === undefined ? describeLabel() : joinComments(own)] as const;
    });
    return {
      ...one,
      comment: joinComments(byPlace.get(placeOf(relation, undefined)) ?? []),
      columns: new Map(columns.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]))),
    };
  });
  await writeComments(session, wanted);
}

/** The only column that no account has is the one that names the account. */
function describeLabel(): string {
  return writeComment([describeOwnColumn('account')]);
}

function joinComments(all: readonly AccountComment[]): string | undefined {
  const written = all.filter(({ comment }) => comment !== undefined);
  const [first] = written;
  if (first?.comment === undefined) return undefined;
  const isSame = written.every(({ comment }) => comment === first.comment);
  return isSame ? first.comment : `In account ${first.account}: ${first.comment}`;
}

function placeOf(relation: string, column: string | undefined): string {
  return JSON.stringify([keyOf(relation), column === undefined ? null : keyOf(column)]);
}

/** One look for all accounts: each look lists the tables of all of them. */
async function readAccountComments(
  session: SqlSession,
  accounts: readonly AttachedAccount[],
): Promise<readonly AccountComment[]> {
  const rows = await session.all(
    `SELECT database_name AS database, schema_name || '.' || table_name AS relation, NULL AS "column", comment FROM duckdb_tables()
         WHERE NOT internal AND schema_name IN ('main', '_sluice')
       UNION ALL SELECT database_name, schema_name || '.' || view_name, NULL, comment FROM duckdb_views()
         WHERE NOT internal AND schema_name IN ('main', '_sluice')
       UNION ALL SELECT database_name, schema_name || '.' || table_name, column_name, comment FROM duckdb_columns()
         WHERE NOT internal AND schema_name IN ('main', '_sluice')`,
  );
  const byDatabase = Map.groupBy(rows, ({ database }) => `${quoteIdentifier(String(database))}.`);
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return accounts.flatMap(({ account, prefix }) =>
    (byDatabase.get(prefix) ?? []).map(({ relation, column, comment }) => ({
      account,
      relation: String(relation),
      column: text(column),
      comment: text(comment),
    })),
  );
}
