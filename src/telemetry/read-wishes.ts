import { hasEndpoint } from '../model/telemetry.ts';

/** How OTLP is encoded. */
export type Protocol = 'http/protobuf' | 'http/json';

/** What the environment asks for. */
export interface Wishes {
  /** Undefined: none are sent. */
  readonly traces: Protocol | undefined;
  readonly metrics: Protocol | undefined;
  readonly sampler: { readonly name: string; readonly ratio: number };
  /** What is asked for and does not exist here. */
  readonly warnings: readonly string[];
}

const SAMPLERS = ['always_on', 'always_off', 'traceidratio'];

/** Reads the variables of OpenTelemetry that its packages leave to the program; theirs are read by them. */
export function readWishes(env: NodeJS.ProcessEnv): Wishes {
  const traces = readSignal(env, 'TRACES');
  const metrics = readSignal(env, 'METRICS');
  const sampler = readSampler(env);
  const warnings = [traces, metrics, sampler].flatMap(({ warning }) => warning ?? []);
  return {
    traces: traces.protocol,
    metrics: metrics.protocol,
    sampler: { name: sampler.name, ratio: sampler.ratio },
    warnings: [...new Set(warnings)],
  };
}

/** Whether the environment lets a kind of telemetry be sent at all. */
export function isExported(env: NodeJS.ProcessEnv, signal: 'TRACES' | 'METRICS'): boolean {
  return listExporters(env, signal).some((one) => one !== 'none');
}

function listExporters(env: NodeJS.ProcessEnv, signal: 'TRACES' | 'METRICS'): readonly string[] {
  const text = env[`OTEL_${signal}_EXPORTER`]?.trim() ?? '';
  return text === '' ? ['otlp'] : text.toLowerCase().split(/\s*,\s*/);
}

function readSignal(
  env: NodeJS.ProcessEnv,
  signal: 'TRACES' | 'METRICS',
): { readonly protocol: Protocol | undefined; readonly warning?: string } {
  if (!hasEndpoint(env, signal) || !isExported(env, signal)) return { protocol: undefined };
  const exporters = listExporters(env, signal);
  if (!exporters.includes('otlp')) {
    const name = `OTEL_${signal}_EXPORTER`;
    return { protocol: undefined, warning: describeUnknown(name, exporters.join(','), 'otlp and none') };
  }
  const own = `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`;
  const name = (env[own] ?? '').trim() === '' ? 'OTEL_EXPORTER_OTLP_PROTOCOL' : own;
  const protocol = env[name]?.trim() ?? '';
  if (protocol === '' || protocol === 'http/protobuf') return { protocol: 'http/protobuf' };
  if (protocol === 'http/json') return { protocol };
  return {
    protocol: undefined,
    warning: describeUnknown(name, protocol, 'http/protobuf and http/json, on port 4318 of most collectors'),
  };
}

function readSampler(env: NodeJS.ProcessEnv): {
  readonly name: string;
  readonly ratio: number;
  readonly warning?: string;
} {
  const wanted = env['OTEL_TRACES_SAMPLER']?.trim() ?? '';
  const name = wanted === '' ? 'parentbased_always_on' : wanted;
  const share = Number(env['OTEL_TRACES_SAMPLER_ARG']?.trim() || '1');
  const ratio = share >= 0 && share <= 1 ? share : 1;
  if (SAMPLERS.includes(name.replace(/^parentbased_/, ''))) return { name, ratio };
  const warning = describeUnknown('OTEL_TRACES_SAMPLER', name, `${SAMPLERS.join(', ')} and parentbased_…`);
  return { name: 'parentbased_always_on', ratio: 1, warning };
}

function describeUnknown(name: string, value: string, known: string): string {
  return `${name}=${JSON.stringify(value)} does nothing here: Sluice knows ${known}`;
}
