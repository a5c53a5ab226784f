import { buildNothingFoundError, StrictError, type SyncError } from '../model/errors.ts';
import type { StreamReport } from '../model/run-report.ts';
import type { OfflineSettings, SyncOptions } from '../model/settings.ts';

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
