import { ResponseError } from '../model/errors.ts';
import { formatCountOf } from '../text/format-count.ts';
import type { Page } from '../model/page.ts';
import type { SyncOptions } from '../model/settings.ts';
import type { Stream } from '../model/stream.ts';
import type { MissingRows } from '../warehouse/missing-rows.ts';
import type { FetchedScan } from '../run/scan.ts';
import { type FullRefresh, readInFull } from '../run/step.ts';
import type { PlannedScan } from '../run/turn.ts';

/** Why a rejected request of an incremental scan requires a full one; undefined for any other error. */
export function refuteByError(
  { stream, plan }: PlannedScan,
  { from }: SyncOptions,
  thrown: unknown,
): FullRefresh | undefined {
  if (plan.mode === 'full') return undefined;
  if (!(thrown instanceof ResponseError) || thrown.code !== 'request_rejected') return undefined;
  if (plan.trial) return refute(stream);
  // A date given with --from must be corrected by the user. Others may become too old for the API, as after a pause.
  if (from !== undefined) return undefined;
  return readInFull(`${thrown.message} (${paramOf(stream)} was ${plan.from ?? ''})`);
}

/**
 * The same if the first page shows that the API does not honour the cursor's parameter: in a trial, and if there is no
 * key to merge earlier rows by, so that the other pages would be read for nothing. Only dates a whole day too early
 * count: a timestamp's offset may move it over midnight.
 */
export function refuteByPage(
  { stream, plan, checkpoint }: PlannedScan,
  page: Page,
  path: readonly string[],
): FullRefresh | undefined {
  const { from = '', trial } = plan;
  const earliest = new Date(Date.parse(from) - 86_400_000).toISOString().slice(0, 10);
  const earlier = page.records.some(({ value }) => {
    const date = path.reduce<unknown>(
      (part, name) => (part as Record<string, unknown> | null | undefined)?.[name],
      value,
    );
    return typeof date === 'string' && date.slice(0, 10) < earliest;
  });
  const emptied =
    trial && page.total === 0 && (checkpoint?.rowsDeclared ?? 0) > 0 && from <= (checkpoint?.watermark ?? '');
  return earlier || emptied ? refute(stream) : undefined;
}

/** The same for a complete trial: a total that ignores the parameter contradicts the returned rows. */
export function refuteByCounts(stream: Stream, { plan, cause }: FetchedScan): FullRefresh | undefined {
  return plan.trial && cause === 'contradiction' ? refute(stream) : undefined;
}

// More is not a coincidence.
const MOST_MISSING = 1 / 5;

/**
 * The same for the rows of a trial: if rows of the table are missing from the days it read, the API filters by a date
 * other than the cursor's. A few may have left the source: a full scan shows, unless this one deletes nothing anyway.
 */
export function refuteByRows(
  stream: Stream,
  { held, missing }: MissingRows,
  mayDelete: boolean,
): FullRefresh | undefined {
  if (missing === 0) return undefined;
  if (missing / held > MOST_MISSING) return refute(stream);
  if (!mayDelete) return undefined;
  const rows = formatCountOf(missing, 'row');
  return readInFull(
    `${rows} of the requested days went missing, and filtering by ${paramOf(stream)} is not proven yet`,
  );
}

function refute(stream: Stream): FullRefresh {
  return readInFull(`the API does not honour ${paramOf(stream)} here`, {
    forget: { cursorState: 'refuted' },
  });
}

function paramOf({ cursor }: Stream): string {
  return cursor.kind === 'off' ? '' : cursor.param;
}
