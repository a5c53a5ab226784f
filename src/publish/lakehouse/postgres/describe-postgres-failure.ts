import type { PostgresDestination } from '../../../model/destination.ts';
import type { SyncError } from '../../../model/errors.ts';
import type { SqlSession } from '../../../model/sql.ts';
import { ATTACHED } from '../../../warehouse/database-options.ts';
import { quoteIdentifier, quoteLiteral } from '../../../warehouse/identifiers.ts';
import {
  type Advice,
  CONFLICT,
  describeEngineFailure,
  listServerAdvice,
  readMessage,
} from '../describe-failure.ts';

const LEAVE_OUT =
  'Leave the column out (`exclude: true` for it in streams.<name>.columns), or store a hash of its values (`hash: true`). Other destinations can hold them.';

/** What the engine says about a text with NUL. */
const NUL_REFUSED = /NULL-byte/;

const advice: readonly Advice[] = [
  {
    pattern: NUL_REFUSED,
    what: 'a text has the character NUL in it, and Postgres has no such texts',
    hint: LEAVE_OUT,
  },
  {
    pattern: /out of range for Postgres|timestamp out of range/,
    what: 'a date or time is outside the range that Postgres has',
    hint: 'Store the column as text: `type: VARCHAR` for it in streams.<name>.columns.',
  },
  {
    pattern: /has no equivalent in encoding|invalid byte sequence for encoding/,
    what: 'the database cannot store all characters',
    hint: 'Create a database with ENCODING UTF8, and name it in destination.postgres.url.',
  },
  {
    pattern: /conflicts with a system column name|row is too big|can have at most 1600 columns/,
    what: 'Postgres cannot have this table',
    hint: LEAVE_OUT,
  },
  {
    pattern: /lock timeout/,
    what: 'another program keeps a table locked, e.g. a reader with an open transaction while a column is added',
    hint: 'End its transaction (pg_stat_activity lists them), and run again: publishing needs no request.',
  },
  {
    pattern: /other objects depend on it|used by a view/,
    what: 'a view or another object depends on a column or table that has to be removed',
    hint: 'Drop that view, run again, and create it again. Publishing needs no request.',
  },
  {
    pattern: /statement timeout/,
    what: 'a statement took longer than the server allows',
    hint: 'Give the user a longer one (ALTER ROLE … SET statement_timeout), and run again.',
  },
  {
    pattern: /read-only transaction|recovery is in progress/,
    what: 'nothing can be written to the server',
    hint: 'Write the address of the primary server in destination.postgres.url. If it is that one, let the user write (ALTER ROLE … or ALTER DATABASE … SET default_transaction_read_only = off).',
  },
  {
    pattern: /too many (?:connections|clients)|remaining connection slots/,
    what: 'the server has no free connection',
    hint: 'Run again later, or raise max_connections.',
  },
  {
    pattern: /No space left on device|could not extend file|disk full/i,
    what: 'the disk of the server is full',
    hint: 'Make room there, and run again.',
  },
  {
    pattern: /pg_(?:class|type|namespace)_\w+_index|concurrently updated|deadlock detected/,
    what: CONFLICT.what,
    hint: CONFLICT.hint,
  },
  CONFLICT,
  {
    pattern: /already exists/,
    what: 'something with that name is there that Sluice did not make',
    hint: 'Rename or drop it, and run again.',
  },
  ...listServerAdvice('destination.postgres.url', 'the server'),
];

/** What the engine says about a database of Postgres. */
export function describePostgresFailure(
  destination: PostgresDestination,
  thrown: unknown,
  where?: string,
): SyncError {
  const named = where === undefined ? thrown : new Error(`${where}: ${readMessage(thrown)}`);
  return describeEngineFailure(destination, named, advice);
}

/** The first column of the work file that has a text that it refused, for people; undefined for another failure. */
export async function findRefused(session: SqlSession, thrown: unknown): Promise<string | undefined> {
  if (!NUL_REFUSED.test(readMessage(thrown))) return undefined;
  const columns = await session.all(
    `SELECT schema_name AS schema, table_name AS "table", column_name AS name FROM duckdb_columns()
       WHERE database_name = ${quoteLiteral(ATTACHED)} AND data_type = 'VARCHAR' AND NOT internal ORDER BY ALL`,
  );
  for (const row of columns) {
    const [schema, table, name] = [row['schema'], row['table'], row['name']].map(String);
    const located = [ATTACHED, schema, table].map((part) => quoteIdentifier(part ?? '')).join('.');
    const found = await session.all(
      `SELECT 1 FROM ${located} WHERE contains(${quoteIdentifier(name ?? '')}, chr(0)) LIMIT 1`,
    );
    if (found.length > 0) return `${name} of ${schema}.${table}`;
  }
  return undefined;
}
