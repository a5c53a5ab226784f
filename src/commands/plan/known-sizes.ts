import { readCheckpoints } from '../../../state/checkpoints.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { type Checkpoint, nameScan, type Stream } from '../../model/stream.ts';
import { quoteIdentifier } from '../../warehouse/identifiers.ts';
import type { Database } from '../../warehouse/database.ts';
import type { ScanPlan } from '../../plan/scan-plan.ts';
import { withHeld, withState } from '../../storage/with-held.ts';
import { readRunFile } from '../../../state/run-file.ts';
import { listUnpublished } from '../../plan/unpublished-streams.ts';
import { listUnsettled, withoutFreshness } from '../../plan/last-attempts.ts';

/** What earlier runs learned. */
export interface Known {
  readonly checkpoints: ReadonlyMap<string, Checkpoint>;
  /** Rows of the table from a cursor date on. */
  readonly countFrom: (stream: Stream, column: string, from: string) => Promise<number | undefined>;
}

export async function readKnown(settings: OfflineSettings): Promise<Known> {
  // What is committed, but not published yet, is in the work file alone: the next sync continues from there.
  const isAhead = listUnpublished(readRunFile(settings.stateDir)).size > 0;
  const read = isAhead ? withState : withHeld;
  const checkpoints = (await read(settings, readCheckpoints)) ?? [];
  const unsettled = listUnsettled(settings.stateDir);
  return {
    checkpoints: new Map(
      checkpoints.map((held) => [nameScan(held.stream, held.slice), withoutFreshness(held, unsettled)]),
    ),
    countFrom: (stream, column, from) =>
      read(settings, (database) => countRowsFrom(database, stream, column, from)).catch(() => undefined),
  };
}

function countRowsFrom(database: Database, stream: Stream, column: string, from: string): Promise<number> {
  return database.count(
    `SELECT count(*) FROM main.${quoteIdentifier(stream.table)} WHERE ${quoteIdentifier(column)} >= $1::DATE
       ${stream.slice === undefined ? '' : 'AND _slice = $2'}`,
    stream.slice === undefined ? [from] : [from, stream.slice.id],
  );
}

/** Rows a scan would read, judging by earlier ones; undefined if unknown. */
export async function estimateRows(
  stream: Stream,
  scan: ScanPlan,
  checkpoint: Checkpoint | undefined,
  known: Known,
): Promise<number | undefined> {
  if (scan.mode === 'full' || scan.from === undefined) return checkpoint?.rowsDeclared;
  return checkpoint?.cursorField === undefined
    ? undefined
    : known.countFrom(stream, checkpoint.cursorField, scan.from);
}
