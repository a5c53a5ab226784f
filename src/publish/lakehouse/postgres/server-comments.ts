import type { RelationComments } from '../../../model/dictionary.ts';
import type { SqlSession } from '../../../model/sql.ts';
import { type CommentChange, type HeldComments, listCommentChanges } from '../../../warehouse/comments.ts';
import { quoteEscaped, quoteIdentifier, quoteLiteral } from '../../../warehouse/identifiers.ts';
import { ask, execute } from './server-tables.ts';

/** A vacuum of a table, or a new index, holds a lock that a comment waits for. */
const LOCK_SECONDS = 1;

/**
 * Writes comments that differ. A table that is locked, or belongs to another role, keeps those that it has: they are
 * written by a later publish, and the rows are published now.
 */
export async function commentOnServer(
  session: SqlSession,
  wanted: readonly RelationComments[],
): Promise<void> {
  if (wanted.length === 0) return;
  const { held, isUnicode } = await readServerComments(session, [
    ...new Set(wanted.map(({ schema }) => schema)),
  ]);
  for (const one of wanted) {
    const there = held.get(`${one.schema}.${one.name}`);
    if (there === undefined) continue;
    const changes = listCommentChanges(isUnicode ? one : toAscii(one), there);
    if (changes.length > 0) await execute(session, describeChanges(one, changes));
  }
}

interface ServerComments {
  readonly held: ReadonlyMap<string, Pick<HeldComments, 'columns' | 'comment'>>;
  /** Whether the database holds any character. */
  readonly isUnicode: boolean;
}

async function readServerComments(session: SqlSession, schemas: readonly string[]): Promise<ServerComments> {
  const rows = await ask(
    session,
    `SELECT n.nspname || '.' || c.relname AS name, a.attname::text AS "column", current_setting('server_encoding') AS encoding,
         CASE WHEN a.attnum IS NULL THEN obj_description(c.oid, 'pg_class') ELSE col_description(c.oid, a.attnum) END AS comment
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       CROSS JOIN LATERAL (SELECT attname, attnum FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped
         UNION ALL SELECT NULL, NULL) a
       WHERE c.relkind = 'r' AND n.nspname IN (${schemas.map(quoteLiteral).join(', ')})`,
  );
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const held = new Map(
    [...Map.groupBy(rows, ({ name }) => String(name))].map(([name, own]) => [
      name,
      {
        comment: text(own.find(({ column }) => column === null)?.['comment']),
        columns: new Map(
          own.flatMap(({ column, comment }) =>
            typeof column === 'string' ? [[column, text(comment)] as const] : [],
          ),
        ),
      },
    ]),
  );
  return { held, isUnicode: rows.every(({ encoding }) => encoding === 'UTF8') };
}

function toAscii(one: RelationComments): RelationComments {
  const ascii = (text: string) => text.replaceAll(/[^ -~]/gu, '?');
  return {
    ...one,
    comment: one.comment === undefined ? undefined : ascii(one.comment),
    columns: new Map([...one.columns].map(([name, text]) => [name, ascii(text)])),
  };
}

/** One statement for a table: what keeps it from being commented on does not end the transaction. */
function describeChanges({ schema, name }: RelationComments, changes: readonly CommentChange[]): string {
  const place = [schema, name].map(quoteIdentifier).join('.');
  const statements = changes.map(({ column, text }) => {
    const what = column === undefined ? `TABLE ${place}` : `COLUMN ${place}.${quoteIdentifier(column)}`;
    return `COMMENT ON ${what} IS ${quoteEscaped(text)};`;
  });
  const body = `DECLARE before text := current_setting('lock_timeout');
BEGIN
  PERFORM set_config('lock_timeout', '${LOCK_SECONDS}s', true);
  ${statements.join('\n  ')}
  PERFORM set_config('lock_timeout', before, true);
EXCEPTION WHEN lock_not_available OR deadlock_detected OR insufficient_privilege THEN NULL;
END`;
  return `DO ${quoteEscaped(body)}`;
}
