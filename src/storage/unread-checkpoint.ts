import type { Checkpoint } from '../model/stream.ts';

/**
 * A checkpoint from which the next sync can continue: the table here was not verified by a scan, and no archived scan
 * led to it.
 */
export function toUnproven(checkpoint: Checkpoint, runId: string, before?: Checkpoint): Checkpoint {
  // What is known about rows that left or are incomplete concerns the table, which stays.
  const { counts, wholeAt, provedFrom } = before ?? checkpoint;
  const fullRefreshDue = before?.fullRefreshDue ?? checkpoint.fullRefreshDue;
  const known = { counts, wholeAt, provedFrom, fullRefreshDue };
  return { ...checkpoint, ...known, lastVerifiedAt: undefined, head: undefined, runId };
}

/** The same if the table here has different rows: what was learned is kept, and everything is read. */
export function toUnread(checkpoint: Checkpoint, runId: string): Checkpoint {
  return {
    ...toUnproven(checkpoint, runId),
    watermark: undefined,
    lastFullScanAt: undefined,
    lastVerdict: undefined,
    rowsDeclared: undefined,
    fullRefreshDue: undefined,
    wholeAt: undefined,
    provedFrom: undefined,
    counts: undefined,
  };
}
