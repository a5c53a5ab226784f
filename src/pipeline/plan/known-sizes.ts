import { existsSync } from 'node:fs';
import { readCheckpoints } from '../../../state/checkpoints.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { type Checkpoint, nameScan, type Stream } from '../../model/stream.ts';
import { quoteIdentifier } from '../../warehouse/identifiers.ts';
import { openOwnPublished } from '../../warehouse/query-published.ts';
import type { ScanPlan } from '../scan-plan.ts';
import { listUnsettled, withoutFreshness } from './last-attempts.ts';

/** What earlier runs learned, from the published file. */
export interface Known {
  readonly checkpoints: ReadonlyMap<string, Checkpoint>;
  /** Rows of the published table from a cursor date on. */
  readonly countFrom: (stream: Stream, column: string, from: string) => Promise<number | undefined>;
}

export async function readKnown(settings: OfflineSettings): Promise<Known> {
  const path = settings.duckdbPath;
  if (!existsSync(path)) return { checkpoints: new Map(), countFrom: () => Promise.resolve(undefined) };
  const database = await openOwnPublished(path);
  try {
    const checkpoints = await readCheckpoints(database);
    const unsettled = listUnsettled(settings.stateDir);
    return {
      checkpoints: new Map(
        checkpoints.map((held) => [nameScan(held.stream, held.slice), withoutFreshness(held, unsettled)]),
      ),
      countFrom,
    };
  } finally {
    await database.release();
  }

  async function countFrom(stream: Stream, column: string, from: string): Promise<number | undefined> {
    const reader = await openOwnPublished(path);
    try {
      return await reader.count(
        `SELECT count(*) FROM main.${quoteIdentifier(stream.table)} WHERE ${quoteIdentifier(column)} >= $1::DATE
           ${stream.slice === undefined ? '' : 'AND _slice = $2'}`,
        stream.slice === undefined ? [from] : [from, stream.slice.id],
      );
    } catch {
      return undefined;
    } finally {
      await reader.release();
    }
  }
}

/** Rows a scan would read, by what earlier ones saw; undefined where nobody knows. */
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
