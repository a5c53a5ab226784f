import type { CountedRows } from '../../model/stream.ts';
import type { TableChange } from '../../warehouse/merge-rows.ts';
import { formatCountOf } from '../../model/format-count.ts';
import type { ApiCount } from '../scan.ts';
import { boundCount } from './compare-counts.ts';

/** What an incremental scan is about to take from its table, and what is known to confirm it. */
export interface AbsenceFacts {
  readonly counted: ApiCount | undefined;
  readonly isPaginated: boolean;
  /** The days that were read are replaced, as there is no key: a row that is restated goes as well. */
  readonly replaces: boolean;
  readonly change: TableChange;
  readonly before: CountedRows | undefined;
  readonly quarantined: number;
  /** Rows that are lacking when days are compared by their number of rows; of replaced days only. */
  readonly missing: number;
}

/** What becomes of rows that did not come: they go, they stay, or more has to be asked first. */
export type AbsenceDecision =
  | { readonly kind: 'apply' }
  | { readonly kind: 'keep'; readonly because: string }
  | { readonly kind: 'recount' }
  | { readonly kind: 'read-in-full'; readonly because: string };

const APPLY = { kind: 'apply' } as const;

/**
 * Decides about the rows of the days just read that did not come. Their absence is a suspicion: the API may filter by
 * another date than the cursor's. They go once the count of the whole stream confirms it.
 */
export function judgeAbsence(facts: AbsenceFacts): AbsenceDecision {
  const { counted, change, replaces, isPaginated, missing } = facts;
  const suspected = change.deleted - change.superseded;
  // What was archived before there was this question was loaded without it.
  if (suspected <= 0 || counted === undefined) return APPLY;
  const rows = `${formatCountOf(suspected, 'row')} of the days just read did not come`;
  if (counted.rows === null) {
    if (replaces && missing <= 0) return APPLY;
    if (replaces || !isPaginated) return { kind: 'read-in-full', because: rows };
    return { kind: 'keep', because: `${rows}, and the API was not asked for its count` };
  }
  const { before, quarantined } = facts;
  const inTable = change.held + change.inserted + change.returned - change.deleted;
  // A count that another case explains as well, such as a record in quarantine, is no proof that rows are gone.
  if (counted.rows === boundCount({ inTable, suspected: 0, quarantined, before }).least) return APPLY;
  if (counted.again !== undefined) return { kind: 'recount' };
  const because = `${rows}, but the API counts ${formatCountOf(counted.rows, 'row')} in all, which does not confirm it`;
  return { kind: replaces ? 'read-in-full' : 'keep', because };
}
