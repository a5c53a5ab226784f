import { existsSync } from 'node:fs';
import path from 'node:path';
import { SyncError, toSyncError } from '../../model/errors.ts';
import { toReportedError } from '../../model/run-report.ts';
import type { Settings } from '../../model/settings.ts';
import type { CliContext } from '../context.ts';
import type { MetricFacts, ScheduleFacts } from '../../metrics/metric-facts.ts';
import { patternOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import type { EndedSync } from './sync-once.ts';

/** Where metrics go after a run. */
export const metricsFileOption = patternOption({
  flag: 'metrics-file',
  valueName: 'file',
  summary: 'Write metrics there after the run, for a textfile collector: metrics.prom',
  group: 'Metrics:',
  example: '/var/lib/node_exporter/sluice.prom',
  pattern: /[^/\\]\.prom$/,
  problem: 'must be a file that ends in .prom',
});

/** The absolute path of `--metrics-file`; throws a usage error where its folder is missing, before the run. */
export function resolveMetricsFile({ cwd }: CliContext, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  const absolute = path.resolve(cwd, file);
  if (existsSync(path.dirname(absolute))) return absolute;
  throw usageError(
    `--metrics-file ${JSON.stringify(file)}: there is no folder ${path.dirname(absolute)}`,
    'Make the folder first; nothing was requested.',
  );
}

/** Tells people of a run, as the config says; returns what could not be told, as warnings. */
export async function tellPeople(
  { engine, clock, env, signal }: CliContext,
  settings: Settings,
  ended: EndedSync,
): Promise<readonly string[]> {
  // Who stopped the run is waiting for its end.
  if (signal.aborted) return [];
  const { report } = ended;
  const run = report === undefined ? { error: toReportedError(ended.error) } : { report };
  try {
    return await engine.notifyRun(settings, run, { clock, env, signal });
  } catch (thrown) {
    // Not even a defect in telling of a run may change what became of it.
    return [`nobody could be told of the run: ${toSyncError(thrown).message}`];
  }
}

/** The metrics after a run, counted; without settings only what the run itself tells. */
export async function countRun(
  { engine, clock }: CliContext,
  settings: Settings | undefined,
  ended: EndedSync,
): Promise<{ readonly facts: MetricFacts; readonly warnings: readonly string[] }> {
  const endedAtMs = clock.now();
  const { startedAtMs, report } = ended;
  const exitCode = report === undefined ? ended.error.exitCode : report.exitCode;
  const counted = { exitCode, startedAtMs, endedAtMs, report };
  return engine.collectMetrics(settings, counted, endedAtMs);
}

/** Writes the metrics file, if there is to be one; returns what went wrong, as warnings. */
export async function saveMetrics(
  { engine }: CliContext,
  file: string | undefined,
  facts: MetricFacts,
  schedule?: ScheduleFacts,
): Promise<readonly string[]> {
  if (file === undefined) return [];
  try {
    await engine.writeMetricsFile(file, await engine.renderMetrics(facts, schedule));
    return [];
  } catch (thrown) {
    const { message } = thrown instanceof SyncError ? thrown : toSyncError(thrown);
    return [`the metrics file ${file} could not be written: ${message}`];
  }
}
