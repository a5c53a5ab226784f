// Syncs every stream into a DuckDB file beside it. Run it with: node examples/sync.ts
import { sync } from '../src/index.ts'; // in a project of your own: from 'sluice'

const { ANALYTICS_BASE_URL = 'https://analytics.example.com/api/v1', ANALYTICS_API_KEY = '' } = process.env;
const report = await sync({
  source: { connector: 'analytics-read', baseUrl: ANALYTICS_BASE_URL, apiKey: ANALYTICS_API_KEY },
  destination: { duckdb: './warehouse.duckdb' },
});
for (const { stream, verdict = 'not synced', rows } of report.streams)
  process.stdout.write(`${stream}: ${verdict}, ${rows.inserted} new rows\n`);
process.exitCode = report.exitCode;
