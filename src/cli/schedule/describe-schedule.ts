import { formatDuration } from '../../text/duration.ts';
import { BugError, type SyncError } from '../../model/errors.ts';
import type { CronSchedule } from '../../schedule/cron-schedule.ts';
import type { ScheduleEvent } from '../../schedule/run-schedule.ts';
import type { LogLine } from '../progress/describe-event.ts';
import { levelOfExit } from './level-of-exit.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { formatUpcoming } from '../../render/format-values.ts';
import { formatMoment } from '../../text/format-moment.ts';
import { summarizeRun } from '../../render/describe-run.ts';
import type { EndedRun } from '../../model/run-observer.ts';

/** The log line of a schedule event; undefined if it needs none. */
export function describeScheduleEvent(event: ScheduleEvent, nowMs: number): LogLine | undefined {
  switch (event.type) {
    case 'waiting': {
      const { nextRunAtMs } = event;
      const again = event.again === true;
      const what = again ? 'the run is retried' : 'next run';
      const message = `${what} ${formatMoment(nextRunAtMs)}, in ${formatDuration(nextRunAtMs - nowMs)}`;
      return {
        level: 'info',
        message,
        fields: { type: 'next-run', nextRunAt: new Date(nextRunAtMs).toISOString(), ...(again && { again }) },
      };
    }
    case 'running':
      if (event.reason !== 'catch-up') return undefined;
      return {
        level: 'info',
        message: 'catching up: a run was missed, ended early or has to be retried',
        fields: { type: 'catch-up' },
      };
    case 'skipped':
      return describeSkipped(event);
    case 'set-back':
      return {
        level: 'warn',
        message: `the clock was set back by ${formatDuration(event.byMs)}`,
        fields: { type: 'clock-set-back', byMs: Math.round(event.byMs) },
      };
    case 'ended':
      return { level: 'warn', message: 'the schedule has no dates left', fields: { type: 'schedule-ended' } };
  }
}

function describeSkipped({ ticksMs, more }: ScheduleEvent & { type: 'skipped' }): LogLine {
  const times = ticksMs.map((ms) => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`);
  const rest = more === 0 ? '' : ` and ${more} more`;
  const what = ticksMs.length + more === 1 ? 'a scheduled time' : 'scheduled times';
  return {
    level: 'warn',
    message: `skipped ${what} that passed before the run ended: ${times.join(', ')}${rest}`,
    fields: { type: 'skipped', skipped: ticksMs.length + more },
  };
}

/** The log lines of a run that ended. */
export function describeEnd({ report, error, startedAtMs }: EndedRun, endedAtMs: number): readonly LogLine[] {
  const exitCode = report === undefined ? error.exitCode : report.exitCode;
  const fields = { type: 'run-ended', exitCode, durationMs: endedAtMs - startedAtMs };
  const level = levelOfExit(exitCode);
  if (report === undefined)
    return [
      { level, message: error.message, fields: { ...fields, code: error.code, hint: error.hint } },
      { level, message: error.hint, fields: { type: 'hint' } },
      ...describeStack(error, level),
    ];
  const code = exitCode === 0 ? '' : `, exit code ${exitCode}`;
  const { runId, streams, warnings } = report;
  const failure = report.error ?? streams.find((stream) => stream.error !== undefined)?.error;
  const summary: LogLine = {
    level,
    message: `${summarizeRun(report)}${code}`,
    fields: { ...fields, runId, warnings: warnings.length },
  };
  // A failed stream had its own line during the run; the error of the run itself had none.
  if (failure === undefined || exitCode === 130 || exitCode === 143) return [summary];
  const { hint } = failure;
  const told: readonly LogLine[] =
    report.error === undefined || streams.some(({ error: own }) => own?.message === report.error?.message)
      ? []
      : [{ level, message: report.error.message, fields: { type: 'cause', code: report.error.code } }];
  return [summary, ...told, { level, message: hint, fields: { type: 'hint' } }];
}

/** Only a bug in Sluice shows its stack. */
function describeStack(error: SyncError, level: LogLine['level']): readonly LogLine[] {
  if (!(error instanceof BugError)) return [];
  const { stack = '' } = error.cause instanceof Error ? error.cause : error;
  return [{ level, message: stack, fields: { type: 'stack' } }];
}

/** The lines at the start: when it runs and where to watch it. */
export function describeStart(facts: {
  readonly schedule: CronSchedule;
  readonly jitterMs: number;
  readonly nowMs: number;
  readonly isRunDue: boolean;
  /** Where it can be watched, and whether the report is shown there. */
  readonly watch: { readonly origin: string; readonly hasPage: boolean } | undefined;
  readonly metricsFile: string | undefined;
}): string {
  const { schedule, jitterMs, nowMs, watch, metricsFile } = facts;
  const nextMs = schedule.next(nowMs);
  const later = jitterMs === 0 ? '' : `, up to ${formatDuration(jitterMs)} later each time`;
  return [
    `Syncs at ${schedule.expression} (${schedule.timezone})${later}.`,
    facts.isRunDue ? 'First run: now.' : undefined,
    nextMs === undefined ? undefined : `Next time: ${formatUpcoming(nextMs, nowMs)}.`,
    watch?.hasPage === true ? `Report: ${watch.origin}/` : undefined,
    watch && `Watch it: ${watch.origin}/metrics, ${watch.origin}/healthz, ${watch.origin}/readyz`,
    metricsFile === undefined ? undefined : `Metrics file: ${metricsFile}`,
    'Ctrl-C stops it.',
  ]
    .filter((line) => line !== undefined)
    .join('\n');
}

/** How many scheduled times an event reports as skipped. */
export function countSkipped(event: ScheduleEvent): number {
  return event.type === 'skipped' ? event.ticksMs.length + event.more : 0;
}

/** `1 run`, `3 runs`, for the last line of a schedule. */
export function describeCount(runs: number): string {
  return `stopped after ${formatCountOf(runs, 'run')}`;
}
