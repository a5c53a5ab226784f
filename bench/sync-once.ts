import { join } from 'node:path';
import { connectors } from '../connectors/registry.ts';
import { parseConfig } from '../src/config/load-config.ts';
import { resolveSettings } from '../src/config/resolve-settings.ts';
import type { ProgressEvent } from '../src/model/progress.ts';
import { runSync } from '../src/pipeline/run.ts';

// One sync of the pages, as the product does it, with the limits lifted. Prints how long each part took.
const [origin = '', folder = '.'] = process.argv.slice(2);
const startedAt = performance.now();
const marks = new Map<ProgressEvent['type'], number>();
const loaded = parseConfig(
  {
    source: {
      connector: 'analytics-read',
      baseUrl: `${origin}/v1`,
      apiKey: 'bench-key-0123456789',
      quota: { burstPerSecond: 1_000_000, requestsPerHour: 100_000_000, ledgerDir: './quota' },
    },
    destination: { duckdb: './warehouse.duckdb' },
    stateDir: './state',
    defaults: { freshness: 0 },
    streams: {
      ...Object.fromEntries(
        (connectors['analytics-read']?.streams ?? []).map(({ name }) => [name, { enabled: false }]),
      ),
      items: { path: 'items', paginated: true, key: ['id', 'date'] },
    },
  },
  folder,
);
const settings = resolveSettings({ loaded, connectors, env: process.env, nowMs: Date.now() });
const report = await runSync(
  { ...settings, ledgerDir: join(folder, 'quota') },
  { onProgress: (event) => marks.set(event.type, performance.now()), maxWaitMs: 0 },
);
const at = (type: ProgressEvent['type']) => ((marks.get(type) ?? startedAt) - startedAt) / 1_000;
if (report.exitCode !== 0) throw new Error(JSON.stringify(report.error ?? report.streams[0]?.error));
process.stdout.write(
  `${JSON.stringify({
    rows: report.rows.read,
    changed: report.rows.inserted + report.rows.updated,
    seconds: at('stream-finished'),
    fetchSeconds: at('stream-loading'),
    publishSeconds: at('published') - at('publishing'),
    peakMb: process.resourceUsage().maxRSS / 1_024,
  })}\n`,
);
