import { toDate } from '../model/dates.ts';
import type { Checkpoint } from '../model/stream.ts';
import type { FetchedScan, PreparedLoad } from '../run/scan.ts';

// A little less than a day: daily jobs do not start to the second.
const A_DAY_MS = 20 * 3_600_000;

/** Warns that a day passed without newer rows, as when a daily refresh failed. */
export function describeStaleness(
  { startedAtMs, serverDateMs }: Pick<FetchedScan, 'startedAtMs' | 'serverDateMs'>,
  { newestCursor, dateless, cursorColumn }: Pick<PreparedLoad, 'newestCursor' | 'dateless' | 'cursorColumn'>,
  checkpoint: Checkpoint | undefined,
): string | undefined {
  const { watermark, lastVerifiedAt } = checkpoint ?? {};
  if (newestCursor === undefined || watermark === undefined || lastVerifiedAt === undefined) return undefined;
  if (startedAtMs - Date.parse(lastVerifiedAt) < A_DAY_MS) return undefined;
  // There are no rows newer than today or a future date.
  if (newestCursor > watermark || watermark >= toDate(serverDateMs)) return undefined;
  // There may be newer rows without a date.
  if ((dateless ?? 0) > 0)
    return `no rows newer than ${newestCursor} since ${lastVerifiedAt.slice(0, 10)}, and ${dateless} without a date in ${cursorColumn}`;
  return `no rows newer than ${newestCursor} since ${lastVerifiedAt.slice(0, 10)}: the source may not have been refreshed`;
}
