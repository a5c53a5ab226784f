import type { ErrorCode } from './errors.ts';
import type { ReportedError, RunReport } from './run-report.ts';

// The limits that a run was given, and a neighbour that holds the folder: it goes on by itself next time.
const PLANNED_STOPS: ReadonlySet<ErrorCode> = new Set([
  'quota_exhausted',
  'deadline_reached',
  'request_limit_reached',
  'state_locked',
]);

/** Whether an error is one of the stops that a run plans with, and nothing is wrong. */
export function isPlannedStop({ code }: Pick<ReportedError, 'code'>): boolean {
  return PLANNED_STOPS.has(code);
}

/** What ended a run: the errors of its streams and its own. */
export function listErrors({ error, streams }: RunReport): readonly ReportedError[] {
  const ofStreams = streams.flatMap((stream) => stream.error ?? []);
  return error === undefined ? ofStreams : [...ofStreams, error];
}

/** Whether a run is to be tried again later, as network, server, quota, a limit or a neighbour ended it. */
export function findTryLater(
  exitCode: number,
  errors: readonly ReportedError[],
): { readonly notBeforeMs: number | undefined } | undefined {
  const later = errors.filter((error) => error.exitCode === 75);
  // With 5 some streams are committed: the one that only has to wait is not left to the next day for another's fault.
  if (exitCode !== 75 && (exitCode !== 5 || later.length === 0)) return undefined;
  const times = later.flatMap(({ resumeAt }) => (resumeAt === undefined ? [] : [Date.parse(resumeAt)]));
  // Where a stream has no time of its own to wait for, another try may help it at once.
  const all = times.length > 0 && times.length === later.length;
  return { notBeforeMs: all ? Math.min(...times) : undefined };
}

/** Whether network or server kept a run from its end. */
export function isOutage(exitCode: number, errors: readonly ReportedError[]): boolean {
  if (exitCode !== 75 && exitCode !== 5) return false;
  return errors.some((error) => error.exitCode === 75 && !isPlannedStop(error));
}
