// Syncs every stream into a DuckDB file in the working folder, says what happens, and asks the file a question.
// Run it with: node examples/sync.ts
// In a project of your own, install @duckdb/node-api next to sluice for the query.
import { DuckDBInstance } from '@duckdb/node-api';
import { check, defineConfig, sync, SyncError } from '../src/index.ts'; // in a project of your own: from 'sluice'

const FILE = './warehouse.duckdb';
const { ANALYTICS_BASE_URL = 'https://analytics.example.com/api/v1', ANALYTICS_API_KEY = '' } = process.env;
const config = defineConfig({
  source: { connector: 'analytics-read', baseUrl: ANALYTICS_BASE_URL, apiKey: ANALYTICS_API_KEY },
  destination: { duckdb: FILE },
});
const say = (text: string) => void process.stdout.write(`${text}\n`);
// Ctrl-C ends the run after what is committed; the next one continues from there.
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());

try {
  const { ok, items } = await check(config);
  for (const { name, detail, fix } of ok ? [] : items) say(`${name}: ${detail} ${fix ?? ''}`);

  const report = await sync(config, {
    maxWaitMs: 30 * 60_000,
    signal: stop.signal,
    onProgress: (event) => {
      if (event.type === 'stream-finished') say(`${event.report.stream} is done`);
    },
  });
  for (const { stream, status, verdict = 'not read', rows } of report.streams)
    say(`${stream}: ${status}, ${verdict}, ${rows.inserted} new rows`);
  process.exitCode = report.exitCode;
  if (report.published) await ask('SELECT stream, last_verdict FROM _sluice.checkpoints ORDER BY stream');
} catch (error) {
  if (!(error instanceof SyncError)) throw error;
  say(`${error.code}: ${error.message}\n${error.hint}`);
  process.exitCode = error.exitCode;
}

/** Opens the published file read-only, as any other program may at any time. */
async function ask(sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(FILE, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  const rows = await connection.runAndReadAll(sql);
  for (const row of rows.getRowsJson()) say(row.map(String).join(' '));
  connection.closeSync();
  instance.closeSync();
}
