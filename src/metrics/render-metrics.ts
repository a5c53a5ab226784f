import { Counter, Gauge, Registry } from 'prom-client';
import { version } from '../model/version.ts';
import { addRunInProgress, addRunMetrics } from './add-run-metrics.ts';
import { addStreamMetrics } from './add-stream-metrics.ts';
import { joinStreams } from './join-streams.ts';
import type { MetricFacts, ScheduleFacts } from './metric-facts.ts';

/** The facts in the text format of Prometheus; each call has a registry of its own, so nothing is shared. */
export function renderMetrics(facts: MetricFacts, schedule?: ScheduleFacts): Promise<string> {
  return fillRegistry(facts, schedule).metrics();
}

/** The facts as metrics of one registry. */
export function fillRegistry(facts: MetricFacts, schedule: ScheduleFacts | undefined): Registry {
  const registry = createRegistry(schedule);
  addRunMetrics(registry, facts, schedule?.run);
  addStreamMetrics(registry, facts);
  return registry;
}

/** What the metrics of several accounts depend on in addition to their facts. */
export interface AccountMetricsOptions {
  readonly schedule?: ScheduleFacts | undefined;
  /** Of each account, one series in place of one for each stream; default: by stream. */
  readonly withoutStreams?: boolean;
}

/** The facts of several accounts; each series but those of the process has the label `account`. */
export async function renderAccountMetrics(
  accounts: ReadonlyMap<string, MetricFacts>,
  options: AccountMetricsOptions,
): Promise<string> {
  const texts: string[] = [];
  for (const registry of fillRegistries(accounts, options)) texts.push(await registry.metrics());
  return joinFamilies(texts.flatMap(listFamilies));
}

/** One registry for the process, and one for each account. */
export function fillRegistries(
  accounts: ReadonlyMap<string, MetricFacts>,
  { schedule, withoutStreams = false }: AccountMetricsOptions,
): readonly Registry[] {
  const own = [...accounts].map(([account, facts]) => {
    const registry = new Registry();
    registry.setDefaultLabels({ account });
    addRunMetrics(registry, facts);
    addStreamMetrics(registry, withoutStreams ? joinStreams(facts) : facts);
    return registry;
  });
  return [createRegistry(schedule), ...own];
}

/** The samples of one metric in a text. */
interface MetricFamily {
  readonly name: string;
  readonly heading: string;
  readonly samples: readonly string[];
}

/** The metrics of a text, without what is not in its format. */
export function listFamilies(text: string): readonly MetricFamily[] {
  return text.split(/^(?=# HELP )/m).flatMap((family) => {
    const [help = '', type = '', ...samples] = family.trimEnd().split('\n');
    const [, name] = /^# HELP (\w+)/.exec(help) ?? [];
    return name === undefined || !type.startsWith(`# TYPE ${name} `)
      ? []
      : [{ name, heading: `${help}\n${type}`, samples }];
  });
}

/** Writes metrics as a text: the samples of one name have to stand together, below its first heading. */
export function joinFamilies(families: readonly MetricFamily[]): string {
  return [...Map.groupBy(families, ({ name }) => name).values()]
    .map((alike) => [alike[0]?.heading, ...alike.flatMap(({ samples }) => samples), ''].join('\n'))
    .join('\n');
}

function createRegistry(schedule: ScheduleFacts | undefined): Registry {
  const registry = new Registry();
  new Gauge({
    name: 'sluice_build_info',
    help: 'Always 1; the version of Sluice and of Node.',
    labelNames: ['version', 'node_version'],
    registers: [registry],
  }).set({ version, node_version: process.versions.node }, 1);
  if (schedule !== undefined) addScheduleMetrics(registry, schedule);
  return registry;
}

function addScheduleMetrics(registry: Registry, schedule: ScheduleFacts): void {
  const { run, nextRunAtMs, skippedTicks, outageSinceMs } = schedule;
  const registers = [registry];
  new Gauge({ name: 'sluice_up', help: 'Always 1 while a schedule is alive.', registers }).set(1);
  const inProgress = {
    name: 'sluice_run_in_progress',
    help: '1 while a run is in progress, else 0.',
    registers,
  };
  new Gauge(inProgress).set(run === undefined ? 0 : 1);
  if (run !== undefined) addRunInProgress(registry, run);
  new Counter({
    name: 'sluice_skipped_ticks_total',
    help: 'Scheduled times that passed during a run, since this process was started.',
    registers,
  }).inc(skippedTicks);
  if (outageSinceMs !== undefined)
    new Gauge({
      name: 'sluice_outage_since_timestamp_seconds',
      help: 'When the first of the runs began that failed because of the network or the server; gone once a run gets through.',
      registers,
    }).set(outageSinceMs / 1_000);
  if (nextRunAtMs === undefined) return;
  new Gauge({
    name: 'sluice_next_run_timestamp_seconds',
    help: 'When the next run is due, jitter included, or the last one is retried.',
    registers,
  }).set(nextRunAtMs / 1_000);
}
