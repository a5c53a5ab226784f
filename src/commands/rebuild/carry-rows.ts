import { readContract, writeContract } from '../../../state/checkpoints.ts';
import { startOver } from '../../load/rehashed-key.ts';
import { describeVersions } from '../../load/unseen-records.ts';
import type { LearnedColumn, Stream } from '../../model/stream.ts';
import type { Loading } from '../../run/run-context.ts';
import { companionPath } from '../../schema/field-paths.ts';
import { pathKey } from '../../schema/name-columns.ts';
import {
  addColumns,
  beginMissingRows,
  countCandidates,
  dropMissingRows,
  findMissingRows,
  fitMissingRows,
  insertMissingRows,
  takeBackRows,
} from '../../warehouse/carry-rows.ts';
import { listSeen, type Rebuilt } from '../../warehouse/fit-column.ts';
import { quoteIdentifier } from '../../warehouse/identifiers.ts';
import { dropCounted, dropQuarantined } from '../../warehouse/marked-rows.ts';
import { type EarlierRows, listEarlier } from './earlier-rows.ts';
import { adviseText, incomplete, type SliceArchive } from './find-archive.ts';

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
  const rebuilt: Rebuilt = { older, newer, seen: listSeen(contract) };
  await beginMissingRows(database, older);
  let missing = 0;
  for (const group of await listEarlier(context, stream, archives, older))
    missing += await findMissing(context, stream, group, { ...rebuilt, contract, cleared });
  if (missing > 0) {
    const { columns, lossy, extra } = await fitMissingRows(database, rebuilt, cleared);
    if (lossy.length > 0)
      throw incomplete(
        stream,
        `${missing} earlier rows are not in it, and their values do not fit the types that ${lossy.join(', ')} would have`,
        `${adviseText(stream, lossy)}; --archived-only rebuilds the table without them`,
      );
    await database.transaction(async () => {
      await addColumns(database, newer, extra);
      const values = extra.map(({ name, type }) => ({ name, type, value: quoteIdentifier(name) }));
      await insertMissingRows(database, newer, [...columns, ...values]);
      const learned = contract.filter(({ name }) => extra.some((one) => one.name === name));
      if (learned.length > 0) {
        const now = await readContract(database, stream.name);
        // What held only nulls in the archive is known already.
        const others = now.filter(({ name }) => !learned.some((one) => one.name === name));
        await writeContract(database, stream.name, [...others, ...learned], runId);
      }
    });
  }
  await dropMissingRows(database);
  return missing;
}

/** Finds the missing ones among rows that are compared by one key, and returns their number. */
async function findMissing(
  context: Loading,
  stream: Stream,
  group: EarlierRows,
  { contract, cleared, ...rebuilt }: Rebuilt & Pick<CarryOptions, 'contract' | 'cleared'>,
): Promise<number> {
  const { database } = context;
  const { key } = group;
  const isRehashed = key?.some((name) => cleared.has(name)) === true;
  const isComparable =
    !isRehashed && (key === undefined || (await isKeyFormatSame(context, stream, key, contract)));
  if (!isComparable) await dropCounted(database, rebuilt, group.marked);
  else if (key !== undefined) await dropUnaccepted(context, group.archives, { older: rebuilt.older, key });
  if ((await countCandidates(database, rebuilt.older, group)) === 0) return 0;
  if (isRehashed) throw toRehashedRefusal(stream);
  const rows = { ...rebuilt, ...group };
  const missing = isComparable ? await findMissingRows(database, rows) : undefined;
  if (missing !== undefined) {
    // Such a stream keeps rows as they were first read.
    const isKept = stream.write === 'append' && key !== undefined;
    return missing + (isKept ? await takeBackRows(database, { ...rows, key }, cleared) : 0);
  }
  throw toRefusal(
    stream,
    'with its current key, earlier rows cannot be distinguished from those of the archive',
  );
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
