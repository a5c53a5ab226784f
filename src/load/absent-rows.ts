import { RowLossError } from '../model/errors.ts';
import { formatCount, formatCountOf, verbOf } from '../text/format-count.ts';
import type { SyncOptions } from '../model/settings.ts';
import { type Checkpoint, nameOf, type Stream } from '../model/stream.ts';
import type { CursorWindow } from '../warehouse/live-rows.ts';
import type { AbsentRows, TableChange } from '../warehouse/merge-rows.ts';
import type { FetchedScan, PreparedLoad } from '../run/scan.ts';
import { cameEarlier, windowOf } from './asked-days.ts';
import { refuseRehashed } from './rehashed-key.ts';

export interface AbsentFacts {
  readonly stream: Stream;
  readonly scan: FetchedScan;
  readonly load: PreparedLoad;
  /** The checkpoint that this scan will write. */
  readonly next: Checkpoint;
  readonly options: SyncOptions;
  /** The key distinguishes rows that an earlier key took for versions of one row, or vice versa. */
  readonly keyInDoubt: boolean;
}

/** What a scan does with rows of its table that it did not read. */
export interface AbsentDecision {
  readonly absent: AbsentRows;
  /** The scan's rows replace others: a replaced row is not lost. */
  readonly replaces: boolean;
  /** Why rows stay that `deletes` would delete. */
  readonly keptBecause: string | undefined;
}

/** Decides which rows may be deleted: by `deletes` if there is a key, else by replacement. */
export function decideAbsent(facts: AbsentFacts): AbsentDecision {
  const { stream, scan, load, options, keyInDoubt } = facts;
  const keyless = load.key === undefined;
  const how = stream.deletes === 'soft' ? 'soft' : 'hard';
  const keep = (keptBecause?: string): AbsentDecision => ({ absent: 'keep', replaces: keyless, keptBecause });
  // Nothing came that could replace rows: all of it is in quarantine, and may be their newer versions.
  const isAllRejected = load.rejected.count > 0 && load.rejected.count === scan.rows;
  if ((keyless || keyInDoubt) && isAllRejected) return keep(findHindrance(facts));
  // Without a key, a part of the rows is only loaded into a table that never held more.
  if (scan.verdict === 'partial' && keyless) return replace('hard');
  const trusted = scan.verdict === 'verified' || scan.verdict === 'unverified';
  if (!trusted || stream.write === 'append') return keep();
  if (scan.plan.mode === 'full') {
    if (keyless || keyInDoubt) return replace(how);
    const heldBack = findHindrance(facts);
    if (stream.write === 'replace') return load.rejected.count > 0 ? keep(heldBack) : replace(how);
    if (stream.deletes === 'keep') return keep();
    return heldBack === undefined ? remove(how, undefined) : keep(heldBack);
  }
  const window = windowOf(scan, load);
  // There is nothing to replace yet, and no older version of a row.
  if (window === undefined || (!load.tableExisted && options.from !== undefined)) return keep();
  if (keyless) return replace(how, window);
  if (stream.deletes === 'keep') return keep();
  const heldBack = findHindrance(facts);
  return heldBack === undefined ? remove(how, window) : keep(heldBack);
}

function remove(how: 'soft' | 'hard', window: CursorWindow | undefined): AbsentDecision {
  return { absent: { how, window }, replaces: false, keptBecause: undefined };
}

function replace(how: 'soft' | 'hard', window?: CursorWindow): AbsentDecision {
  return { absent: { how, window }, replaces: true, keptBecause: undefined };
}

/** Why a full scan still does not prove that a row is gone. */
export function findHindrance({ scan, load, next }: AbsentFacts): string | undefined {
  const { count } = load.rejected;
  // A quarantined record may be the newer version of a row in the table.
  if (count > 0)
    return `${formatCountOf(count, 'record')} of this scan ${verbOf(count, 'is', 'are')} in quarantine`;
  if (scan.verdict !== 'verified') return 'the scan is not verified';
  if (cameEarlier(scan, load)) return 'it also returned rows from before its start date';
  // As long as the API may treat the parameter differently, absence proves nothing.
  if (scan.plan.trial && next.cursorState !== 'proved') return 'the cursor is not proved yet';
  return undefined;
}

/** Throws a RowLossError if more than the allowed share of rows would be deleted. */
export function refuseLoss(
  { stream, scan, load, options }: Pick<AbsentFacts, 'stream' | 'scan' | 'load' | 'options'>,
  { replaces }: AbsentDecision,
  { held, inserted, deleted, superseded }: TableChange,
): void {
  // A part may well be smaller than the previous one, and an empty source was explicitly allowed.
  if (scan.verdict === 'partial' || (scan.rows === 0 && options.allowEmpty === true)) return;
  const lost = deleted - superseded - (replaces ? inserted : 0);
  if (lost <= 0 || lost / held <= stream.maxDeleteRatio) return;
  refuseRehashed(stream, load, held);
  const rows = `${formatCount(lost)} of the ${formatCountOf(held, 'row')} of the ${stream.slice === undefined ? 'table' : 'slice'}`;
  const setting = `streams.${stream.name}.maxDeleteRatio`;
  const { count } = load.rejected;
  const ratio = `set ${setting} to at least ${Math.ceil((lost / held) * 100) / 100} and run the same command again`;
  // An answer without pages is read again by every run.
  const kept = stream.paginated ? '; the pages are kept for 24 h' : '';
  const advice =
    count === 0
      ? `If these rows really left the source, ${ratio}${kept}.`
      : `${formatCountOf(count, 'record')} of this scan ${verbOf(count, 'breaks', 'break')} the contract and would be in quarantine in place of rows: fix the contract first, in contracts/${stream.name}.schema.json or streams.${stream.name}.contract. Only if the rows really left the source, ${ratio}${kept}.`;
  throw new RowLossError(
    `${nameOf(stream)}: ${rows} would be deleted (${formatShare(lost / held)}), more than the allowed ${formatShare(stream.maxDeleteRatio)}`,
    {
      code: 'deletes_refused',
      hint: `The table is unchanged. ${advice}`,
      context: { stream: stream.name },
    },
  );
}

/** Reports rows that the API no longer has and that stay in the table. */
export function describeKept(
  scan: FetchedScan,
  { keptBecause }: AbsentDecision,
  kept: number,
  quarantined = 0,
): readonly string[] {
  if (keptBecause !== undefined && scan.plan.mode === 'incremental')
    return scan.verdict === 'verified' ? [`nothing was deleted: ${keptBecause}`] : [];
  const isTold = scan.verdict === 'verified' || (scan.verdict === 'unverified' && keptBecause !== undefined);
  if (!isTold || scan.plan.mode !== 'full' || kept <= 0) return [];
  const because = keptBecause === undefined ? '' : `: ${keptBecause}`;
  const explained = keptBecause === undefined ? ', which records in quarantine may explain' : '';
  const missing =
    quarantined === 0
      ? `no longer ${verbOf(kept, 'comes', 'come')} from the API`
      : `did not arrive as ${verbOf(kept, 'a row', 'rows')}${explained}`;
  const rows = `${formatCountOf(kept, 'row')} of the table`;
  return [`${rows} ${missing}; ${verbOf(kept, 'it is', 'they are')} kept${because}`];
}

/** Reports the removal of rows that an earlier run marked and counted as deleted. */
export function describeMarkedGone(rows: number): readonly string[] {
  if (rows === 0) return [];
  return [
    `${formatCountOf(rows, 'row')} that ${verbOf(rows, 'was', 'were')} marked as deleted before left the table, because deletes is hard`,
  ];
}

function formatShare(share: number): string {
  return `${Math.round(share * 1_000) / 10} %`;
}
