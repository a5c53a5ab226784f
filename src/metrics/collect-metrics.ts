import { addRun, readRunTotals, writeRunTotals } from '../../state/run-totals.ts';
import type { ExitCode } from '../model/errors.ts';
import type { StatusReport } from '../model/reports.ts';
import type { RunReport } from '../model/run-report.ts';
import { isUnfinished } from '../model/run-report.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { readStatus } from '../commands/status.ts';
import { type LastRun, type MetricFacts, noFacts } from './metric-facts.ts';

/** A run that ended now; `report` is undefined when it could not begin. */
export interface CountedRun {
  readonly exitCode: ExitCode;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly report: RunReport | undefined;
}

/** The facts of metrics, and what kept some of them from being read. */
export interface CollectedMetrics {
  readonly facts: MetricFacts;
  readonly warnings: readonly string[];
}

/**
 * Reads what the metrics tell, from the published file and the small files of the state folder, and counts `run` in
 * the totals; without settings only the run is known. Never throws: what cannot be read is missing.
 */
export async function collectMetrics(
  settings: OfflineSettings | undefined,
  run: CountedRun | undefined,
  nowMs: number,
): Promise<CollectedMetrics> {
  if (settings === undefined) return { facts: describeRunAlone(run), warnings: [] };
  const { stateDir, keyExpiresAt } = settings;
  const warnings: string[] = [];
  const warn = (what: string, thrown: unknown) =>
    void warnings.push(`${what}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  const totals =
    run === undefined ? readRunTotals(stateDir) : addRun(readRunTotals(stateDir), run.exitCode, run.report);
  try {
    if (run !== undefined) writeRunTotals(stateDir, totals);
  } catch (thrown) {
    warn('the totals of the metrics could not be saved', thrown);
  }
  const status = await readStatus(settings, nowMs).catch((thrown: unknown) => {
    warn('the metrics lack the state of the streams', thrown);
    return undefined;
  });
  const lastRun = run === undefined ? describeKnown(status) : describeCounted(run);
  return { facts: { status, totals, lastRun, keyExpiresAt }, warnings };
}

/** The last run that an earlier process made, one that was refused included. */
function describeKnown(known: StatusReport | undefined): LastRun | undefined {
  if (known?.refused !== undefined) {
    const { error, startedAt } = known.refused;
    const atMs = Date.parse(startedAt);
    return describeCounted({
      exitCode: error.exitCode,
      startedAtMs: atMs,
      endedAtMs: atMs,
      report: undefined,
    });
  }
  const run = known?.lastRun;
  if (run === undefined || isUnfinished(run.status)) return undefined;
  const { exitCode, status, startedAt, finishedAt } = run;
  return { exitCode, status, startedAtMs: Date.parse(startedAt), endedAtMs: Date.parse(finishedAt) };
}

function describeRunAlone(run: CountedRun | undefined): MetricFacts {
  const lastRun = run && describeCounted(run);
  return { ...noFacts, lastRun };
}

function describeCounted({ exitCode, startedAtMs, endedAtMs, report }: CountedRun): LastRun {
  const status = report?.status ?? (exitCode === 75 ? 'stopped' : 'failed');
  return { exitCode, status, startedAtMs, endedAtMs };
}
