import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

/** A row with values as the API would write them; columns that are null are left out. */
export type PlainRow = Readonly<Record<string, unknown>>;

/** A table's columns with their types, in order, and its rows. */
export interface PlainTable {
  readonly columns: Readonly<Record<string, string>>;
  readonly rows: readonly PlainRow[];
}

/** Runs SQL over a copy of a DuckDB file: the file itself is never opened, so nobody's lock is touched. */
export async function queryCopy(file: string, sql: string): Promise<PlainTable> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-copy-'));
  const copy = join(folder, 'copy.duckdb');
  copyFileSync(file, copy);
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  try {
    const connection = await instance.connect();
    await connection.run(`ATTACH '${copy}' AS copy (READ_ONLY)`);
    await connection.run('USE copy');
    await connection.run(`SET TimeZone = 'UTC'`);
    const reader = await connection.runAndReadAll(sql);
    const names = reader.columnNames();
    const types = reader.columnTypes().map((type) => type.alias ?? String(type));
    const texts = reader.getRowsJson();
    const rows = reader.getRowsJS().map((values, at) => {
      const row: Record<string, unknown> = {};
      for (const [column, name] of names.entries()) {
        const value = toPlainValue(values[column], texts[at]?.[column], types[column] ?? '');
        if (value !== null) row[name] = value;
      }
      return row;
    });
    connection.closeSync();
    return { columns: Object.fromEntries(names.map((name, column) => [name, types[column] ?? ''])), rows };
  } finally {
    instance.closeSync();
    rmSync(folder, { recursive: true });
  }
}

function toPlainValue(value: unknown, text: unknown, type: string): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'JSON') return JSON.parse(String(text)) as unknown;
  // Exact decimals and wide integers stay text: a double could not show a rounding.
  if (type.startsWith('DECIMAL')) return String(text);
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (!(value instanceof Date)) return value;
  const iso = value.toISOString();
  return type === 'DATE' ? iso.slice(0, 10) : iso.replace('.000Z', 'Z');
}

/** The rows in an order that depends on their values only, without the columns that Sluice adds. */
export function sortRows(rows: readonly PlainRow[]): readonly PlainRow[] {
  return rows
    .map(({ _run_id, _synced_at, ...row }) => sortMembers(row))
    .map((row) => ({ row, text: JSON.stringify(row) }))
    .toSorted((a, b) => (a.text < b.text ? -1 : 1))
    .map(({ row }) => row);
}

/** A record as a row of its table, by the documented rules alone: snake_case, nested names joined, no nulls. */
export function flattenRecord(record: unknown, prefix = ''): PlainRow {
  const row: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(record as object)) {
    const name = prefix + field.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
    if (value === null) continue;
    if (typeof value === 'object' && !Array.isArray(value))
      Object.assign(row, flattenRecord(value, `${name}__`));
    else row[name] = value;
  }
  return row;
}

/** What a table should hold after a sync of these records, ready to be compared with `sortRows`. */
export function expectRows(records: readonly unknown[]): readonly PlainRow[] {
  return sortRows(records.map((record) => flattenRecord(record)));
}

function sortMembers(row: PlainRow): PlainRow {
  return Object.fromEntries(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
