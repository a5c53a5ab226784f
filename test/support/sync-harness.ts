import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectors } from '../../connectors/registry.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import type { ConfigInput } from '../../src/model/config.ts';
import type { Transport } from '../../src/model/http.ts';
import type { ProgressEvent } from '../../src/model/progress.ts';
import type { RunReport, StreamReport } from '../../src/model/run-report.ts';
import type { RebuildReport } from '../../src/model/reports.ts';
import type { Settings, SyncOptions } from '../../src/model/settings.ts';
import type { OpenQuotaStore } from '../../src/model/quota.ts';
import type { TakeStateLock } from '../../src/model/state-lock.ts';
import { type RebuildOptions, rebuildStreams } from '../../src/commands/rebuild/rebuild.ts';
import { runSync } from '../../src/sync/run.ts';
import type { Arrival } from '../../src/simulator/arrivals.ts';
import type { EndpointOptions, RecordList } from '../../src/simulator/endpoint.ts';
import { DEMO_KEY, type SimulatorOptions } from '../../src/simulator/simulator-options.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { afterFile } from './after-file.ts';
import { type PlainRow, type PlainTable, queryCopy, sortRows } from './published.ts';
import { createSimulatorTransport, type SimulatorTransportOptions } from './simulator-transport.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** Where clocks start: noon of the simulator's first day. */
export const START_MS = Date.UTC(2026, 0, 31, 12);

let root: string | undefined;

/** A new empty folder, removed when the test file is done. */
export function makeFolder(): string {
  if (root === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'sluice-flow-'));
    root = made;
    afterFile(() => {
      root = undefined;
      rmSync(made, { recursive: true });
    });
  }
  return mkdtempSync(join(root, 'case-'));
}

/** The parts of a config that flows vary; the rest is given. */
export interface FlowConfig {
  readonly source?: Partial<ConfigInput['source']>;
  readonly quota?: ConfigInput['source']['quota'];
  readonly defaults?: ConfigInput['defaults'];
  readonly streams?: ConfigInput['streams'];
  readonly retention?: ConfigInput['retention'];
  readonly engine?: ConfigInput['engine'];
  /** Where to publish; the DuckDB file alone when left out. */
  readonly destination?: ConfigInput['destination'];
}

export interface FlowOptions extends SimulatorTransportOptions {
  readonly simulator?: SimulatorOptions | Simulator;
  readonly config?: FlowConfig;
  readonly clock?: VirtualClock;
  /** Replaces the way to the simulator. */
  readonly transport?: Transport;
  readonly folder?: string;
  /** Below the folder when left out. */
  readonly stateDir?: string;
  /** Shared by flows that share a quota; below the folder when left out. */
  readonly ledgerDir?: string;
}

export interface RunOptions extends SyncOptions {
  readonly config?: FlowConfig;
  readonly signal?: AbortSignal;
  readonly takeLock?: TakeStateLock;
  readonly openQuotaStore?: OpenQuotaStore;
  readonly onProgress?: (event: ProgressEvent) => void;
}

/** A simulator and a project of a user: config, state folder, published file. */
export interface Flow {
  readonly folder: string;
  readonly duckdbPath: string;
  readonly stateDir: string;
  readonly clock: VirtualClock;
  readonly simulator: Simulator;
  /** Events of the last run. */
  readonly events: readonly ProgressEvent[];
  /** What the simulator saw during the last run. */
  readonly arrivals: readonly Arrival[];
  sync(options?: RunOptions): Promise<RunReport>;
  /** Rebuilds the tables from what earlier syncs archived. */
  rebuild(options?: RebuildOptions & { readonly config?: FlowConfig }): Promise<RebuildReport>;
  /** What the config comes to, for functions that a test calls itself. */
  settings(config?: FlowConfig): Settings;
  /** Rows of a published table, ordered by value, without our own columns. */
  rows(table: string): Promise<readonly PlainRow[]>;
  /** A published table as it is. */
  table(table: string): Promise<PlainTable>;
  query(sql: string): Promise<readonly PlainRow[]>;
  isPublished(): boolean;
  /** A project of its own that syncs the same simulator from nothing: what one clean run gives. */
  clean(options?: RunOptions): Promise<{ readonly flow: Flow; readonly report: RunReport }>;
}

/** Limits out of the way, for flows that are not about pace. */
export const unlimited = { requestsPerHour: 10_000_000, burstPerSecond: 100_000 } as const;

/** A project whose clock is virtual and whose requests reach the simulator without sockets. */
export function createFlow(options: FlowOptions = {}): Flow {
  const folder = options.folder ?? makeFolder();
  const clock = options.clock ?? createVirtualClock({ startMs: START_MS });
  const simulator = toSimulator(options.simulator);
  const duckdbPath = join(folder, 'warehouse.duckdb');
  const stateDir = options.stateDir ?? join(folder, 'state');
  const ledgerDir = options.ledgerDir ?? join(folder, 'quota');
  let events: ProgressEvent[] = [];
  let arrivalsBefore = 0;

  const settings = (config?: FlowConfig) =>
    resolveSettings({
      loaded: parseConfig(buildConfig({ duckdbPath, stateDir, ledgerDir }, options.config, config), folder),
      connectors,
      env: {},
      nowMs: clock.now(),
    });

  async function sync({ config, onProgress, ...run }: RunOptions = {}): Promise<RunReport> {
    const told: ProgressEvent[] = [];
    events = told;
    arrivalsBefore = simulator.log.length;
    return runSync(settings(config), {
      ...run,
      clock,
      transport: options.transport ?? createSimulatorTransport(simulator, clock, options),
      random: () => 0.5,
      onProgress: (event) => {
        told.push(event);
        onProgress?.(event);
      },
    });
  }

  const table = (name: string) => queryCopy(duckdbPath, `SELECT * FROM main."${name}"`);
  return {
    folder,
    duckdbPath,
    stateDir,
    clock,
    simulator,
    get events() {
      return events;
    },
    get arrivals() {
      return simulator.log.slice(arrivalsBefore);
    },
    settings,
    sync,
    rebuild: ({ config, ...run } = {}) => rebuildStreams(settings(config), { ...run, clock }),
    table,
    rows: async (name) => sortRows((await table(name)).rows),
    query: async (sql) => (await queryCopy(duckdbPath, sql)).rows,
    isPublished: () => existsSync(duckdbPath),
    async clean(run) {
      const flow = createFlow({
        simulator,
        clock: createVirtualClock({ startMs: clock.now() }),
        ...(options.config && { config: options.config }),
      });
      return { flow, report: await flow.sync(run) };
    },
  };
}

function toSimulator(given: FlowOptions['simulator'] = {}): Simulator {
  if ('handle' in given) return given;
  return createSimulator({ ...given, rateLimit: { ...unlimited, ...given.rateLimit } });
}

interface Places {
  readonly duckdbPath: string;
  readonly stateDir: string;
  readonly ledgerDir: string;
}

/** A complete config; the later of two parts wins. */
export function buildConfig(places: Places, ...parts: readonly (FlowConfig | undefined)[]): ConfigInput {
  const merged = parts.reduce<FlowConfig>(
    (all, part) => ({
      source: { ...all.source, ...part?.source },
      quota: { ...all.quota, ...part?.quota },
      defaults: { ...all.defaults, ...part?.defaults },
      streams: { ...all.streams, ...part?.streams },
      retention: { ...all.retention, ...part?.retention },
      ...((part?.engine ?? all.engine) && { engine: { ...all.engine, ...part?.engine } }),
      ...((part?.destination ?? all.destination) && { destination: part?.destination ?? all.destination }),
    }),
    {},
  );
  return {
    source: {
      connector: 'analytics-read',
      baseUrl: 'http://127.0.0.1:9/api/v1',
      apiKey: DEMO_KEY,
      ...merged.source,
      quota: { burstPerSecond: unlimited.burstPerSecond, ledgerDir: places.ledgerDir, ...merged.quota },
    },
    destination: merged.destination ?? { duckdb: places.duckdbPath },
    stateDir: places.stateDir,
    ...(merged.defaults && { defaults: merged.defaults }),
    ...(merged.streams && { streams: merged.streams }),
    ...(merged.retention && { retention: merged.retention }),
    ...(merged.engine && { engine: merged.engine }),
  };
}

/** Switches the built-in streams off, for flows with an endpoint of their own. */
export const noBuiltIns: NonNullable<FlowConfig['streams']> = {
  visibility_mentions: { enabled: false },
  prompts_analytics: { enabled: false },
  commerce_category_products: { enabled: false },
  commerce_top_products: { enabled: false },
};

type StreamInput = NonNullable<FlowConfig['streams']>[string];

export interface ItemsOptions extends Omit<FlowOptions, 'simulator'> {
  readonly endpoint?: Partial<EndpointOptions>;
  readonly stream?: StreamInput;
  readonly simulator?: Omit<SimulatorOptions, 'endpoints' | 'builtIns'>;
}

/** A flow with one paginated stream, `items`, that serves these records. */
export function createItemsFlow(
  records: readonly unknown[] | ((day: string) => RecordList),
  options: ItemsOptions = {},
): Flow {
  return createFlow({
    ...options,
    simulator: {
      ...options.simulator,
      builtIns: false,
      endpoints: {
        items: {
          paginated: true,
          records: typeof records === 'function' ? records : () => records,
          ...options.endpoint,
        },
      },
    },
    config: {
      ...options.config,
      streams: {
        ...noBuiltIns,
        items: { path: 'items', paginated: true, ...options.stream },
        ...options.config?.streams,
      },
    },
  });
}

/** Records with an id, a date that grows with it and a value. */
export function makeItems(count: number, options: { readonly perDay?: number; readonly from?: number } = {}) {
  const { perDay = 50, from = 0 } = options;
  return Array.from({ length: count }, (_, at) => makeItem(from + at, perDay));
}

export function makeItem(id: number, perDay = 50) {
  const date = new Date(Date.UTC(2026, 0, 1) + Math.floor(id / perDay) * DAY_MS).toISOString().slice(0, 10);
  return { id, date, name: `item ${id}`, amount: (id * 7919) % 1000 };
}

/** The report of one stream. */
export function streamOf(report: RunReport, name = 'items'): StreamReport {
  const found = report.streams.find(({ stream }) => stream === name);
  if (found === undefined) throw new Error(`the report has no stream ${name}`);
  return found;
}

/** Events of one type. */
export function eventsOf<T extends ProgressEvent['type']>(
  flow: Pick<Flow, 'events'>,
  type: T,
): readonly Extract<ProgressEvent, { type: T }>[] {
  return flow.events.filter((event): event is Extract<ProgressEvent, { type: T }> => event.type === type);
}

/** Offsets asked for, in order of arrival. */
export function offsetsOf(arrivals: readonly Arrival[]): readonly number[] {
  return arrivals.map(({ query }) => Number(new URLSearchParams(query).get('offset')));
}

/** Requests of a paginated scan, as the design counts them: joints of one row and one more look at the head. */
export function countScanRequests(rows: number, pageSize = 100): number {
  return rows <= pageSize ? 1 : 2 + Math.ceil((rows - pageSize) / (pageSize - 1));
}
