import type { ErrorCode } from './errors.ts';
import type { ReportedError, RunReport } from './run-report.ts';

// The limits of a run, and another run that holds the folder: the next run resolves these by itself.
const PLANNED_STOPS: ReadonlySet<ErrorCode> = new Set([
  'quota_exhausted',
  'deadline_reached',
  'request_limit_reached',
  'state_locked',
]);

/** Whether an error is an expected stop, with nothing wrong. */
export function isPlannedStop({ code }: Pick<ReportedError, 'code'>): boolean {
  return PLANNED_STOPS.has(code);
}

/** What ended a run: the errors of its streams and its own. */
export function listErrors({ error, streams }: RunReport): readonly ReportedError[] {
  const ofStreams = streams.flatMap((stream) => stream.error ?? []);
  return error === undefined ? ofStreams : [...ofStreams, error];
}

/**
 * Whether to retry a run later, because the network, the server, the quota, a limit or another run ended it.
 */
export function findTryLater(
  exitCode: number,
  errors: readonly ReportedError[],
): { readonly notBeforeMs: number | undefined } | undefined {
  const later = errors.filter((error) => error.exitCode === 75);
  // With exit code 5 some streams are committed. One that only has to wait must not be left to the next day
  // because another failed.
  if (exitCode !== 75 && (exitCode !== 5 || later.length === 0)) return undefined;
  const times = later.flatMap(({ resumeAt }) => (resumeAt === undefined ? [] : [Date.parse(resumeAt)]));
  // A stream without a time to wait for may succeed at once.
  const all = times.length > 0 && times.length === later.length;
  return { notBeforeMs: all ? Math.min(...times) : undefined };
}

/** Whether the network or the server kept a run from finishing. */
export function isOutage(exitCode: number, errors: readonly ReportedError[]): boolean {
  if (exitCode !== 75 && exitCode !== 5) return false;
  return errors.some((error) => error.exitCode === 75 && !isPlannedStop(error));
}
