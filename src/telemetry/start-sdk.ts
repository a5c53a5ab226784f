import type * as otel from '@opentelemetry/api';
import type { Meter, Tracer } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type * as sdkTrace from '@opentelemetry/sdk-trace';
import type { Sampler } from '@opentelemetry/sdk-trace';
import { version } from '../model/version.ts';
import {
  listWanted,
  loadPackage,
  nameMetricExporter,
  nameTraceExporter,
  type PackageName,
} from './packages.ts';
import type { Protocol, Wishes } from './read-wishes.ts';
import { SpanSender } from './span-sender.ts';

const SCOPE = 'sluice';
/** Series of one metric: accounts times streams. The SDK's own limit joins all beyond 2,000. */
const MOST_SERIES = 1_000_000;

/** Sends spans. */
export interface OwnTraces {
  readonly tracer: Tracer;
  readonly sender: SpanSender;
}

/** Sends metrics. */
export interface OwnMetrics {
  readonly meter: Meter;
  /** Rejects if they could not be sent. */
  flush(): Promise<void>;
}

/** An SDK of this run's own, which no other code of the process sees. */
export interface OwnSdk {
  readonly api: typeof otel;
  readonly traces: OwnTraces | undefined;
  readonly metrics: OwnMetrics | undefined;
}

/** Loads what the wishes need; the exporters read address, headers and certificates from the environment. */
export async function startSdk(wishes: Wishes): Promise<OwnSdk> {
  const wanted = listWanted(wishes);
  const api = await loadPackage('@opentelemetry/api@1', wanted);
  const resource = await describeProcess(wanted);
  const { traces, metrics, sampler } = wishes;
  return {
    api,
    traces: traces && (await startTraces({ protocol: traces, resource, wanted }, sampler)),
    metrics: metrics && (await startMetrics({ protocol: metrics, resource, wanted })),
  };
}

interface Signal {
  readonly protocol: Protocol;
  readonly resource: Resource;
  readonly wanted: readonly PackageName[];
}

/** Who sends: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have the last word. */
async function describeProcess(wanted: readonly PackageName[]): Promise<Resource> {
  const resources = await loadPackage('@opentelemetry/resources@3', wanted);
  const { resourceAttributesEnvDetector, serviceNameEnvDetector } = resources;
  const own = resources.resourceFromAttributes({ 'service.name': SCOPE, 'service.version': version });
  const detectors = [resourceAttributesEnvDetector, serviceNameEnvDetector];
  return resources.defaultResource().merge(own).merge(resources.detectResources({ detectors }));
}

async function startTraces(
  { protocol, resource, wanted }: Signal,
  sampler: Wishes['sampler'],
): Promise<OwnTraces> {
  const sdk = await loadPackage('@opentelemetry/sdk-trace@3', wanted);
  const { OTLPTraceExporter } = await loadPackage(nameTraceExporter(protocol), wanted);
  const sender = new SpanSender(new OTLPTraceExporter());
  const provider = new sdk.TracerProvider({
    resource,
    sampler: chooseSampler(sdk, sampler),
    spanProcessors: [sender],
  });
  return { tracer: provider.getTracer(SCOPE, version), sender };
}

function chooseSampler(sdk: typeof sdkTrace, { name, ratio }: Wishes['sampler']): Sampler {
  const root = name.endsWith('always_off')
    ? new sdk.AlwaysOffSampler()
    : name.endsWith('traceidratio')
      ? new sdk.TraceIdRatioBasedSampler(ratio)
      : new sdk.AlwaysOnSampler();
  return name.startsWith('parentbased_') ? new sdk.ParentBasedSampler({ root }) : root;
}

async function startMetrics({ protocol, resource, wanted }: Signal): Promise<OwnMetrics> {
  const sdk = await loadPackage('@opentelemetry/sdk-metrics@3', wanted);
  const { OTLPMetricExporter } = await loadPackage(nameMetricExporter(protocol), wanted);
  let failure: Error | undefined;
  const sent = new OTLPMetricExporter();
  const exporter: PushMetricExporter = {
    export(metrics, onResult) {
      sent.export(metrics, (result) => {
        failure =
          Number(result.code) === 0
            ? undefined
            : (result.error ?? new Error('the receiver did not take them'));
        onResult(result);
      });
    },
    forceFlush: () => sent.forceFlush(),
    shutdown: () => sent.shutdown(),
    // What is sent are totals that outlive the process: a difference to the start of this one would count them again.
    selectAggregationTemporality: () => sdk.AggregationTemporality.CUMULATIVE,
  };
  const cardinalityLimits = { default: MOST_SERIES };
  const reader = new sdk.PeriodicExportingMetricReader({ exporter, cardinalityLimits });
  const provider = new sdk.MeterProvider({ resource, readers: [reader] });
  return {
    meter: provider.getMeter(SCOPE, version),
    async flush() {
      await provider.forceFlush();
      if (failure !== undefined) throw failure;
    },
  };
}
