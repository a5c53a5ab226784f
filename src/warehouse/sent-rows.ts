import type { ClientColumn, ClientStream, SentRow } from '../model/client-stream.ts';
import { StorageError } from '../model/errors.ts';
import { listKeyColumns, nameKeys, namePublished } from './change-log.ts';
import type { Database } from './database.ts';
import { describeKey, describeKeyMembers, describeMembers } from './row-json.ts';
import { formatCount, formatCountOf, verbOf } from '../text/format-count.ts';

/** Which rows of a published table are read. */
export interface SentSelection {
  readonly stream: ClientStream;
  /** Columns that the client wants. */
  readonly columns: readonly ClientColumn[];
  readonly isMarkable: boolean;
  /** Rows that changed after this version of the log; undefined for all rows. */
  readonly after: number | undefined;
  /** Keys that were deleted after this version; undefined for none. */
  readonly deletedAfter: number | undefined;
}

/**
 * Reads the keys of deleted rows, and then the rows, while the caller takes them.
 *
 * @throws StorageError if fewer or more came than there are: the caller has to read again
 */
export async function* readSentRows(
  database: Database,
  { stream, columns, isMarkable, after, deletedAfter }: SentSelection,
): AsyncGenerator<readonly SentRow[]> {
  const keyColumns = listKeyColumns(stream);
  const keys = nameKeys(stream);
  if (deletedAfter !== undefined) {
    const gone = `FROM ${keys} t WHERE t.deleted_at IS NOT NULL AND t.version > ${deletedAfter}`;
    const at = `strftime(t.deleted_at, '%Y-%m-%dT%H:%M:%S.%fZ')`;
    yield* readAll(database, stream, {
      select: `SELECT ${describeKeyMembers(keyColumns)}, ${at} ${gone}`,
      wanted: await database.count(`SELECT count(*) ${gone}`),
    });
  }
  const live = isMarkable ? 't._deleted_at IS NULL' : 'true';
  const changed = `FROM ${keys} WHERE deleted_at IS NULL AND version > ${after ?? 0}`;
  const rows = `FROM ${namePublished(stream)} t WHERE ${live} AND ${
    after === undefined ? 'true' : `${describeKey(keyColumns)} IN (SELECT key ${changed})`
  }`;
  yield* readAll(database, stream, {
    select: `SELECT ${describeMembers(columns)} ${rows}`,
    wanted: await database.count(`SELECT count(*) ${after === undefined ? rows : changed}`),
  });
}

/** A result that another statement ended has no error: only the count says so. */
async function* readAll(
  database: Database,
  { name }: ClientStream,
  { select, wanted }: { readonly select: string; readonly wanted: number },
): AsyncGenerator<readonly SentRow[]> {
  let count = 0;
  for await (const [members = [], times] of database.stream(select)) {
    count += members.length;
    yield members.map((text, row) => ({
      members: String(text),
      deletedAt: times === undefined ? undefined : String(times[row]),
    }));
  }
  if (count === wanted) return;
  throw new StorageError(
    `${name}: ${formatCountOf(count, 'row')} ${verbOf(count, 'was', 'were')} read to be sent, and ${verbOf(wanted, 'there is', 'there are')} ${formatCount(wanted)}`,
    {
      code: 'state_damaged',
      hint: 'Read again. If it stays, `sluice verify` says what is wrong with the published files.',
      context: { stream: name },
    },
  );
}
