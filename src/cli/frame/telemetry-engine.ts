import type { MetricFacts, ScheduleFacts } from '../../metrics/metric-facts.ts';
import type { AccountMetricsOptions } from '../../metrics/render-metrics.ts';
import type { MetricFamily } from '../../model/telemetry.ts';
import type { OpenedTelemetry, TelemetryEffects } from '../../telemetry/open-telemetry.ts';

/** What the commands that run syncs call for traces and metrics. */
export interface TelemetryEngine {
  /** Opens where traces and metrics of runs go, if the environment or the process asks for them. Never throws. */
  openTelemetry(effects: TelemetryEffects): Promise<OpenedTelemetry>;
  /** The metrics of `renderMetrics` as values. */
  listMetrics(facts: MetricFacts, schedule?: ScheduleFacts): Promise<readonly MetricFamily[]>;
  /** The metrics of `renderAccountMetrics` as values. */
  listAccountMetrics(
    accounts: ReadonlyMap<string, MetricFacts>,
    options: AccountMetricsOptions,
  ): Promise<readonly MetricFamily[]>;
}
