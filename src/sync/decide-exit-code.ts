import { buildNothingFoundError, type ExitCode, StrictError, type SyncError } from '../model/errors.ts';
import type { RunStatus, StreamReport } from '../model/run-report.ts';
import type { OfflineSettings, SyncOptions } from '../model/settings.ts';

// With several causes and nothing committed, the one that a person must act on first.
const URGENCY: readonly ExitCode[] = [1, 6, 143, 130, 3, 2, 4, 75];

/** Of the exit codes of several failures, the one that a person must act on first. */
export function findMostUrgent(codes: ReadonlySet<ExitCode>): ExitCode {
  return URGENCY.find((code) => codes.has(code)) ?? 1;
}

// These end a run whatever its streams did before (4: with --strict any warning is a breach).
const ALWAYS: ReadonlySet<ExitCode> = new Set([1, 3, 4, 6, 130, 143]);

/**
 * The exit code of a run, as in docs/delivery.md: one stream, or all failing in the same way, gives its code;
 * commits together with failures give 5, unless only the quota stopped the others (75).
 */
export function decideExitCode(
  streams: readonly Pick<StreamReport, 'status' | 'error'>[],
  runError: ExitCode | undefined,
): ExitCode {
  if (runError !== undefined && ALWAYS.has(runError)) return runError;
  // No stream failed: it is the config that keeps what was committed from being published.
  if (runError === 2 && streams.every(({ error }) => error === undefined)) return 2;
  const codes = new Set(streams.flatMap(({ error }) => error?.exitCode ?? []));
  if (runError !== undefined) codes.add(runError);
  if (codes.size === 0) return 0;
  const committed = streams.some(({ status }) => status === 'complete' || status === 'fresh');
  const [only] = codes;
  if (codes.size === 1 && only !== undefined && (!committed || only === 75)) return only;
  return committed ? 5 : findMostUrgent(codes);
}

/** One word for a run's outcome, as in `_sluice.runs.status`. */
export function describeOutcome(exitCode: ExitCode): RunStatus {
  switch (exitCode) {
    case 0:
      return 'complete';
    case 5:
      return 'partial';
    case 75:
      return 'stopped';
    case 130:
    case 143:
      return 'interrupted';
    default:
      return 'failed';
  }
}

/** One endpoint with a 404 may not be part of the subscription; if all have one, the base URL is wrong. */
export function findNothingAvailable(
  { baseUrl }: Pick<OfflineSettings, 'baseUrl'>,
  streams: readonly StreamReport[],
): SyncError | undefined {
  const isNothing = streams.length > 0 && streams.every(({ status }) => status === 'unavailable');
  return isNothing ? buildNothingFoundError(baseUrl) : undefined;
}

/** With `--strict` a run that warned has failed. */
export function findStrictBreach(
  { strict }: SyncOptions,
  warnings: readonly string[],
): SyncError | undefined {
  const [first] = warnings;
  if (strict !== true || first === undefined) return undefined;
  const count = warnings.length === 1 ? '1 warning' : `${warnings.length} warnings, the first`;
  return new StrictError(`--strict: ${count}: ${first}`, {
    code: 'strict_breach',
    hint: 'What was synced is committed and published. Fix the cause, or run without --strict.',
  });
}
