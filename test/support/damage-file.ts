import { readFileSync, writeFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { queryCopy } from './published.ts';

/** Damages every block that holds values of a table; what the engine reads when it opens the file stays whole. */
export async function damageBlocksOf(file: string, table: string): Promise<void> {
  const { rows } = await queryCopy(
    file,
    `SELECT DISTINCT block_id FROM pragma_storage_info('${table}') WHERE block_id >= 0`,
  );
  if (rows.length === 0) throw new Error(`${table} has no block of its own`);
  const content = readFileSync(file);
  for (const { block_id: block } of rows) {
    const start = 3 * 4_096 + Number(block) * 262_144;
    content.fill(0, start + 16, start + 64);
  }
  writeFileSync(file, content);
}

/** Changes a closed file as another program would. */
export async function changeFile(file: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(file, { threads: '1' });
  try {
    const connection = await instance.connect();
    await connection.run(sql);
    await connection.run('CHECKPOINT');
    connection.closeSync();
  } finally {
    instance.closeSync();
  }
}

/** Flips a bit of a file's own description, by which the engine may skip rows: it opens the file all the same. */
export function damageFooter(parquet: string): void {
  const bytes = readFileSync(parquet);
  const start = bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8);
  const at = bytes.indexOf('duckdb', start, 'latin1');
  if (at === -1) throw new Error(`${parquet} does not name the program that wrote it`);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(parquet, bytes);
}

/** Makes a file that no program can open for its columns; it begins, ends and is as long as before. */
export function damageColumns(parquet: string): void {
  const bytes = readFileSync(parquet);
  writeFileSync(parquet, bytes.fill(0xff, 60, bytes.length - 8));
}
