import type { CountedRows } from '../model/stream.ts';
import type { TableChange } from '../warehouse/merge-rows.ts';
import { formatCountOf } from '../text/format-count.ts';
import type { ApiCount } from '../run/scan.ts';
import { expectCount } from './compare-counts.ts';

/** What an incremental scan is about to delete from its table, and the evidence for it. */
export interface AbsenceFacts {
  readonly counted: ApiCount | undefined;
  readonly isPaginated: boolean;
  /** The days that were read are replaced, as there is no key: restated rows are deleted as well. */
  readonly replaces: boolean;
  readonly change: TableChange;
  readonly before: CountedRows | undefined;
  readonly quarantined: number;
  /** Rows missing by a count per day; of replaced days only. */
  readonly missing: number;
}

/** What happens to rows that were not returned: they are deleted, they stay, or the API must be asked first. */
export type AbsenceDecision =
  | { readonly kind: 'apply' }
  | { readonly kind: 'keep'; readonly because: string }
  | { readonly kind: 'recount' }
  | { readonly kind: 'read-in-full'; readonly because: string };

const APPLY = { kind: 'apply' } as const;

/**
 * Decides about rows of the days just read that were not returned. Their absence is only a suspicion, as the API may
 * filter by a date other than the cursor's. They are deleted once the total count confirms it.
 */
export function judgeAbsence(facts: AbsenceFacts): AbsenceDecision {
  const { counted, change, replaces, isPaginated, missing } = facts;
  const suspected = change.deleted - change.superseded;
  // Older archived scans were loaded without this check.
  if (suspected <= 0 || counted === undefined) return APPLY;
  const rows = `${formatCountOf(suspected, 'row')} of the days just read went missing`;
  if (counted.rows === null) {
    if (replaces && missing <= 0) return APPLY;
    if (replaces || !isPaginated) return { kind: 'read-in-full', because: rows };
    return { kind: 'keep', because: `${rows}, and the API was not asked for its count` };
  }
  const { before, quarantined } = facts;
  const inTable = change.held + change.inserted + change.returned - change.deleted;
  // Missing rows may be these very ones.
  if (before !== undefined && before.difference <= 0) {
    const expected = expectCount({ inTable, suspected: 0, quarantined, before });
    if (counted.rows === expected + before.difference) return APPLY;
  }
  if (counted.again !== undefined) return { kind: 'recount' };
  const because = `${rows}, but the API counts ${formatCountOf(counted.rows, 'row')} in all, which does not confirm it`;
  return { kind: replaces ? 'read-in-full' : 'keep', because };
}
