import { StorageError } from '../src/model/errors.ts';
import type { SqlSession } from '../src/model/sql.ts';
import { insertRows } from './insert-rows.ts';

/**
 * The tables of schema `_sluice`, as an append-only list of steps: step n migrates a file from version n - 1 to n. No
 * keys, defaults or indexes (see docs/decisions/20261120-no-primary-keys.md).
 */
const migrations: readonly (readonly string[])[] = [
  [
    'CREATE SCHEMA IF NOT EXISTS _sluice',
    'CREATE TABLE _sluice.meta (key VARCHAR, value VARCHAR)',
    `CREATE TABLE _sluice.runs (run_id VARCHAR, started_at TIMESTAMPTZ, finished_at TIMESTAMPTZ, status VARCHAR,
       exit_code INTEGER, requests BIGINT, retries BIGINT, waited_ms BIGINT, rows_read BIGINT, rows_inserted BIGINT,
       rows_updated BIGINT, rows_unchanged BIGINT, rows_deleted BIGINT, rows_quarantined BIGINT, version VARCHAR)`,
    `CREATE TABLE _sluice.stream_runs (run_id VARCHAR, stream VARCHAR, slice VARCHAR, status VARCHAR, verdict VARCHAR,
       rows_declared BIGINT, rows_read BIGINT, pages BIGINT, requests BIGINT, rescans BIGINT, started_at TIMESTAMPTZ,
       finished_at TIMESTAMPTZ)`,
    `CREATE TABLE _sluice.checkpoints (stream VARCHAR, slice VARCHAR, fingerprint VARCHAR, cursor_field VARCHAR,
       cursor_state VARCHAR, watermark VARCHAR, key_fields JSON, key_origin VARCHAR, key_proved_on JSON,
       last_full_scan_at TIMESTAMPTZ, last_verified_at TIMESTAMPTZ, last_verdict VARCHAR, rows_declared BIGINT,
       run_id VARCHAR)`,
    `CREATE TABLE _sluice.contracts (stream VARCHAR, path JSON, column_name VARCHAR, type VARCHAR, ordinal INTEGER,
       run_id VARCHAR)`,
    `CREATE TABLE _sluice.quarantine (run_id VARCHAR, stream VARCHAR, slice VARCHAR, page_offset BIGINT,
       row_index BIGINT, reason VARCHAR, path VARCHAR, record VARCHAR, quarantined_at TIMESTAMPTZ)`,
    `CREATE TABLE _sluice.schema_changes (run_id VARCHAR, stream VARCHAR, column_name VARCHAR, change VARCHAR,
       from_type VARCHAR, to_type VARCHAR, changed_at TIMESTAMPTZ)`,
  ],
  [
    'ALTER TABLE _sluice.checkpoints ADD COLUMN head JSON',
    'ALTER TABLE _sluice.stream_runs ADD COLUMN mode VARCHAR',
    'ALTER TABLE _sluice.stream_runs ADD COLUMN reasons JSON',
    'ALTER TABLE _sluice.stream_runs ADD COLUMN rows_inserted BIGINT',
    'ALTER TABLE _sluice.stream_runs ADD COLUMN rows_updated BIGINT',
    'ALTER TABLE _sluice.stream_runs ADD COLUMN rows_unchanged BIGINT',
    'ALTER TABLE _sluice.stream_runs ADD COLUMN rows_deleted BIGINT',
    'ALTER TABLE _sluice.stream_runs ADD COLUMN rows_quarantined BIGINT',
  ],
  ['ALTER TABLE _sluice.contracts ADD COLUMN absent_since VARCHAR'],
  ['ALTER TABLE _sluice.checkpoints ADD COLUMN rules VARCHAR'],
  [
    'ALTER TABLE _sluice.contracts ADD COLUMN companion BOOLEAN',
    // Before rows are changed: a later ALTER would make the commit fail.
    'ALTER TABLE _sluice.contracts ADD COLUMN json_types JSON',
    'ALTER TABLE _sluice.quarantine ADD COLUMN absent_since VARCHAR',
    // The path marked it with a NUL and a word after the last name; a name that contains the same letters is escaped
    // differently.
    String.raw`UPDATE _sluice.contracts SET companion = regexp_matches(path::VARCHAR, '[^\\](?:\\\\)*\\u0000_text"\]$')`,
    String.raw`UPDATE _sluice.contracts SET path = regexp_replace(path::VARCHAR, '\\u0000_text"\]$', '"]')::JSON WHERE companion`,
  ],
  [
    'ALTER TABLE _sluice.checkpoints ADD COLUMN full_refresh_due VARCHAR',
    'ALTER TABLE _sluice.checkpoints ADD COLUMN whole_at TIMESTAMPTZ',
    'ALTER TABLE _sluice.checkpoints ADD COLUMN proved_from VARCHAR',
    'ALTER TABLE _sluice.checkpoints ADD COLUMN counts JSON',
    'ALTER TABLE _sluice.stream_runs ADD COLUMN rows_in_api BIGINT',
    'ALTER TABLE _sluice.stream_runs ADD COLUMN rows_in_table BIGINT',
    'ALTER TABLE _sluice.stream_runs ADD COLUMN difference BIGINT',
  ],
  ['CREATE TABLE _sluice.elements (stream VARCHAR, column_name VARCHAR, fields VARCHAR, run_id VARCHAR)'],
];

/** Version of a file after all steps. */
export const schemaVersion = migrations.length;

/** Columns of each `_sluice` table in a given version, in order. */
export function listStateColumns(version: number = schemaVersion): ReadonlyMap<string, readonly string[]> {
  const tables = [...listDefinitions(version)];
  return new Map(tables.map(([table, columns]) => [table, columns.map((text) => text.split(' ')[0] ?? '')]));
}

/** The same with their types, as SQL defines them. */
function listDefinitions(version: number): ReadonlyMap<string, readonly string[]> {
  const tables = new Map<string, readonly string[]>();
  for (const statement of migrations.slice(0, version).flat()) {
    const [, created, list = ''] = /^CREATE TABLE _sluice\.(\w+) \(([^)]*)\)/.exec(statement) ?? [];
    const [, altered, added = ''] = /^ALTER TABLE _sluice\.(\w+) ADD COLUMN (\w+ \w+)/.exec(statement) ?? [];
    if (created !== undefined) tables.set(created, list.trim().split(/,\s+/));
    if (altered !== undefined) tables.set(altered, [...(tables.get(altered) ?? []), added]);
  }
  return tables;
}

/** A new file gets the tables as all steps together leave them: forty statements less. */
function listStatements(version: number): readonly string[] {
  if (version > 0) return migrations.slice(version).flat();
  return [
    'CREATE SCHEMA IF NOT EXISTS _sluice',
    ...[...listDefinitions(schemaVersion)].map(
      ([table, columns]) => `CREATE TABLE _sluice.${table} (${columns.join(', ')})`,
    ),
  ];
}

/** Migrates a warehouse's `_sluice` tables to the current version; call inside a transaction. */
export async function migrate(session: SqlSession, file: string): Promise<void> {
  const version = await readSchemaVersion(session, file);
  for (const statement of listStatements(version)) await session.run(statement);
  if (version < schemaVersion) await writeMeta(session, 'schema_version', String(schemaVersion));
}

/**
 * Version of a file's `_sluice` tables; 0 if there are none.
 *
 * @throws StorageError `state_damaged`, also for a version that only a newer Sluice knows
 */
export async function readSchemaVersion(session: SqlSession, file: string): Promise<number> {
  const tables = await session.all(
    `SELECT 1 FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = '_sluice' AND table_name = 'meta'`,
  );
  if (tables.length === 0) return 0;
  const said = (await readMeta(session)).get('schema_version') ?? '';
  if (!/^[1-9]\d*$/.test(said)) {
    throw new StorageError(`${file} does not say which version its state has ("${said.slice(0, 40)}")`, {
      code: 'state_damaged',
      hint: 'The file was not touched. Move it aside (do not delete it) and run again: Sluice restores its state from the published file.',
      context: { path: file },
    });
  }
  const version = Number(said);
  if (version <= schemaVersion) return version;
  throw new StorageError(
    `${file} was written by a newer Sluice (state version ${version}, this one knows ${schemaVersion})`,
    {
      code: 'state_damaged',
      hint: 'Upgrade Sluice; the file was not touched.',
      context: { path: file },
    },
  );
}

/** Every entry of `_sluice.meta`. */
export async function readMeta(session: SqlSession): Promise<ReadonlyMap<string, string>> {
  const rows = await session.all('SELECT key, value FROM _sluice.meta');
  return new Map(rows.map((row) => [String(row['key']), String(row['value'])]));
}

/** Sets one entry of `_sluice.meta`. */
export function writeMeta(session: SqlSession, key: string, value: string): Promise<void> {
  return writeEntries(session, new Map([[key, value]]));
}

/** Sets several entries of `_sluice.meta` at once. */
export async function writeEntries(session: SqlSession, entries: ReadonlyMap<string, string>): Promise<void> {
  const keys = [...entries.keys()];
  if (keys.length === 0) return;
  const listed = keys.map((_, at) => `$${at + 1}`).join(', ');
  await session.run(`DELETE FROM _sluice.meta WHERE key IN (${listed})`, keys);
  await insertRows(session, '_sluice.meta', ['VARCHAR', 'VARCHAR'], [...entries]);
}
