import { z } from 'zod';
import { StorageError } from '../src/model/errors.ts';
import type { SqlRow, SqlSession } from '../src/model/sql.ts';
import { readCheckpoints } from './checkpoints.ts';
import { checkpointSchema } from './exported-state.ts';
import { listStateColumns } from './migrations.ts';

// The engine quotes names that are words of SQL.
const PLAIN_COLUMN = /^("?)(?<name>[a-z_]+)\1 /;
const pathSchema = z.array(z.string());

/**
 * Checks the `_sluice` tables of a file against what this version writes, so that no sync relies on a state that
 * another program changed.
 *
 * @throws StorageError `state_damaged`.
 */
export async function proveState(session: SqlSession, file: string): Promise<void> {
  await proveColumns(session, file);
  await proveCheckpoints(session, file);
}

async function proveColumns(session: SqlSession, file: string): Promise<void> {
  const tables = await session.all(
    `SELECT table_name AS name, column_count AS count, sql FROM duckdb_tables()
       WHERE database_name = current_database() AND schema_name = '_sluice'`,
  );
  const found = new Map(tables.map((row) => [String(row['name']), listPlainColumns(row)]));
  const wanted = [...listStateColumns()];
  if (wanted.every(([table, columns]) => found.get(table) === columns.join(', '))) return;
  // Slow, because it looks at the columns of every view of the engine too; but it reads any definition.
  const rows = await session.all(
    `SELECT table_name AS name, string_agg(column_name, ', ' ORDER BY column_index) AS columns FROM duckdb_columns()
       WHERE database_name = current_database() AND schema_name = '_sluice' GROUP BY table_name`,
  );
  const actual = new Map(rows.map(({ name, columns }) => [String(name), String(columns)]));
  for (const [table, columns] of wanted) {
    const listed = columns.join(', ');
    const own = actual.get(table);
    if (own !== listed)
      throw toDamageError(file, `_sluice.${table} has ${own ?? 'no'} columns instead of ${listed}`);
  }
}

/** Names of a table's columns by the statement that creates it; undefined if they are not plain names and types. */
function listPlainColumns({ sql, count }: SqlRow): string | undefined {
  const text = String(sql);
  const definitions = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')')).split(', ');
  if (definitions.length !== Number(count)) return undefined;
  return definitions.map((definition) => PLAIN_COLUMN.exec(definition)?.groups?.['name']).join(', ');
}

async function proveCheckpoints(session: SqlSession, file: string): Promise<void> {
  const paths = await session.all('SELECT stream, path FROM _sluice.contracts');
  const badPath = paths.find(({ path }) => !pathSchema.safeParse(parse(path)).success);
  if (badPath !== undefined)
    throw toDamageError(file, `a path in _sluice.contracts of ${String(badPath['stream'])}`);
  const checkpoints = await readCheckpoints(session).catch((error: unknown) => {
    if (error instanceof SyntaxError) throw toDamageError(file, 'a checkpoint in _sluice.checkpoints');
    throw error;
  });
  for (const checkpoint of checkpoints) {
    const issue = checkpointSchema.safeParse(checkpoint).error?.issues[0];
    if (issue !== undefined)
      throw toDamageError(
        file,
        `${issue.path.join('.')} of the checkpoint of ${checkpoint.stream}: ${issue.message}`,
      );
  }
}

function parse(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}

/** The error for a work file that another program changed; `what` says where. */
export function toDamageError(file: string, what: string): StorageError {
  return new StorageError(`${file} was changed by another program: ${what}`, {
    code: 'state_damaged',
    hint: 'The file was not touched. Move it aside (do not delete it) and run again: Sluice restores tables and state from the published file, without a request.',
    context: { path: file },
  });
}
