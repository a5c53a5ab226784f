import type { MetricFacts, ScheduleFacts } from '../../metrics/metric-facts.ts';
import type { AccountMetricsOptions } from '../../metrics/render-metrics.ts';
import type { RunObserver } from '../../model/run-observer.ts';
import type { FollowedRun } from '../../model/telemetry.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import { logWarnings, openLog } from '../progress/open-log.ts';

/** What commands with telemetry do. */
interface TracedWork {
  /** Whether the runs belong to the trace that TRACEPARENT names. */
  readonly isWithinTrace: boolean;
}

/** Works with telemetry, if somebody asked for it, and sends what is left at the end. */
export async function withTelemetry<T>(
  context: CliContext,
  globals: GlobalValues,
  { isWithinTrace }: TracedWork,
  work: (context: CliContext) => Promise<T>,
): Promise<T> {
  const { engine, env, clock, output } = context;
  const { mask } = output;
  const { telemetry, warnings } = await engine.openTelemetry({ env, clock, mask, isWithinTrace });
  await warn(context, globals, warnings);
  if (telemetry === undefined) return work(context);
  try {
    return await work({ ...context, telemetry });
  } finally {
    await warn(context, globals, await telemetry.flush());
  }
}

/** Makes spans of a run that begins now; nothing if nobody asked for them. */
export function followTraces({ telemetry }: CliContext, run: FollowedRun): readonly RunObserver[] {
  return telemetry === undefined ? [] : [telemetry.followRun(run)];
}

/** Whether somebody is sent the metrics. */
export function sendsMetrics({ telemetry }: CliContext): boolean {
  return telemetry?.wantsMetrics === true;
}

/** Gives the metrics to who sends them, if somebody does. */
export async function sendMetrics(
  { engine, telemetry }: CliContext,
  facts: MetricFacts,
  schedule?: ScheduleFacts,
): Promise<void> {
  if (telemetry?.wantsMetrics !== true) return;
  telemetry.writeMetrics(await engine.listMetrics(facts, schedule));
}

/** The same for several accounts: each series names its account. */
export async function sendAccountsMetrics(
  { engine, telemetry }: CliContext,
  facts: ReadonlyMap<string, MetricFacts>,
  options: AccountMetricsOptions,
): Promise<void> {
  if (telemetry?.wantsMetrics !== true) return;
  telemetry.writeMetrics(await engine.listAccountMetrics(facts, options));
}

async function warn(context: CliContext, globals: GlobalValues, warnings: readonly string[]): Promise<void> {
  if (warnings.length > 0) logWarnings(await openLog(context, globals), warnings);
}
