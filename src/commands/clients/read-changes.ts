import { chmodSync, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolders } from '../../files/make-folders.ts';
import { selectStreams } from '../../config/select-streams.ts';
import type { ChangePosition, ClientStream, StreamDelivery } from '../../model/client-stream.ts';
import type { Clock } from '../../model/clock.ts';
import { LockedError } from '../../model/errors.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import {
  CHANGE_LOG,
  holdsUnmasked,
  openChangeLog,
  PUBLISHED,
  recordChanges,
  recordWhole,
  type RecordedStream,
} from '../../warehouse/change-log.ts';
import { DamagedFileError } from '../../warehouse/database-errors.ts';
import type { Database } from '../../warehouse/database.ts';
import { checkReadable } from '../../warehouse/check-readable.ts';
import {
  assertLakeHas,
  holdsState,
  lakeOf,
  openOwnPublished,
  withPublished,
} from '../../warehouse/query-published.ts';
import { removeDatabase } from '../../warehouse/rewrite-file.ts';
import { readSentRows } from '../../warehouse/sent-rows.ts';
import { describeStreams, type DescribedStream, nameMasks } from './describe-streams.ts';

/** Which rows of a stream a client wants. */
export interface DeliveryRequest {
  readonly stream: string;
  /** Names of columns; undefined for all. */
  readonly columns?: readonly string[] | undefined;
  /** Names of columns that the client keeps, if it drops others; undefined for those above. */
  readonly kept?: ReadonlySet<string> | undefined;
  /** Where the client is; undefined if it has nothing yet. */
  readonly from: ChangePosition | undefined;
  /** All rows, whatever the client has. */
  readonly wantsWhole: boolean;
}

/** Reads what changed in the published tables. */
export interface ChangeReader {
  readonly streams: readonly ClientStream[];
  /** Finds what a client has to receive; undefined for a stream without a table. */
  readonly deliver: (request: DeliveryRequest) => Promise<StreamDelivery | undefined>;
}

/** The streams that are published, with their columns; empty before the first publish. */
export async function listClientStreams(
  settings: OfflineSettings,
  names?: readonly string[],
): Promise<readonly ClientStream[]> {
  const streams = selectStreams(settings, names);
  if (!existsSync(settings.readersFile)) return [];
  const described = await withPublished(settings, (database) => describeStreams(database, streams));
  return described.map(({ stream }) => stream);
}

/**
 * Opens the published tables and the log of their changes for one client.
 *
 * @throws LockedError while another client reads; StorageError for a lake with missing or damaged files
 */
export async function withChanges<T>(
  settings: OfflineSettings,
  { clock }: { readonly clock: Clock },
  read: (reader: ChangeReader) => Promise<T>,
): Promise<T> {
  if (!existsSync(settings.readersFile))
    return read({ streams: [], deliver: () => Promise.resolve(undefined) });
  // It says what is wrong with a file of another program.
  await (await openOwnPublished(settings.readersFile)).release();
  const database = await openLog(settings);
  try {
    await database.run(`USE ${PUBLISHED}`);
    await assertWhole(database, settings.readersFile);
    const described = await describeStreams(database, settings.streams);
    await database.run('USE work');
    const deliver = (request: DeliveryRequest) => {
      const found = described.find(({ stream }) => stream.name === request.stream);
      return Promise.resolve(found && deliverStream(database, settings, { found, request, clock }));
    };
    return await read({ streams: described.map(({ stream }) => stream), deliver });
  } finally {
    await database.release();
  }
}

/** A log that is damaged, or has what is hidden by now, is removed: clients receive all rows again. */
async function openLog({ stateDir, readersFile, streams }: OfflineSettings): Promise<Database> {
  const spillFolder = join(stateDir, 'tmp');
  makeFolders(spillFolder, 0o700);
  const file = join(stateDir, CHANGE_LOG);
  const places = { file, published: readersFile, lake: lakeOf(readersFile), spillFolder };
  const masks = new Map(streams.map((stream) => [stream.name, nameMasks(stream)]));
  const open = async () => {
    const opened = await openChangeLog(places);
    chmodSync(file, 0o600);
    try {
      await checkReadable(opened);
      return opened;
    } catch (error) {
      await opened.release();
      throw error;
    }
  };
  const database = await open().catch((thrown: unknown) => {
    if (thrown instanceof DamagedFileError) return undefined;
    throw thrown;
  });
  if (database !== undefined && !(await holdsUnmasked(database, masks))) return database;
  await database?.release();
  await removeDatabase(file);
  return open();
}

/** Rows that a lake lost would look deleted, and damaged ones changed. */
async function assertWhole(database: Database, readersFile: string): Promise<void> {
  if (await holdsState(database)) await assertLakeHas(database, readersFile, { readsBytes: true });
}

interface DeliveryScope {
  readonly found: DescribedStream;
  readonly request: DeliveryRequest;
  readonly clock: Clock;
}

async function deliverStream(
  database: Database,
  { readersFile }: OfflineSettings,
  { found: { stream, isMarkable }, request, clock }: DeliveryScope,
): Promise<StreamDelivery> {
  const moment = { nowMs: clock.now(), from: request.from };
  const logged =
    stream.key === undefined ? undefined : await recordChanges(database, stream, { isMarkable, ...moment });
  const columns = stream.columns.filter(({ name }) => request.columns?.includes(name) ?? true);
  const selection = { stream, columns, isMarkable };
  const stamp = stampOf(readersFile);
  const guard = (rows: StreamDelivery['rows']) => untilReplaced(rows, stream.name, readersFile, stamp);
  if (logged === undefined)
    return {
      stream,
      isWhole: true,
      again:
        stream.key === undefined ? undefined : `rows share the key (${stream.key.join(', ')}) at the moment`,
      position: { log: 'whole', version: await recordWhole(database, stream, moment) },
      rows: guard(readSentRows(database, { ...selection, after: undefined, deletedAfter: undefined })),
    };
  const { log, version } = logged;
  const kept = request.kept ?? new Set(columns.map(({ name }) => name));
  const without = stream.columns.map(({ name }) => name).filter((name) => !kept.has(name));
  const again = request.from && (explainAgain(request.from, logged) ?? explainMore(request.from, without));
  const isWhole = request.wantsWhole || request.from === undefined || again !== undefined;
  const after = isWhole ? undefined : request.from?.version;
  const deletedAfter = request.wantsWhole ? undefined : again === undefined ? after : 0;
  return {
    stream,
    isWhole,
    again: request.wantsWhole ? undefined : again,
    position: { log, version, ...(without.length > 0 && { without }) },
    rows: guard(readSentRows(database, { ...selection, after, deletedAfter })),
  };
}

/** Why a client cannot continue from where it is; undefined if it can. */
function explainAgain(from: ChangePosition, logged: RecordedStream): string | undefined {
  if (from.log !== logged.log)
    return 'the state is not of the change log here: it is of another state folder, or the key or the masks of the table changed, or the log was lost';
  if (from.version < logged.oldest)
    return 'the state is older than 90 days, for which the keys of deleted rows are kept';
  if (!logged.versions.has(from.version))
    return 'the state is not of a version of the change log here, which was restored from an older copy';
  return undefined;
}

/** Rows that did not change lack columns that the client did not take before. */
function explainMore({ without = [] }: ChangePosition, left: readonly string[]): string | undefined {
  const more = without.filter((name) => !left.includes(name));
  return more.length === 0 ? undefined : `the catalog did not have ${more.join(', ')} before`;
}

/** A lake's views read its files while rows are sent: a publish in between would mix two versions. */
async function* untilReplaced(
  rows: StreamDelivery['rows'],
  stream: string,
  readersFile: string,
  before: string | undefined,
): StreamDelivery['rows'] {
  yield* rows;
  if (stampOf(readersFile) === before) return;
  throw new LockedError(`${stream}: another run published while its rows were sent`, {
    code: 'state_locked',
    hint: 'Read again: it sends what is missing.',
    context: { stream },
  });
}

/** Changes when a lake is published; a DuckDB file that is open stays as it is. */
function stampOf(readersFile: string): string | undefined {
  if (lakeOf(readersFile) === undefined) return undefined;
  const { ino, mtimeMs } = statSync(readersFile);
  return `${ino} ${mtimeMs}`;
}
