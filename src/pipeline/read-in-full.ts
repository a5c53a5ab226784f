import { ResponseError } from '../model/errors.ts';
import { formatCountOf } from '../model/format-count.ts';
import type { Page } from '../model/page.ts';
import type { SyncOptions } from '../model/settings.ts';
import type { Checkpoint, Stream } from '../model/stream.ts';
import type { MissingRows } from '../warehouse/missing-rows.ts';
import type { FetchedScan } from './scan.ts';
import type { ScanPlan } from './scan-plan.ts';

/** What an incremental scan taught that only a full one can repair; its message says why, to people. */
export class ReadInFull extends Error {
  /** What is not to be taken for granted any more. */
  readonly unlearned: Partial<Checkpoint>;
  /** Rows may differ again and again: one such full scan a day is enough. */
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

/** Why the stream is to be read in full after what was thrown by a scan of it; undefined for any other failure. */
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
  // A date that was asked for by hand is for a person to correct. Others grow too old for an API, as after a pause.
  if (from !== undefined) return undefined;
  return new ReadInFull(`${thrown.message} (${paramOf(stream)} was ${plan.from ?? ''})`);
}

/**
 * Throws ReadInFull where the first page shows that the API does not honour the cursor's parameter: in a trial, and where
 * no key would tell an earlier row from its older version, so that the rest of the pages would be read for nothing.
 * Only dates a whole day too early count: a timestamp's offset may move it over midnight.
 */
export function refuteByPage(
  stream: Stream,
  page: Page,
  path: readonly string[],
  { from = '', trial }: ScanPlan,
  checkpoint: Checkpoint | undefined,
): void {
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

/** The same of a whole trial: a total that leaves the parameter out of account contradicts the rows that came. */
export function refuteByCounts(stream: Stream, { plan, cause }: FetchedScan): void {
  if (plan.trial && cause === 'contradiction') throw refute(stream);
}

// More is no coincidence.
const MOST_MISSING = 1 / 5;

/**
 * The same of the rows of a trial: an answer that lacks rows which the table has in the days it read went by another date
 * than the cursor's. A few of them may have left the source: a full scan tells, unless this one lets no row go anyway.
 */
export function refuteByRows(stream: Stream, { held, missing }: MissingRows, mayDelete: boolean): void {
  if (missing === 0) return;
  if (missing / held > MOST_MISSING) throw refute(stream);
  if (!mayDelete) return;
  const rows = formatCountOf(missing, 'row');
  throw new ReadInFull(`${rows} of the days asked for did not come, and ${paramOf(stream)} is only tried`);
}

function refute(stream: Stream): ReadInFull {
  return new ReadInFull(`the API does not honour ${paramOf(stream)} here`, { cursorState: 'refuted' });
}

function paramOf({ cursor }: Stream): string {
  return cursor.kind === 'off' ? '' : cursor.param;
}
