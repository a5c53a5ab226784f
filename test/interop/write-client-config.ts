import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes the config of a project that clients read from; returns its path. */
export function writeClientConfig(folder: string, baseUrl: string): string {
  const file = join(folder, 'sluice.yaml');
  const config = {
    source: {
      connector: 'analytics-read',
      baseUrl,
      apiKey: '${ANALYTICS_API_KEY}',
      quota: { ledgerDir: './ledger', burstPerSecond: 1000 },
    },
    destination: { duckdb: './warehouse.duckdb' },
    // Each read reads everything, so that rows that are gone are noticed.
    defaults: { freshness: '0s', fullRefreshEvery: '0s', deletes: 'hard' },
  };
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(config));
  return file;
}
