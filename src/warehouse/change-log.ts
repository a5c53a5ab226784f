import { randomUUID } from 'node:crypto';
import type { ChangePosition, ClientColumn, ClientStream } from '../model/client-stream.ts';
import type { SqlSession } from '../model/sql.ts';
import { Database } from './database.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { describeHash, describeKey } from './row-json.ts';

/** The log of changes in a state folder. */
export const CHANGE_LOG = 'changes.duckdb';

/** Alias of the published file, next to the log. */
export const PUBLISHED = 'published';

/** Keys of deleted rows are kept this long, for clients that come back late. */
const KEPT_DELETED_MS = 90 * 86_400_000;

const HERE = 'temp."~here"';
const MARKED = 'temp."~marked"';
const CHANGED = 'temp."~changed"';

/** The files that a log is used with, as absolute paths. */
export interface ChangeLogPlaces {
  readonly file: string;
  readonly published: string;
  /** The lake whose files the published views read; undefined for a file with tables. */
  readonly lake: string | undefined;
  readonly spillFolder: string;
}

/**
 * Opens the log of what clients were sent: the key and a hash of each row, and the version at which it changed last.
 * Rows are compared by value, so it does not matter how the table came to hold them.
 */
export async function openChangeLog({
  file,
  published,
  lake,
  spillFolder,
}: ChangeLogPlaces): Promise<Database> {
  const attachMore = (session: SqlSession) =>
    session.run(`ATTACH ${quoteLiteral(published)} AS ${PUBLISHED} (READ_ONLY)`);
  const views = lake === undefined ? [] : [lake];
  const database = await Database.open({ file, folders: [spillFolder], views, attachMore });
  await database.run('CREATE SCHEMA IF NOT EXISTS work.keys');
  await database.run(
    'CREATE TABLE IF NOT EXISTS work.main.streams (name VARCHAR, log VARCHAR, masks VARCHAR, shape VARCHAR, oldest BIGINT, version BIGINT)',
  );
  await database.run('CREATE TABLE IF NOT EXISTS work.main.versions (name VARCHAR, version BIGINT)');
  return database;
}

/** The log of one stream, as up to date as the published table. */
export interface LoggedStream extends ChangePosition {
  /** Versions before it are too old to say what was deleted since. */
  readonly oldest: number;
}

/** A log that has its current version, and those that clients may still be at. */
export interface RecordedStream extends LoggedStream {
  /** A restored log has not all that were given out: a client at another one knows rows that the log does not. */
  readonly versions: ReadonlySet<number>;
}

/** Whether the log may have keys that a mask hides by now. */
export async function holdsUnmasked(
  database: Database,
  masks: ReadonlyMap<string, string>,
): Promise<boolean> {
  const rows = await database.all('SELECT name, masks FROM work.main.streams');
  return rows.some((row) => (masks.get(String(row['name'])) ?? row['masks']) !== row['masks']);
}

/** Name of a stream's log, as SQL. */
export function nameKeys({ table }: ClientStream): string {
  return `work.keys.${quoteIdentifier(table)}`;
}

/** A published table, as SQL. */
export function namePublished({ table }: ClientStream): string {
  return `${PUBLISHED}.main.${quoteIdentifier(table)}`;
}

/** The columns of a stream's key. */
export function listKeyColumns({ columns, key = [] }: ClientStream): readonly ClientColumn[] {
  return key.flatMap((name) => columns.filter((column) => column.name === name));
}

/** Who reads, and when. */
export interface ReadMoment {
  readonly nowMs: number;
  /** Where the client is; undefined if it has nothing yet, or does not know. */
  readonly from: ChangePosition | undefined;
}

/**
 * Records what changed in a published table since the last call, under a new version.
 *
 * @param isMarkable whether the table has rows that are marked as deleted
 * @returns undefined if rows share a key, so that nothing is known of single rows
 */
export function recordChanges(
  database: Database,
  stream: ClientStream,
  { isMarkable, ...moment }: ReadMoment & { readonly isMarkable: boolean },
): Promise<RecordedStream | undefined> {
  const { nowMs, from } = moment;
  return database.transaction(async () => {
    const live = isMarkable ? 't._deleted_at IS NULL' : 'true';
    const key = describeKey(listKeyColumns(stream));
    const table = namePublished(stream);
    await database.run(
      `CREATE OR REPLACE TEMP TABLE "~here" AS SELECT ${key} AS key, ${describeHash(stream.columns)} AS hash FROM ${table} t WHERE ${live}`,
    );
    if ((await database.count(`SELECT count(*) - count(DISTINCT key) FROM ${HERE}`)) > 0) return undefined;
    await database.run(
      isMarkable
        ? `CREATE OR REPLACE TEMP TABLE "~marked" AS SELECT ${key} AS key, max(t._deleted_at) AS deleted_at FROM ${table} t WHERE NOT (${live}) GROUP BY ALL`
        : 'CREATE OR REPLACE TEMP TABLE "~marked" (key VARCHAR, deleted_at TIMESTAMPTZ)',
    );
    const logged = await openStream(database, stream);
    const version = nextVersion(logged, moment);
    const isChanged = await writeChanges(database, stream, { version, nowMs });
    const oldest = await pruneDeleted(database, stream, logged, nowMs);
    // Rows of a new or a restored log are newer than all that the client has, and so is a table that is sent whole.
    const isNew = isChanged || from === undefined || from.version > logged.version;
    const found = { log: logged.log, version: isNew ? version : logged.version, oldest };
    await database.run(`UPDATE work.main.streams SET version = $1, oldest = $2 WHERE name = $3`, [
      found.version,
      found.oldest,
      stream.name,
    ]);
    for (const temporary of [HERE, MARKED, CHANGED]) await database.run(`DROP TABLE ${temporary}`);
    return { ...found, versions: await recordVersion(database, stream, found) };
  });
}

/** Records that a table is sent whole whose rows cannot be told apart. Returns its version. */
export function recordWhole(database: Database, stream: ClientStream, moment: ReadMoment): Promise<number> {
  return database.transaction(async () => {
    const version = nextVersion(await openStream(database, stream), moment);
    await database.run('UPDATE work.main.streams SET version = $1 WHERE name = $2', [version, stream.name]);
    return version;
  });
}

/** Above all that were given out, also while the clock was ahead, and above that of the client: its log may be lost. */
function nextVersion({ version }: LoggedStream, { nowMs, from }: ReadMoment): number {
  return Math.max(version + 1, nowMs, (from?.version ?? 0) + 1);
}

/** The log of a stream; where its key is not what it was, a new one, which goes on from the version of the old one. */
async function openStream(database: Database, stream: ClientStream): Promise<LoggedStream> {
  const shape = JSON.stringify(listKeyColumns(stream).map(({ name, type }) => [name, type]));
  const [known] = await database.all(
    'SELECT log, oldest, version, shape FROM work.main.streams WHERE name = $1',
    [stream.name],
  );
  const version = Number(known?.['version'] ?? 0);
  if (known?.['shape'] === shape)
    return { log: String(known['log']), oldest: Number(known['oldest']), version };
  const log = randomUUID();
  await database.run(`DROP TABLE IF EXISTS ${nameKeys(stream)}`);
  await database.run(
    `CREATE TABLE ${nameKeys(stream)} (key VARCHAR, hash UBIGINT, version BIGINT, deleted_at TIMESTAMPTZ)`,
  );
  for (const table of ['streams', 'versions'])
    await database.run(`DELETE FROM work.main.${table} WHERE name = $1`, [stream.name]);
  await database.run('INSERT INTO work.main.streams VALUES ($1, $2, $3, $4, 0, $5)', [
    stream.name,
    log,
    stream.masks,
    shape,
    version,
  ]);
  return { log, oldest: 0, version };
}

/** Writes the keys of new, changed and deleted rows; true if there are some. */
async function writeChanges(
  database: Database,
  stream: ClientStream,
  { version, nowMs }: { readonly version: number; readonly nowMs: number },
): Promise<boolean> {
  const keys = nameKeys(stream);
  await database.run(
    `CREATE OR REPLACE TEMP TABLE "~changed" AS
       SELECT h.key, h.hash, NULL::TIMESTAMPTZ AS deleted_at FROM ${HERE} h LEFT JOIN ${keys} k ON h.key = k.key
         WHERE k.key IS NULL OR k.deleted_at IS NOT NULL OR k.hash <> h.hash
       UNION ALL SELECT k.key, 0::UBIGINT, coalesce(m.deleted_at, $1::TIMESTAMPTZ) FROM ${keys} k
         LEFT JOIN ${MARKED} m ON k.key = m.key WHERE k.deleted_at IS NULL AND k.key NOT IN (SELECT key FROM ${HERE})
       UNION ALL SELECT m.key, 0::UBIGINT, m.deleted_at FROM ${MARKED} m
         WHERE m.key NOT IN (SELECT key FROM ${HERE}) AND m.key NOT IN (SELECT key FROM ${keys})`,
    [new Date(nowMs).toISOString()],
  );
  if ((await database.count(`SELECT count(*) FROM ${CHANGED}`)) === 0) return false;
  await database.run(`DELETE FROM ${keys} WHERE key IN (SELECT key FROM ${CHANGED})`);
  await database.run(`INSERT INTO ${keys} SELECT key, hash, ${version}::BIGINT, deleted_at FROM ${CHANGED}`);
  return true;
}

/** Adds the current version to those that clients may be at, and forgets those that are too old. */
async function recordVersion(
  database: Database,
  { name }: ClientStream,
  { version, oldest }: LoggedStream,
): Promise<ReadonlySet<number>> {
  const own = 'FROM work.main.versions WHERE name = $1';
  await database.run(`DELETE ${own} AND (version = $2 OR version < $3)`, [name, version, oldest]);
  await database.run('INSERT INTO work.main.versions VALUES ($1, $2)', [name, version]);
  const rows = await database.all(`SELECT version ${own}`, [name]);
  return new Set(rows.map((row) => Number(row['version'])));
}

/** Forgets keys that were deleted long ago. Returns the oldest version that still misses nothing. */
async function pruneDeleted(
  database: Database,
  stream: ClientStream,
  { oldest }: LoggedStream,
  nowMs: number,
): Promise<number> {
  const old = `deleted_at IS NOT NULL AND version < ${nowMs - KEPT_DELETED_MS}`;
  const last = await database.count(`SELECT coalesce(max(version), 0) FROM ${nameKeys(stream)} WHERE ${old}`);
  if (last === 0) return oldest;
  await database.run(`DELETE FROM ${nameKeys(stream)} WHERE ${old}`);
  return Math.max(oldest, last);
}
