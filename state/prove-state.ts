import { z } from 'zod';
import { StorageError } from '../src/model/errors.ts';
import type { SqlSession } from '../src/model/sql.ts';
import { readCheckpoints } from './checkpoints.ts';
import { checkpointSchema } from './exported-state.ts';
import { listStateColumns } from './migrations.ts';

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

/**
 * Checks the tables of streams against their checkpoints: a dropped or altered table must not pass as complete.
 *
 * @param streams streams of the config; other streams in the file have tables of the same name
 * @param except names of streams whose tables may be missing
 * @throws StorageError `state_damaged`.
 */
export async function proveTables(
  session: SqlSession,
  file: string,
  streams: readonly { readonly name: string; readonly table: string }[],
  except: readonly string[] = [],
): Promise<void> {
  const columns = await session.all(
    `SELECT table_name, column_name FROM duckdb_columns()
       WHERE database_name = current_database() AND schema_name = 'main'`,
  );
  const found = new Set(columns.map((row) => `${String(row['table_name'])}.${String(row['column_name'])}`));
  const learned = await session.all(
    `SELECT stream, '_run_id' AS column_name FROM _sluice.checkpoints
       UNION ALL SELECT stream, column_name FROM _sluice.contracts WHERE type <> 'NULL'`,
  );
  const tables = new Map(streams.map(({ name, table }) => [name, table]));
  for (const { stream, column_name: column } of learned) {
    const name = String(stream);
    const table = tables.get(name) ?? name;
    if (except.includes(name) || found.has(`${table}.${String(column)}`)) continue;
    const what = column === '_run_id' ? 'is gone' : `has lost its column ${String(column)}`;
    throw toDamageError(file, `the table ${table} ${what}`);
  }
}

async function proveColumns(session: SqlSession, file: string): Promise<void> {
  const rows = await session.all(
    `SELECT table_name AS name, string_agg(column_name, ', ' ORDER BY column_index) AS columns FROM duckdb_columns()
       WHERE database_name = current_database() AND schema_name = '_sluice' GROUP BY table_name`,
  );
  const found = new Map(rows.map(({ name, columns }) => [String(name), String(columns)]));
  for (const [table, columns] of listStateColumns()) {
    const wanted = columns.join(', ');
    const actual = found.get(table);
    if (actual !== wanted)
      throw toDamageError(file, `_sluice.${table} has ${actual ?? 'no'} columns instead of ${wanted}`);
  }
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

function toDamageError(file: string, what: string): StorageError {
  return new StorageError(`${file} was changed by another program: ${what}`, {
    code: 'state_damaged',
    hint: 'The file was not touched. Move it aside (do not delete it) and run again: Sluice restores tables and state from the published file, without a request.',
    context: { path: file },
  });
}
