import { join } from 'node:path';
import { connectors } from '../../connectors/registry.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import type { DiscoveredStream, DiscoverReport, ParamFinding } from '../../src/model/discover-report.ts';
import type { Settings } from '../../src/model/settings.ts';
import { discover, type DiscoverOptions } from '../../src/commands/discover/discover.ts';
import type { SampledSoFar } from '../../src/commands/discover/probe-all.ts';
import type { EndpointOptions } from '../../src/simulator/endpoint.ts';
import type { Fault } from '../../src/simulator/faults.ts';
import type { SimulatorOptions } from '../../src/simulator/simulator-options.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { createSimulatorTransport } from './simulator-transport.ts';
import { buildConfig, type FlowConfig, makeFolder, noBuiltIns, START_MS, unlimited } from './sync-harness.ts';
import { createVirtualClock } from './virtual-clock.ts';

type StreamInput = NonNullable<FlowConfig['streams']>[string];

/** A discovery over a simulator: what it found, and what the simulator saw. */
export interface Discovered {
  readonly report: DiscoverReport;
  readonly folder: string;
  readonly simulator: Simulator;
  /** Queries in order of arrival. */
  readonly asked: readonly string[];
  /** Requests that had to be confirmed, if it was asked. */
  readonly confirmed: readonly number[];
  /** What was reported with them. */
  readonly told: readonly SampledSoFar[];
}

export interface DiscoverCase extends Omit<DiscoverOptions, 'confirmProbes' | 'clock' | 'transport'> {
  readonly config?: FlowConfig;
  readonly simulator?: SimulatorOptions;
  readonly folder?: string;
  /** Whether trying parameters is confirmed; true when left out. */
  readonly probes?: boolean;
}

/** Discovers the built-in streams, or those that the config says. */
export async function discoverStreams(given: DiscoverCase = {}): Promise<Discovered> {
  const { config, simulator: options, probes = true, folder = makeFolder(), ...rest } = given;
  const clock = createVirtualClock({ startMs: START_MS });
  const simulator = createSimulator({ ...options, rateLimit: { ...unlimited, ...options?.rateLimit } });
  const confirmed: number[] = [];
  const told: SampledSoFar[] = [];
  const report = await discover(makeSettings(folder, config, clock.now()), {
    ...rest,
    clock,
    transport: createSimulatorTransport(simulator, clock),
    confirmProbes: (mostRequests, soFar) => {
      confirmed.push(mostRequests);
      told.push(soFar);
      return Promise.resolve(probes);
    },
  });
  return {
    report,
    folder,
    simulator,
    confirmed,
    told,
    asked: simulator.log.map(({ query }) => decodeURIComponent(query)),
  };
}

export interface ItemsCase extends Omit<DiscoverCase, 'simulator'> {
  readonly endpoint?: Partial<EndpointOptions>;
  readonly stream?: StreamInput;
  readonly faults?: readonly Fault[];
  readonly rateLimit?: SimulatorOptions['rateLimit'];
}

/** Discovers one paginated stream, `items`, that serves these records. */
export async function discoverItems(records: readonly unknown[], given: ItemsCase = {}): Promise<Discovered> {
  const { endpoint, stream, faults, rateLimit, config, ...rest } = given;
  return discoverStreams({
    ...rest,
    simulator: {
      builtIns: false,
      endpoints: { items: { paginated: true, records: () => records, ...endpoint } },
      ...(faults && { faults }),
      ...(rateLimit && { rateLimit }),
    },
    config: {
      ...config,
      streams: { ...noBuiltIns, items: { path: 'items', paginated: true, ...stream }, ...config?.streams },
    },
  });
}

export function makeSettings(
  folder: string,
  config: FlowConfig | undefined,
  nowMs: number,
  contracts: 'read' | 'ignored' = 'ignored',
): Settings {
  const places = {
    duckdbPath: join(folder, 'warehouse.duckdb'),
    stateDir: join(folder, 'state'),
    ledgerDir: join(folder, 'quota'),
  };
  const settings = resolveSettings({
    loaded: parseConfig(buildConfig(places, config), folder),
    connectors,
    env: {},
    nowMs,
    contracts,
  });
  // Contracts lie next to the config.
  return { ...settings, configPath: join(folder, 'sluice.yaml') };
}

/** What was found of one stream. */
export function foundOf({ report }: Discovered, name = 'items'): DiscoveredStream {
  const found = report.streams.find(({ stream }) => stream === name);
  if (found === undefined) throw new Error(`the report has no stream ${name}`);
  return found;
}

/** What was found of one parameter. */
export function paramOf(discovered: Discovered, param: string, stream = 'items'): ParamFinding {
  const finding = foundOf(discovered, stream).params.find((one) => one.param === param);
  if (finding === undefined) throw new Error(`${stream} has no finding for ${param}`);
  return finding;
}

/** Verdicts by parameter. */
export function verdictsOf(discovered: Discovered, stream = 'items'): Readonly<Record<string, string>> {
  return Object.fromEntries(foundOf(discovered, stream).params.map(({ param, verdict }) => [param, verdict]));
}
