import { readCheckpoint } from '../../../state/checkpoints.ts';
import type { ArchivedScan } from '../../archive/archived-scan.ts';
import { sliceIdOf, type Stream } from '../../model/stream.ts';
import type { Loading } from '../../run/run-context.ts';
import { isOfSlice } from '../../warehouse/live-rows.ts';
import type { Database } from '../../warehouse/database.ts';
import { readColumns } from '../../warehouse/evolve-table.ts';
import type { Rebuilt } from '../../warehouse/fit-column.ts';
import { quoteLiteral } from '../../warehouse/identifiers.ts';
import { collectMarked, dropRead } from '../../warehouse/marked-rows.ts';
import type { SliceArchive } from './find-archive.ts';

/** Rows of the older table that are not expected to come from the archive, and that are compared by one key. */
export interface EarlierRows {
  readonly key: readonly string[] | undefined;
  /** The archives of its slices. */
  readonly archives: readonly SliceArchive[];
  /** Condition for the rows `o` that count. */
  readonly candidates: string;
  /** Condition for those of the marked rows `o` that are compared with them. */
  readonly marked: string;
}

/**
 * Notes which rows of the older table a scan of the archive marked as deleted: not all of them were read by a scan before
 * it. The first one does not delete what it has not read where it is not verified, or where `deletes` was `keep`.
 */
export async function noteMarked(
  { database }: Loading,
  older: string,
  archives: readonly SliceArchive[],
): Promise<void> {
  const isSliced = await isSlicedBy(database, older, archives);
  const firsts = archives.flatMap(({ scans }) => scans.slice(0, 1));
  const conditions = archives.map(({ stream, scans }) => {
    const later = isSliced ? scans.slice(1) : scans.filter((scan) => !firsts.includes(scan));
    const marked = `o._run_id IN (${listIds(later)})`;
    if (later.length === 0) return 'false';
    return isSliced ? `(${isOfSlice('o', sliceIdOf(stream))} AND ${marked})` : marked;
  });
  await collectMarked(database, older, conditions.join(' OR '));
}

/** Takes those out that the table has once a scan of a slice was loaded. */
export async function noteRead({ database }: Loading, tables: Rebuilt, slice: Stream): Promise<void> {
  const key = (await readCheckpoint(database, slice.name, sliceIdOf(slice)))?.keyFields;
  await dropRead(database, tables, { key, slice: sliceIdOf(slice) });
}

async function isSlicedBy(
  database: Database,
  older: string,
  archives: readonly SliceArchive[],
): Promise<boolean> {
  const columns = await readColumns(database, older);
  return columns.has('_slice') && archives.every((archive) => sliceIdOf(archive.stream) !== '');
}

function listIds(scans: readonly ArchivedScan[]): string {
  return scans.map(({ runId }) => quoteLiteral(runId)).join(', ');
}

/**
 * Lists the rows of the older table that are not expected to come from the archive. The slices of a stream may have
 * different keys, or none, if those are learned.
 */
export async function listEarlier(
  context: Loading,
  stream: Stream,
  archives: readonly SliceArchive[],
  older: string,
): Promise<readonly EarlierRows[]> {
  const { database } = context;
  const isMarkable = (await readColumns(database, older)).has('_deleted_at');
  const isSliced = await isSlicedBy(database, older, archives);
  const parts: EarlierRows[] = [];
  for (const archive of archives) {
    const own = isSliced ? isOfSlice('o', sliceIdOf(archive.stream)) : 'true';
    // Slices share the ids of runs: the archive of another one may reach further back.
    const scans = isSliced ? archive.scans : archives.flatMap((one) => one.scans);
    const [reference = archive] = isSliced ? [archive] : archives;
    const key = await readKey(context, reference);
    // Without a key a scan replaces what it covers: only rows that are marked as deleted outlive it.
    const replaces = key === undefined && stream.write !== 'append';
    const outlives = describeOutliving(archive, scans, { replaces, isMarkable });
    parts.push({ key, archives: [archive], candidates: `(${own}) AND (${outlives})`, marked: own });
  }
  const [first] = parts;
  if (isSliced && first !== undefined) {
    // Rows of other slices are in no archive that is read here.
    const rest = `NOT (${parts.map(({ marked }) => marked).join(' OR ')})`;
    parts.push({ key: first.key, archives: [], candidates: rest, marked: rest });
  }
  return joinByKey(parts);
}

function describeOutliving(
  { scans: [first] }: SliceArchive,
  scans: readonly ArchivedScan[],
  { replaces, isMarkable }: { readonly replaces: boolean; readonly isMarkable: boolean },
): string {
  if (first === undefined) return 'false';
  // Rows that the archive once gave and no longer gives under the current rules are quarantined, deleted, or merged.
  const isOlder = `o._run_id NOT IN (${listIds(scans)})`;
  if (!isMarkable) return replaces ? 'false' : isOlder;
  const at = quoteLiteral(new Date(first.loadedAtMs).toISOString());
  const outlivesIt = replaces ? `${isOlder} AND o._deleted_at < ${at}::TIMESTAMPTZ` : isOlder;
  // The first scan did not have the rows that it marked, so no scan of the archive does.
  const markedByIt = `o._run_id = ${quoteLiteral(first.runId)} AND o._deleted_at IS NOT NULL`;
  return `(${outlivesIt}) OR (${markedByIt})`;
}

function joinByKey(parts: readonly EarlierRows[]): readonly EarlierRows[] {
  const groups = new Map<string, EarlierRows>();
  for (const part of parts) {
    const name = JSON.stringify(part.key ?? null);
    const group = groups.get(name);
    groups.set(
      name,
      group === undefined
        ? part
        : {
            key: part.key,
            archives: [...group.archives, ...part.archives],
            candidates: `${group.candidates} OR (${part.candidates})`,
            marked: `${group.marked} OR (${part.marked})`,
          },
    );
  }
  return [...groups.values()];
}

async function readKey(
  { database }: Loading,
  { stream }: SliceArchive,
): Promise<readonly string[] | undefined> {
  return (await readCheckpoint(database, stream.name, sliceIdOf(stream)))?.keyFields;
}
