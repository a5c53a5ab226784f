import { readCheckpoint, readContract, writeContract } from '../../../state/checkpoints.ts';
import type { ArchivedScan } from '../../archive/archived-scan.ts';
import { startOver } from '../../load/rehashed-key.ts';
import { describeVersions } from '../../load/unseen-records.ts';
import { type LearnedColumn, sliceIdOf, type Stream } from '../../model/stream.ts';
import { companionPath } from '../../schema/field-paths.ts';
import { pathKey } from '../../schema/name-columns.ts';
import {
  addColumns,
  countCandidates,
  dropMissingRows,
  findMissingRows,
  fitMissingRows,
  insertMissingRows,
  isOfSlice,
} from '../../warehouse/carry-rows.ts';
import type { Database } from '../../warehouse/database.ts';
import { readColumns } from '../../warehouse/evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import { collectMarked, dropCounted, dropQuarantined, dropRead } from '../../warehouse/marked-rows.ts';
import type { ReplacedTable } from '../../warehouse/match-older.ts';
import { incomplete, type SliceArchive } from './find-archive.ts';
import type { Loading } from '../../run/run-context.ts';

export interface CarryOptions {
  readonly older: string;
  readonly newer: string;
  /** Columns of the older table. */
  readonly contract: readonly LearnedColumn[];
  /** Those that were just cleared. */
  readonly cleared: ReadonlySet<string>;
  /** Do not keep rows that are not in the archive. */
  readonly archivedOnly: boolean;
}

/**
 * Keeps rows that are not in the archived scans: those that left the source before the archive starts, and those of
 * removed slices. They are unchanged, in the current columns; the next full scan decides whether to delete them.
 * Returns their number.
 */
export async function carryRows(
  context: Loading,
  stream: Stream,
  archives: readonly SliceArchive[],
  { older, newer, contract, cleared, archivedOnly }: CarryOptions,
): Promise<number> {
  if (archivedOnly) return 0;
  const { database, runId } = context;
  const key = await readKey(context, archives);
  const candidates = await listCandidates(context, stream, archives, { older, keyed: key !== undefined });
  const isRehashed = key?.some((name) => cleared.has(name)) === true;
  const isComparable =
    !isRehashed && (key === undefined || (await isKeyFormatSame(context, stream, key, contract)));
  if (!isComparable) await dropCounted(database, { older, newer });
  else if (key !== undefined) await dropUnaccepted(context, archives, { older, key });
  if ((await countCandidates(database, { older, candidates })) === 0) return 0;
  if (isRehashed) throw toRehashedRefusal(stream);
  const missing = isComparable
    ? await findMissingRows(database, { older, newer, key, candidates })
    : undefined;
  if (missing === undefined)
    throw toRefusal(
      stream,
      'with its current key, earlier rows cannot be distinguished from those of the archive',
    );
  if (missing > 0) {
    const { columns, lossy, extra } = await fitMissingRows(database, older, newer, cleared);
    if (lossy.length > 0)
      throw toRefusal(
        stream,
        `${missing} earlier rows are not in it, and their values do not fit the types that ${lossy.join(', ')} would have`,
      );
    await database.transaction(async () => {
      await addColumns(database, newer, extra);
      const values = extra.map(({ name, type }) => ({ name, type, value: quoteIdentifier(name) }));
      await insertMissingRows(database, newer, [...columns, ...values]);
      const learned = contract.filter(({ name }) => extra.some((one) => one.name === name));
      if (learned.length > 0) {
        const now = await readContract(database, stream.name);
        await writeContract(database, stream.name, [...now, ...learned], runId);
      }
    });
  }
  await dropMissingRows(database);
  return missing;
}

/** Rows that the archive gives are in quarantine where the current rules do not accept their records. */
async function dropUnaccepted(
  context: Loading,
  archives: readonly SliceArchive[],
  { older, key }: { readonly older: string; readonly key: readonly string[] },
): Promise<void> {
  for (const { stream } of archives) {
    const columns = await readContract(context.database, stream.name);
    const versions = describeVersions(context, stream, { key: { columns: key }, columns });
    await dropQuarantined(context.database, older, versions);
  }
}

/**
 * Whether rows of the older table have keys in the current format. Timestamps and numbers do not if the column is now
 * text: the older table does not store how the API wrote them. Nor do values that are in a companion in only one of
 * the tables.
 */
async function isKeyFormatSame(
  { database }: Loading,
  stream: Stream,
  key: readonly string[],
  olds: readonly LearnedColumn[],
): Promise<boolean> {
  const news = await readContract(database, stream.name);
  return key.every((name) => {
    const before = olds.find((column) => column.name === name);
    const now = news.find((column) => column.name === name);
    if (before === undefined || now === undefined) return true;
    if (before.type !== now.type && SPELLED_BY_TYPE.test(before.type)) return false;
    return hasCompanion(before, olds) === hasCompanion(now, news);
  });
}

const SPELLED_BY_TYPE = /^(?:TIMESTAMP|DOUBLE|DECIMAL|JSON)/;

function hasCompanion({ path }: LearnedColumn, columns: readonly LearnedColumn[]): boolean {
  const beside = pathKey(companionPath(path));
  return columns.some((other) => pathKey(other.path) === beside);
}

async function readKey(
  { database }: Loading,
  archives: readonly SliceArchive[],
): Promise<readonly string[] | undefined> {
  const [first] = archives;
  if (first === undefined) return undefined;
  return (await readCheckpoint(database, first.stream.name, sliceIdOf(first.stream)))?.keyFields;
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
    return isSliced ? `(${isOfSlice(sliceIdOf(stream))} AND ${marked})` : marked;
  });
  await collectMarked(database, older, conditions.join(' OR '));
}

/** Takes those out that the table has once a scan of a slice was loaded. */
export async function noteRead({ database }: Loading, tables: ReplacedTable, slice: Stream): Promise<void> {
  const key = (await readCheckpoint(database, slice.name, sliceIdOf(slice)))?.keyFields;
  await dropRead(database, tables, key);
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

/** Conditions for the rows of the older table that are not expected to come from the archive. */
async function listCandidates(
  { database }: Loading,
  stream: Stream,
  archives: readonly SliceArchive[],
  { older, keyed }: { readonly older: string; readonly keyed: boolean },
): Promise<readonly string[]> {
  const columns = await readColumns(database, older);
  const isMarkable = columns.has('_deleted_at');
  const isSliced = await isSlicedBy(database, older, archives);
  const outlives = (archive: SliceArchive): string | undefined => {
    const [first] = archive.scans;
    if (first === undefined) return undefined;
    // Rows that the archive once gave and no longer gives under the current rules are quarantined, deleted, or merged.
    // Slices share the ids of runs: the archive of another one may reach further back.
    const scans = isSliced ? archive.scans : archives.flatMap((one) => one.scans);
    const isOlder = `o._run_id NOT IN (${listIds(scans)})`;
    // Without a key a scan replaces what it covers: only rows that are marked as deleted outlive it.
    const replaces = !keyed && stream.write !== 'append';
    if (!isMarkable) return replaces ? undefined : isOlder;
    const at = quoteLiteral(new Date(first.loadedAtMs).toISOString());
    const outlivesIt = replaces ? `${isOlder} AND o._deleted_at < ${at}::TIMESTAMPTZ` : isOlder;
    // The first scan did not have the rows that it marked, so no scan of the archive does.
    const markedByIt = `o._run_id = ${quoteLiteral(first.runId)} AND o._deleted_at IS NOT NULL`;
    return `((${outlivesIt}) OR (${markedByIt}))`;
  };
  const parts = archives.map((archive) => ({
    slice: sliceIdOf(archive.stream),
    outlives: outlives(archive),
  }));
  if (!isSliced) return parts.flatMap(({ outlives }) => outlives ?? []);
  const rebuilt = parts.map(({ slice }) => isOfSlice(slice));
  return [
    // Rows of other slices are in no archive that is read here.
    `NOT (${rebuilt.join(' OR ')})`,
    ...parts.flatMap((part, at) =>
      part.outlives === undefined ? [] : [`${rebuilt[at] ?? ''} AND ${part.outlives}`],
    ),
  ];
}

/** A full refresh would be refused as well: its rows could not be matched either. */
function toRehashedRefusal(stream: Stream) {
  return incomplete(
    stream,
    'its key is hashed from now on, and earlier rows that are not in it have the key without the hash',
    `\`sluice rebuild ${stream.name} --archived-only\` leaves these rows out; or start over: ${startOver(stream)}`,
  );
}

function toRefusal(stream: Stream, reason: string) {
  return incomplete(stream, `${reason}. --archived-only rebuilds the table without them`);
}
