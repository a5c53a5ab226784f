import type { ExitCode } from '../../model/errors.ts';
import type { Answer, MetricsServerOptions } from '../../metrics/metrics-server.ts';
import type { CliContext } from '../frame/context.ts';
import type { ScheduledRuns } from './schedule-record.ts';

// Waits are split into minutes, so a scheduled time this far in the past means that the loop is stuck.
const LONGEST_DELAY_MS = 5 * 60_000;

// Shorter outages resolve themselves: by then a run is retried several times.
const LONGEST_OUTAGE_MS = 60 * 60_000;

// The next run fails the same way until a person acts: bug, config, key, disk.
const FATAL: readonly ExitCode[] = [1, 2, 3, 6];

/** What the endpoint serves: codes and times, never text from config, server or key. */
export function listHealthPaths(
  { clock }: Pick<CliContext, 'clock'>,
  syncs: Pick<ScheduledRuns, 'record' | 'lastEnd' | 'isStateReadable' | 'renderMetrics'>,
  metricsType: string,
): MetricsServerOptions['paths'] {
  return {
    '/healthz': () => {
      const { run, nextRunAtMs } = syncs.record.facts;
      const running = run !== undefined;
      const isStuck = !running && nextRunAtMs !== undefined && clock.now() - nextRunAtMs > LONGEST_DELAY_MS;
      const nextRunAt = nextRunAtMs === undefined ? null : new Date(nextRunAtMs).toISOString();
      return toJson(isStuck ? 503 : 200, { status: isStuck ? 'stuck' : 'ok', running, nextRunAt });
    },
    '/readyz': () => {
      const { lastEnd, isStateReadable, record } = syncs;
      const { outageSinceMs = Infinity } = record.facts;
      const exitCode = lastEnd?.exitCode ?? null;
      if (lastEnd !== undefined && FATAL.includes(lastEnd.exitCode))
        return toJson(503, { ready: false, reason: lastEnd.code ?? 'run_failed', exitCode });
      if (clock.now() - outageSinceMs >= LONGEST_OUTAGE_MS)
        return toJson(503, { ready: false, reason: lastEnd?.code ?? 'run_failed', exitCode });
      if (!isStateReadable) return toJson(503, { ready: false, reason: 'state_unreadable', exitCode });
      return toJson(200, { ready: true, reason: null, exitCode });
    },
    '/metrics': async () => ({ status: 200, type: metricsType, body: await syncs.renderMetrics() }),
  };
}

function toJson(status: number, body: object): Answer {
  return { status, type: 'application/json; charset=utf-8', body: `${JSON.stringify(body)}\n` };
}
