import type * as otel from '@opentelemetry/api';
import type { Clock } from '../model/clock.ts';
import { findSender, isRegistered, type Telemetry } from '../model/telemetry.ts';
import { version } from '../model/version.ts';
import { followRunWith } from './follow-run.ts';
import { describeLosses, type Losses } from './losses.ts';
import { loadPackage, MissingPackage } from './packages.ts';
import { isExported, readWishes } from './read-wishes.ts';
import { type OwnSdk, startSdk } from './start-sdk.ts';
import { readTraceParent } from './trace-parent.ts';
import { MetricWriter } from './write-metrics.ts';

type Api = typeof otel;

/** What telemetry needs of its caller. */
export interface TelemetryEffects {
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  /** Hides secrets in a text. */
  readonly mask: (text: string) => string;
  /** Only an SDK that the program registered is used, and the program flushes it. */
  readonly isLibrary?: boolean;
  /** Whether runs belong to the trace that TRACEPARENT names; those of a schedule do not. */
  readonly isWithinTrace: boolean;
}

/** Telemetry, unless nobody wants it, and what was asked for in vain. */
export interface OpenedTelemetry {
  readonly telemetry: Telemetry | undefined;
  readonly warnings: readonly string[];
}

/** How long the end of a run waits for its telemetry to be sent, ms. */
const LONGEST_FLUSH_MS = 3_000;
/** An SDK of the program keeps 2,048 spans by default, and drops the rest without a word. */
const SPANS_BETWEEN_FLUSHES = 1_000;

/** Opens what the program or the environment asked for. Never throws: a run goes on without. */
export async function openTelemetry(effects: TelemetryEffects): Promise<OpenedTelemetry> {
  const sender = findSender(effects.env);
  try {
    if (sender === 'registered') return { telemetry: await useRegistered(effects), warnings: [] };
    if (sender === undefined || effects.isLibrary === true) return { telemetry: undefined, warnings: [] };
    const wishes = readWishes(effects.env);
    const { traces, metrics, warnings } = wishes;
    const isWanted = traces !== undefined || metrics !== undefined;
    return { telemetry: isWanted ? useOwn(await startSdk(wishes), effects) : undefined, warnings };
  } catch (thrown) {
    return { telemetry: undefined, warnings: [describeFailure(thrown)] };
  }
}

function describeFailure(thrown: unknown): string {
  if (thrown instanceof MissingPackage)
    return `the environment asks for OpenTelemetry, and its packages are not installed; nothing is sent. To send it: ${thrown.message}`;
  return `OpenTelemetry could not be started, nothing is sent: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
}

function useOwn({ api, traces, metrics }: OwnSdk, effects: TelemetryEffects): Telemetry {
  const { clock, mask } = effects;
  const parent = findParent(api, effects);
  const writer = metrics && new MetricWriter(metrics.meter);
  return {
    followRun: (run) =>
      traces === undefined
        ? { name: 'OpenTelemetry' }
        : followRunWith({ api, tracer: traces.tracer, parent, clock, mask }, run),
    wantsMetrics: metrics !== undefined,
    writeMetrics: (families) => writer?.write(families),
    async flush() {
      const [, failure] = await Promise.all([
        within(clock, traces?.sender.forceFlush()),
        within(clock, metrics?.flush()),
      ]);
      const lost = traces?.sender.takeLosses();
      const spans = (lost?.spans ?? 0) + (traces?.sender.left ?? 0);
      const losses: Losses = { spans, because: lost?.because ?? failure };
      const warning = describeLosses(losses, { metrics: failure !== undefined });
      return warning === undefined ? [] : [warning];
    },
  };
}

async function useRegistered(effects: TelemetryEffects): Promise<Telemetry | undefined> {
  const { env, clock, mask, isLibrary = false } = effects;
  const hasTraces = isRegistered('trace') && isExported(env, 'TRACES');
  const hasMetrics = !isLibrary && isRegistered('metrics') && isExported(env, 'METRICS');
  if (!hasTraces && !hasMetrics) return undefined;
  const api = await loadPackage('@opentelemetry/api@1', ['@opentelemetry/api@1']);
  const provider = findProvider(api);
  const tracer = provider.getTracer('sluice', version);
  const meters: Flushable & ReturnType<Api['metrics']['getMeterProvider']> = api.metrics.getMeterProvider();
  const writer = new MetricWriter(meters.getMeter('sluice', version));
  let spans = 0;
  const onSpan = () => {
    spans += 1;
    if (spans % SPANS_BETWEEN_FLUSHES === 0) void provider.forceFlush?.().catch(() => undefined);
  };
  return {
    followRun: (run) =>
      hasTraces
        ? followRunWith({ api, tracer, parent: findParent(api, effects), clock, mask, onSpan }, run)
        : { name: 'OpenTelemetry' },
    wantsMetrics: hasMetrics,
    writeMetrics: (families) => {
      writer.write(families);
    },
    async flush() {
      if (isLibrary) return [];
      const flushes = [hasTraces && provider.forceFlush?.(), hasMetrics && meters.forceFlush?.()];
      const failures = await Promise.all(flushes.map((one) => within(clock, one || undefined)));
      const because = failures.find((one) => one !== undefined);
      return because === undefined
        ? []
        : [`OpenTelemetry: the SDK of the program did not send all: ${because}`];
    },
  };
}

interface Flushable {
  forceFlush?(): Promise<void>;
}

/** The provider that was registered, behind the API's proxy. */
function findProvider(api: Api): Flushable & ReturnType<Api['trace']['getTracerProvider']> {
  const provider = api.trace.getTracerProvider();
  return provider instanceof api.ProxyTracerProvider ? provider.getDelegate() : provider;
}

/** The caller's span, or the one that the orchestrator's environment names. */
function findParent(api: Api, { env, isWithinTrace }: TelemetryEffects): otel.Context {
  const active = api.context.active();
  if (api.trace.getSpanContext(active) !== undefined || !isWithinTrace) return active;
  const named = readTraceParent(env);
  if (named === undefined) return active;
  const { traceState, ...rest } = named;
  const state = traceState === undefined ? {} : { traceState: api.createTraceState(traceState) };
  return api.trace.setSpanContext(active, { ...rest, ...state, isRemote: true });
}

/** Waits for work for a few seconds; returns what failed in it, or that it took longer. */
async function within(clock: Clock, work: Promise<void> | undefined): Promise<string | undefined> {
  if (work === undefined) return undefined;
  const over = new AbortController();
  try {
    return await Promise.race([
      work.then(
        () => undefined,
        (thrown: unknown) => (thrown instanceof Error ? thrown.message : String(thrown)),
      ),
      clock
        .sleep(LONGEST_FLUSH_MS, over.signal)
        .then(() => `not taken within ${LONGEST_FLUSH_MS / 1_000} s: the receiver may be unreachable`),
    ]);
  } finally {
    over.abort();
  }
}
