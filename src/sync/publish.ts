import { existsSync, statSync } from 'node:fs';
import { readMeta } from '../../state/migrations.ts';
import { REWRITE } from '../../state/rewrite-mark.ts';
import { isPublishedFile, readPublishedRecord, writePublishedRecord } from '../../state/published-record.ts';
import { resolveLinks } from '../files/real-paths.ts';
import { toAbortError } from '../model/abort.ts';
import { PublishError, StorageError, type SyncError, toSyncError } from '../model/errors.ts';
import type { PublishedLake } from '../model/lake.ts';
import { publishLake } from '../publish/lake/publish-lake.ts';
import { publishDuckdbFile } from '../publish/publish-duckdb.ts';
import type { Database } from '../warehouse/database.ts';
import { DamagedFileError } from '../warehouse/database-errors.ts';
import { fingerprintFile } from '../warehouse/fingerprint-file.ts';
import { checkReadable } from '../warehouse/check-readable.ts';
import { rewriteFile } from '../warehouse/rewrite-file.ts';
import { prepareSecondLook, readGeneration } from '../storage/assert-lineage.ts';
import { listLakeTables } from '../storage/lake-tables.ts';
import { ownerOf } from '../storage/open-warehouse.ts';
import { isPublishedWhole } from '../storage/published-fault.ts';
import { workFile } from '../storage/state-folder.ts';
import type { RunContext } from '../run/run-context.ts';

/** What a run published, and where readers find it. */
export interface Published {
  readonly path: string;
  readonly bytes: number;
  readonly lake?: PublishedLake;
}

/** How publishing ended: of two destinations one can have failed while the other has the new rows. */
export interface PublishOutcome {
  /** Undefined if nothing was due, or nothing could be published. */
  readonly published: Published | undefined;
  readonly failure: SyncError | undefined;
}

/**
 * Publishes what is committed to every destination that does not have it yet, and closes the work file. Safe to
 * repeat: a crash between commit and publish loses nothing. If one destination fails, the other is still published.
 * Throws for a signal and for a damaged work file.
 */
export async function publishRun(context: RunContext): Promise<PublishOutcome> {
  const { database, settings, signal } = context;
  const meta = await readMeta(database);
  const generation = meta.get('generation');
  if (generation === undefined) return { published: undefined, failure: undefined };
  const { lakePath, publishesDuckdb, stateDir, duckdbPath } = settings;
  const isFileDue = publishesDuckdb && !(await isPublishedWhole(stateDir, duckdbPath, generation));
  let lake: PublishedLake | undefined;
  let failure: SyncError | undefined;
  try {
    if (lakePath !== undefined) lake = await publishToLake(context, lakePath, generation, meta.has(REWRITE));
  } catch (thrown) {
    failure = toFailure(thrown, signal);
  }
  let file: Published | undefined;
  try {
    if (isFileDue && failure !== undefined) await reopen(database);
    if (isFileDue) file = await publishFile(context, meta, generation);
    else if (lake !== undefined && meta.has(REWRITE)) await closeWorkFile(context, meta);
  } catch (thrown) {
    failure = joinFailures(failure, toFailure(thrown, signal));
  }
  return { published: describePublished(settings, file, lake), failure };
}

/**
 * Publishes in the middle of a run, and reopens the work file. Failures are only reported: the end of the run tries
 * again. Throws where the work file cannot be opened again.
 */
export async function publishAndGoOn(context: RunContext): Promise<void> {
  const { database, emit } = context;
  try {
    const { failure } = await publishRun(context);
    if (failure !== undefined) emit({ type: 'note', message: `not published yet: ${failure.message}` });
  } catch (thrown) {
    emit({ type: 'note', message: `not published yet: ${toSyncError(thrown).message}` });
  } finally {
    await reopen(database);
  }
}

// Reports both failures together.
function joinFailures(first: SyncError | undefined, second: SyncError): SyncError {
  if (first === undefined) return second;
  const both = [first, second];
  return new PublishError(
    `neither destination could be published: ${both.map(({ message }) => message).join('; ')}`,
    {
      code: 'publish_failed',
      hint: [...new Set(both.map(({ hint }) => hint))].join(' '),
      exitCode: both.every(({ exitCode }) => exitCode === 2) ? 2 : 6,
      cause: new AggregateError(both),
    },
  );
}

// A full disk under the lake can make the engine close all its files; the work file itself is intact.
async function reopen(database: Database): Promise<void> {
  await database.release();
  await database.reopen();
}

// A signal and a damaged work file end the run: neither leaves a file that could be copied.
function toFailure(thrown: unknown, signal: AbortSignal | undefined): SyncError {
  if (signal?.aborted === true) throw toAbortError(signal);
  const failure = toSyncError(thrown);
  if (failure instanceof DamagedFileError) throw failure;
  return failure;
}

function describePublished(
  { publishesDuckdb, duckdbPath }: RunContext['settings'],
  file: Published | undefined,
  lake: PublishedLake | undefined,
): Published | undefined {
  if (lake === undefined || file !== undefined) return file && { ...file, ...(lake && { lake }) };
  return publishesDuckdb
    ? { path: lake.path, bytes: lake.bytes, lake }
    : { path: duckdbPath, bytes: statSync(duckdbPath).size, lake };
}

async function publishToLake(
  { database, settings, emit, runId, clock, signal }: RunContext,
  lake: string,
  commit: string,
  mustForget: boolean,
): Promise<PublishedLake | undefined> {
  const published = await publishLake({
    session: database,
    lake,
    ...ownerOf(settings),
    commit,
    runId,
    tables: await listLakeTables(settings, database),
    graceMs: settings.retention.lakeMs,
    mustForget,
    clock,
    signal,
    look: await prepareSecondLook(settings, database),
    warn: (message) => emit({ type: 'warning', message }),
    onBegin: () => emit({ type: 'publishing', path: lake }),
  });
  if (published !== undefined) emit({ type: 'published', path: lake, bytes: published.bytes });
  return published;
}

async function publishFile(
  context: RunContext,
  meta: ReadonlyMap<string, string>,
  generation: string,
): Promise<Published> {
  const { settings, emit, runId } = context;
  const { duckdbPath: path, stateDir } = settings;
  emit({ type: 'publishing', path });
  const look = await prepareSecondLook(settings, context.database);
  await closeWorkFile(context, meta);
  // A rename over a link would replace the link and leave its target unchanged.
  const target = resolveLinks(path);
  // Taken from the work file: another program may have modified the published file by then.
  const fingerprint = await fingerprintFile(workFile(stateDir));
  const published = await publishDuckdbFile(workFile(stateDir), target, runId, async () => {
    const record = readPublishedRecord(stateDir);
    // A file that is still ours is recognised without opening it: a user may have it open for writing.
    const isOurs = record !== undefined && existsSync(path) && isPublishedFile(record, path);
    if (!isOurs) look(path, await readGeneration(target));
  });
  const { bytes, ...left } = published;
  writePublishedRecord(stateDir, { ...left, path, size: bytes, fingerprint, generation });
  emit({ type: 'published', path, bytes });
  return { path, bytes };
}

/** Closes the work file: checkpointed and, if scheduled, compacted. */
async function closeWorkFile(
  { database, settings }: RunContext,
  meta: ReadonlyMap<string, string>,
): Promise<void> {
  await database.checkpoint();
  // A damaged work file is restored from the published file.
  await checkReadable(database);
  await database.release();
  const file = workFile(settings.stateDir);
  if (existsSync(`${file}.wal`)) {
    throw new StorageError(`${file} has changes that are not written into it yet`, {
      code: 'storage_failed',
      hint: 'Run again: committed data is safe and will be published then.',
      context: { path: file },
    });
  }
  if (meta.has(REWRITE))
    await rewriteFile(file, (fresh) => fresh.run('DELETE FROM _sluice.meta WHERE key = $1', [REWRITE]));
}
