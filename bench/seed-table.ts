import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { daysOf, selectDatedRows } from './dated-records.ts';

// Fills the table that a first sync of the newest records made up to a number of rows, as if that sync had read
// them all: reading ten million of them page by page would take most of the time and is measured elsewhere.
// Usage: seed-table.ts FOLDER ROWS ROWS_THERE
const [folder = '.', rowsText = '0', thereText = '0'] = process.argv.slice(2);
const rows = Number(rowsText);
const instance = await DuckDBInstance.create(join(folder, 'state/work.duckdb'), { memory_limit: '2GB' });
const connection = await instance.connect();
await connection.run("SET TimeZone = 'UTC'");
await connection.run(
  `INSERT INTO main.items BY NAME ${selectDatedRows(rows - Number(thereText), rows, daysOf(new Date()))}`,
);
await connection.run('UPDATE _sluice.checkpoints SET rows_declared = $1', [rows]);
await connection.run('CHECKPOINT');
const reader = await connection.runAndReadAll('SELECT count(*)::INTEGER AS n FROM main.items');
connection.closeSync();
instance.closeSync();
process.stdout.write(`${JSON.stringify({ rows: Number(reader.getRowObjects()[0]?.['n']) })}\n`);
