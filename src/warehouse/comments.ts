import { isOurs } from '../dictionary/comment-text.ts';
import type { RelationComments } from '../model/dictionary.ts';
import type { SqlSession } from '../model/sql.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';

/** Which tables and views of an open database are meant. */
export interface CommentScope {
  /** Name of the database; the current one by default. */
  readonly database?: string;
  readonly schemas?: readonly string[];
  /** One table or view. */
  readonly name?: string;
}

/** A table or view, and the comments that its columns have or may get. */
export interface HeldComments extends Omit<RelationComments, 'columns'> {
  /** By column, in no particular order; undefined without a comment. */
  readonly columns: ReadonlyMap<string, string | undefined>;
}

/** Comments of the tables and views of a database, as they are now. */
export async function readComments(
  session: SqlSession,
  { database, schemas = ['main', '_sluice'], name }: CommentScope = {},
): Promise<readonly HeldComments[]> {
  const where = (table: string) =>
    [
      database === undefined
        ? 'database_name = current_database()'
        : `lower(database_name) = lower(${quoteLiteral(database)})`,
      `schema_name IN (${schemas.map(quoteLiteral).join(', ')})`,
      'NOT internal',
      ...(name === undefined ? [] : [`${table} = ${quoteLiteral(name)}`]),
    ].join(' AND ');
  const relations = await session.all(
    `SELECT schema_name AS schema, table_name AS name, 'TABLE' AS kind, comment FROM duckdb_tables() WHERE ${where('table_name')}
       UNION ALL SELECT schema_name, view_name, 'VIEW', comment FROM duckdb_views() WHERE ${where('view_name')} ORDER BY ALL`,
  );
  const columns = await session.all(
    `SELECT schema_name AS schema, table_name AS name, column_name AS "column", comment FROM duckdb_columns() WHERE ${where('table_name')}`,
  );
  const byRelation = Map.groupBy(columns, (row) => `${String(row['schema'])}.${String(row['name'])}`);
  return relations.map((row) => {
    const [schema, relation] = [String(row['schema']), String(row['name'])];
    const own = byRelation.get(`${schema}.${relation}`) ?? [];
    return {
      schema,
      name: relation,
      kind: row['kind'] === 'VIEW' ? 'VIEW' : 'TABLE',
      comment: toText(row['comment']),
      columns: new Map(own.map(({ column, comment }) => [String(column), toText(comment)])),
    };
  });
}

/** What is written elsewhere of comments that are held here: those that we wrote. */
export function toWanted(held: readonly HeldComments[]): readonly RelationComments[] {
  const ours = (text: string | undefined) => (text !== undefined && isOurs(text) ? text : undefined);
  return held.map((one) => ({
    ...one,
    comment: ours(one.comment),
    columns: new Map(
      [...one.columns].flatMap(([name, text]) => {
        const own = ours(text);
        return own === undefined ? [] : [[name, own] as const];
      }),
    ),
  }));
}

/** One comment that has to be written. */
export interface CommentChange {
  /** Undefined: the comment is that of the table or view itself. */
  readonly column: string | undefined;
  readonly text: string;
}

/** Which comments differ from those that are wanted. A comment that somebody else wrote stays. */
export function listCommentChanges(
  wanted: Pick<RelationComments, 'comment' | 'columns'>,
  held: Pick<HeldComments, 'comment' | 'columns'>,
): readonly CommentChange[] {
  const differs = (text: string, before: string | undefined) =>
    before === undefined || before === '' || (before !== text && isOurs(before));
  const own = wanted.comment;
  return [
    ...(own !== undefined && differs(own, held.comment) ? [{ column: undefined, text: own }] : []),
    ...[...wanted.columns].flatMap(([column, text]) =>
      held.columns.has(column) && differs(text, held.columns.get(column)) ? [{ column, text }] : [],
    ),
  ];
}

/**
 * Writes the comments of tables and views that differ, in the transaction that is open. Tables that are not there are
 * left out, so what is wanted may come from another database.
 *
 * @returns the number of comments written
 */
export async function writeComments(
  session: SqlSession,
  wanted: readonly RelationComments[],
  scope: CommentScope = {},
): Promise<number> {
  if (wanted.length === 0) return 0;
  const schemas = [...new Set(wanted.map(({ schema }) => schema))];
  const held = await readComments(session, { schemas, ...scope });
  return applyComments(session, wanted, { held, database: scope.database });
}

/** What is there, and in which database; the current one if undefined. */
interface CommentedDatabase {
  readonly held: readonly HeldComments[];
  readonly database: string | undefined;
}

/** The same where it is known which comments are held. */
export async function applyComments(
  session: SqlSession,
  wanted: readonly RelationComments[],
  { held, database }: CommentedDatabase,
): Promise<number> {
  let written = 0;
  for (const one of wanted) {
    const there = held.find(({ schema, name }) => schema === one.schema && name === one.name);
    if (there === undefined) continue;
    for (const change of listCommentChanges(one, there)) {
      await session.run(describeCommentChange(there, change, database));
      written += 1;
    }
  }
  return written;
}

/** The only statement that writes a comment: any text is data in it. */
function describeCommentChange(
  { schema, name, kind }: Pick<HeldComments, 'kind' | 'name' | 'schema'>,
  { column, text }: CommentChange,
  database: string | undefined,
): string {
  const place = [...(database === undefined ? [] : [database]), schema, name].map(quoteIdentifier).join('.');
  const what = column === undefined ? `${kind} ${place}` : `COLUMN ${place}.${quoteIdentifier(column)}`;
  return `COMMENT ON ${what} IS ${quoteLiteral(text)}`;
}

function toText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
