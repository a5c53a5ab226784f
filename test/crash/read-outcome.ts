import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { type PlainRow, queryCopy, sortRows } from '../support/published.ts';

/** What must be the same whatever happened on the way: rows, columns, contract and checkpoint of each table. */
export interface Outcome {
  readonly tables: Readonly<
    Record<string, { readonly columns: Readonly<Record<string, string>>; readonly rows: readonly PlainRow[] }>
  >;
  readonly contract: readonly PlainRow[];
  readonly checkpoints: readonly PlainRow[];
}

/** Reads the outcome of a sync from its published file. */
export async function readOutcome(duckdb: string): Promise<Outcome> {
  const names = await queryCopy(
    duckdb,
    `SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'main' ORDER BY 1`,
  );
  const tables: Record<string, Outcome['tables'][string]> = {};
  for (const { table_name: name } of names.rows) {
    const { columns, rows } = await queryCopy(duckdb, `SELECT * FROM main."${String(name)}"`);
    tables[String(name)] = { columns, rows: sortRows(rows) };
  }
  const contract = await queryCopy(
    duckdb,
    'SELECT stream, path, column_name, type FROM _sluice.contracts ORDER BY stream, ordinal',
  );
  const checkpoints = await queryCopy(
    duckdb,
    // Days are left out: runs that are compared may lie on both sides of midnight.
    `SELECT * EXCLUDE (run_id, last_full_scan_at, last_verified_at, whole_at, proved_from, head, counts,
                       full_refresh_due, rows_declared, key_proved_on),
            json_array_length(key_proved_on) > 0 AS has_proved_key
       FROM _sluice.checkpoints ORDER BY stream, slice`,
  );
  return { tables, contract: contract.rows, checkpoints: checkpoints.rows };
}

/** Runs SQL over a copy of a work file and its log, as the next process would find them. */
export async function queryWorkFile(stateDir: string, sql: string): Promise<readonly PlainRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-copy-'));
  for (const name of ['work.duckdb', 'work.duckdb.wal'])
    if (existsSync(join(stateDir, name))) cpSync(join(stateDir, name), join(folder, name));
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  try {
    const connection = await instance.connect();
    await connection.run(`ATTACH '${join(folder, 'work.duckdb')}' AS work`);
    await connection.run('USE work');
    const reader = await connection.runAndReadAll(sql);
    const rows = reader.getRowObjectsJson();
    connection.closeSync();
    return rows;
  } finally {
    instance.closeSync();
    rmSync(folder, { recursive: true });
  }
}

/** Offsets of the pages that a stage holds whole. */
export function readStagedOffsets(stateDir: string, stream: string): readonly number[] {
  const index = join(stateDir, 'stage', stream, 'pages.ndjson');
  if (!existsSync(index)) return [];
  return readFileSync(index, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => (JSON.parse(line) as { readonly offset: number }).offset);
}
