import { ResponseError } from '../model/errors.ts';
import { formatCountOf } from '../text/format-count.ts';
import type { Page } from '../model/page.ts';
import type { SyncOptions } from '../model/settings.ts';
import type { Checkpoint, Stream } from '../model/stream.ts';
import type { MissingRows } from '../warehouse/missing-rows.ts';
import type { FetchedScan } from '../run/scan.ts';
import type { PlannedScan } from '../run/turn.ts';
import type { ScanPlan } from '../plan/scan-plan.ts';

/** Thrown by an incremental scan if only a full one can fix what it found; the message says why. */
export class ReadInFull extends Error {
  /** What must be learned again. */
  readonly unlearned: Partial<Checkpoint>;
  /** Rows may differ repeatedly: one such full scan per day is enough. */
  readonly isBroughtForward: boolean;

  constructor(
    reason: string,
    { isBroughtForward = false, ...unlearned }: Partial<Checkpoint> & { isBroughtForward?: boolean } = {},
  ) {
    super(`${reason}; reading the stream in full`);
    this.unlearned = unlearned;
    this.isBroughtForward = isBroughtForward;
  }
}

/** Why a scan's error requires a full scan; undefined for any other error. */
export function toReadInFull(
  stream: Stream,
  plan: ScanPlan,
  { from }: SyncOptions,
  thrown: unknown,
): ReadInFull | undefined {
  if (plan.mode === 'full') return undefined;
  if (thrown instanceof ReadInFull) return thrown;
  if (!(thrown instanceof ResponseError) || thrown.code !== 'request_rejected') return undefined;
  if (plan.trial) return refute(stream);
  // A date given with --from must be corrected by the user. Others may become too old for the API, as after a pause.
  if (from !== undefined) return undefined;
  return new ReadInFull(`${thrown.message} (${paramOf(stream)} was ${plan.from ?? ''})`);
}

/**
 * Throws ReadInFull if the first page shows that the API does not honour the cursor's parameter: in a trial, and if
 * there is no key to merge earlier rows by, so that the other pages would be read for nothing. Only dates a whole day
 * too early count: a timestamp's offset may move it over midnight.
 */
export function refuteByPage(
  { stream, plan, checkpoint }: PlannedScan,
  page: Page,
  path: readonly string[],
): void {
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
  if (earlier || emptied) throw refute(stream);
}

/** The same for a complete trial: a total that ignores the parameter contradicts the returned rows. */
export function refuteByCounts(stream: Stream, { plan, cause }: FetchedScan): void {
  if (plan.trial && cause === 'contradiction') throw refute(stream);
}

// More is not a coincidence.
const MOST_MISSING = 1 / 5;

/**
 * The same for the rows of a trial: if rows of the table are missing from the days it read, the API filters by a date
 * other than the cursor's. A few may have left the source: a full scan shows, unless this one deletes nothing anyway.
 */
export function refuteByRows(stream: Stream, { held, missing }: MissingRows, mayDelete: boolean): void {
  if (missing === 0) return;
  if (missing / held > MOST_MISSING) throw refute(stream);
  if (!mayDelete) return;
  const rows = formatCountOf(missing, 'row');
  throw new ReadInFull(
    `${rows} of the requested days went missing, and filtering by ${paramOf(stream)} is not proven yet`,
  );
}

function refute(stream: Stream): ReadInFull {
  return new ReadInFull(`the API does not honour ${paramOf(stream)} here`, { cursorState: 'refuted' });
}

function paramOf({ cursor }: Stream): string {
  return cursor.kind === 'off' ? '' : cursor.param;
}
