import { join } from 'node:path';
import { connectors } from '../connectors/registry.ts';
import { boundHeap } from '../src/cli/prepare-process.ts';
import { parseConfig } from '../src/config/load-config.ts';
import { resolveSettings } from '../src/config/resolve-settings.ts';
import type { ConfigInput } from '../src/model/config.ts';
import type { ProgressEvent } from '../src/model/progress.ts';
import { runSync } from '../src/sync/run.ts';
import { readPeakMb } from './support/peak-memory.ts';

// One sync of the pages, as the product does it, with the limits lifted. Prints how long each part took, from
// the moment the stream is begun: what comes before is the start of the program.
// Usage: sync-once.ts ORIGIN FOLDER [PAGE_SIZE] [JSON of { stream, destination, engine } to add to the config]
const [origin = '', folder = '.', pageSize = '100', more = '{}'] = process.argv.slice(2);
interface More {
  readonly stream?: NonNullable<ConfigInput['streams']>[string];
  readonly destination?: ConfigInput['destination'];
  readonly engine?: ConfigInput['engine'];
}
interface Mark {
  readonly seconds: number;
  readonly cpuSeconds: number;
}
const { stream, destination, engine } = JSON.parse(more) as More;
/** Events that begin or end a part. */
const MARKED: ReadonlySet<ProgressEvent['type']> = new Set([
  'stream-started',
  'stream-loading',
  'stream-finished',
  'publishing',
  'published',
]);
const marks = new Map<string, Mark>();
const bytes = new Map<string, number>();
boundHeap();
const loaded = parseConfig(
  {
    source: {
      connector: 'analytics-read',
      baseUrl: `${origin}/v1`,
      apiKey: 'bench-key-0123456789',
      quota: { burstPerSecond: 1_000_000, requestsPerHour: 100_000_000, ledgerDir: './quota' },
    },
    destination: { duckdb: './warehouse.duckdb', ...destination },
    stateDir: './state',
    ...(engine && { engine }),
    defaults: { freshness: 0 },
    streams: {
      ...Object.fromEntries(
        (connectors['analytics-read']?.streams ?? []).map(({ name }) => [name, { enabled: false }]),
      ),
      items: { path: 'items', paginated: true, key: ['id', 'date'], ...stream },
    },
  },
  folder,
);
const settings = resolveSettings({ loaded, connectors, env: process.env, nowMs: Date.now() });
const report = await runSync(
  {
    ...settings,
    ledgerDir: join(folder, 'quota'),
    // The config takes no more than this API's 100.
    streams: settings.streams.map((one) => ({ ...one, pageSize: Number(pageSize) })),
  },
  { onProgress: readMark, maxWaitMs: 0 },
);
function readMark(event: ProgressEvent): void {
  // Asked for at each request, the time alone would take a tenth of all.
  if (!MARKED.has(event.type)) return;
  const { user, system } = process.cpuUsage();
  const mark = { seconds: performance.now() / 1_000, cpuSeconds: (user + system) / 1_000_000 };
  const where = 'path' in event ? ` ${event.path === settings.readersFile ? 'file' : 'lake'}` : '';
  marks.set(`${event.type}${where}`, mark);
  if (event.type === 'published') bytes.set(where.trim(), event.bytes);
}
const between = (what: keyof Mark, from: string, to: string) =>
  (marks.get(to)?.[what] ?? 0) - (marks.get(from)?.[what] ?? 0);
if (report.exitCode !== 0) throw new Error(JSON.stringify(report.error ?? report.streams[0]?.error));
process.stdout.write(
  `${JSON.stringify({
    rows: report.rows.read,
    changed: report.rows.inserted + report.rows.updated,
    seconds: between('seconds', 'stream-started', 'stream-finished'),
    cpuSeconds: between('cpuSeconds', 'stream-started', 'stream-finished'),
    fetchSeconds: between('seconds', 'stream-started', 'stream-loading'),
    fetchCpuSeconds: between('cpuSeconds', 'stream-started', 'stream-loading'),
    loadSeconds: between('seconds', 'stream-loading', 'stream-finished'),
    loadCpuSeconds: between('cpuSeconds', 'stream-loading', 'stream-finished'),
    publishSeconds: between('seconds', 'publishing file', 'published file'),
    publishedBytes: bytes.get('file') ?? 0,
    lakeSeconds: between('seconds', 'publishing lake', 'published lake'),
    lakeBytes: bytes.get('lake') ?? 0,
    peakMb: readPeakMb(),
  })}\n`,
);
