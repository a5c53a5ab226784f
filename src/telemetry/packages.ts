import type { Protocol, Wishes } from './read-wishes.ts';

/**
 * The packages that can be needed, with the major versions that were tried. Each is loaded here and nowhere else, once
 * somebody asked for traces or metrics.
 */
const packages = {
  '@opentelemetry/api@1': () => import('@opentelemetry/api'),
  '@opentelemetry/resources@3': () => import('@opentelemetry/resources'),
  '@opentelemetry/sdk-trace@3': () => import('@opentelemetry/sdk-trace'),
  '@opentelemetry/sdk-metrics@3': () => import('@opentelemetry/sdk-metrics'),
  '@opentelemetry/exporter-trace-otlp-proto@0.301': () => import('@opentelemetry/exporter-trace-otlp-proto'),
  '@opentelemetry/exporter-trace-otlp-http@0.301': () => import('@opentelemetry/exporter-trace-otlp-http'),
  '@opentelemetry/exporter-metrics-otlp-proto@0.301': () =>
    import('@opentelemetry/exporter-metrics-otlp-proto'),
  '@opentelemetry/exporter-metrics-otlp-http@0.301': () =>
    import('@opentelemetry/exporter-metrics-otlp-http'),
} as const;

type Packages = typeof packages;
export type PackageName = keyof Packages;
type Loaded<Name extends PackageName> = Awaited<ReturnType<Packages[Name]>>;

/** Every package with the version that is asked for, as npm takes them. */
export const packageNames = Object.keys(packages) as readonly PackageName[];

/** A package is not installed; telemetry is left out, and the run goes on. */
export class MissingPackage extends Error {
  constructor(wanted: readonly PackageName[]) {
    super(`npm install ${wanted.join(' ')}`);
    this.name = 'MissingPackage';
  }
}

/** Loads a package of those that are wanted; throws MissingPackage if it is not installed. */
export async function loadPackage<Name extends PackageName>(
  name: Name,
  wanted: readonly PackageName[],
): Promise<Loaded<Name>> {
  try {
    return (await packages[name]()) as Loaded<Name>;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw thrown;
    throw new MissingPackage(wanted);
  }
}

/** What has to be installed for these wishes. */
export function listWanted({ traces, metrics }: Pick<Wishes, 'traces' | 'metrics'>): readonly PackageName[] {
  return [
    '@opentelemetry/api@1',
    '@opentelemetry/resources@3',
    ...(traces === undefined ? [] : (['@opentelemetry/sdk-trace@3', nameTraceExporter(traces)] as const)),
    ...(metrics === undefined
      ? []
      : (['@opentelemetry/sdk-metrics@3', nameMetricExporter(metrics)] as const)),
  ];
}

export function nameTraceExporter(protocol: Protocol) {
  return protocol === 'http/json'
    ? '@opentelemetry/exporter-trace-otlp-http@0.301'
    : '@opentelemetry/exporter-trace-otlp-proto@0.301';
}

export function nameMetricExporter(protocol: Protocol) {
  return protocol === 'http/json'
    ? '@opentelemetry/exporter-metrics-otlp-http@0.301'
    : '@opentelemetry/exporter-metrics-otlp-proto@0.301';
}
