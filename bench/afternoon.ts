import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { readPeakMb } from './support/peak-memory.ts';

// What a careful engineer writes in an afternoon: pages one after the other, NDJSON, one MERGE by a known key.
interface Page {
  readonly data: readonly unknown[];
  readonly pagination: { readonly hasMore: boolean };
}

const [origin = '', folder = '.'] = process.argv.slice(2);
const scratch = mkdtempSync(join(folder, 'afternoon-'));
const file = join(scratch, 'items.ndjson');
const startedAt = performance.now();
const cpuAtStart = process.cpuUsage();
const output = createWriteStream(file);
let read = 0;
for (;;) {
  const response = await fetch(`${origin}/v1/items?limit=100&offset=${read}`);
  if (!response.ok) throw new Error(`status ${response.status}`);
  const page = (await response.json()) as Page;
  for (const row of page.data) if (!output.write(`${JSON.stringify(row)}\n`)) await once(output, 'drain');
  read += page.data.length;
  if (!page.pagination.hasMore) break;
}
output.end();
await once(output, 'finish');
const instance = await DuckDBInstance.create(join(folder, 'afternoon.duckdb'), { threads: '2' });
const connection = await instance.connect();
await connection.run(`CREATE TABLE IF NOT EXISTS items AS SELECT * FROM read_json('${file}') LIMIT 0`);
await connection.run(`MERGE INTO items USING (SELECT * FROM read_json('${file}')) AS incoming
  ON items.id = incoming.id AND items.date = incoming.date
  WHEN MATCHED THEN UPDATE WHEN NOT MATCHED THEN INSERT`);
connection.closeSync();
instance.closeSync();
const seconds = (performance.now() - startedAt) / 1_000;
const { user, system } = process.cpuUsage(cpuAtStart);
const cpuSeconds = (user + system) / 1_000_000;
rmSync(scratch, { recursive: true });
process.stdout.write(`${JSON.stringify({ rows: read, seconds, cpuSeconds, peakMb: readPeakMb() })}\n`);
