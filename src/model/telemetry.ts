import type { RunObserver } from './run-observer.ts';

/** A metric with its samples, whichever way it is sent. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly kind: 'gauge' | 'counter';
  readonly samples: readonly {
    readonly value: number;
    readonly labels: Readonly<Record<string, string>>;
  }[];
}

/** Whose run is followed. */
export interface FollowedRun {
  readonly account?: string | undefined;
  /** The token of the lease, in a fleet. */
  readonly token?: number | undefined;
}

/** Where traces and metrics of runs go. */
export interface Telemetry {
  /** Makes spans of one run, which begins now. */
  followRun(run: FollowedRun): RunObserver;
  readonly wantsMetrics: boolean;
  /** Takes the place of the metrics that were written before. */
  writeMetrics(families: readonly MetricFamily[]): void;
  /** Sends what there is, for a few seconds at most. Returns what was lost since the last call, as warnings. */
  flush(): Promise<readonly string[]>;
}

/** What a program uses that has set up OpenTelemetry itself. */
const API = Symbol.for('opentelemetry.js.api.1');

/** What OpenTelemetry's own API has in the process, once a program has registered an SDK. */
interface RegisteredApi {
  readonly trace?: unknown;
  readonly metrics?: unknown;
}

/**
 * Who sends: an SDK that the program has `registered`, or one of `ours` for the endpoint in the environment. Undefined if
 * nobody asked for it: then no package of OpenTelemetry has to be loaded.
 */
export function findSender(env: NodeJS.ProcessEnv): 'registered' | 'ours' | undefined {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return undefined;
  if (isRegistered('trace') || isRegistered('metrics')) return 'registered';
  return hasEndpoint(env, 'TRACES') || hasEndpoint(env, 'METRICS') ? 'ours' : undefined;
}

/** Whether the environment says where a kind of telemetry goes. */
export function hasEndpoint(env: NodeJS.ProcessEnv, signal: 'TRACES' | 'METRICS'): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all = '', [`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]: own = '' } = env;
  return `${all}${own}`.trim() !== '';
}

/** Whether the program has registered an SDK for it, which is visible without importing anything. */
export function isRegistered(signal: keyof RegisteredApi): boolean {
  const api = (globalThis as Readonly<Record<symbol, RegisteredApi | undefined>>)[API];
  return api?.[signal] !== undefined;
}
