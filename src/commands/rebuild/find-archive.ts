import { basename, dirname, join } from 'node:path';
import { readCheckpoint, readCheckpoints } from '../../../state/checkpoints.ts';
import { hasNewerScan, listArchive, listNames } from '../../archive/archive-folder.ts';
import type { ArchivedContent, ArchivedScan } from '../../archive/archived-scan.ts';
import { findChain } from '../../archive/find-chain.ts';
import { assertContentWhole } from '../../archive/unpack-records.ts';
import { adviseOnChangedKey, type MaskedTable } from '../../load/rehashed-key.ts';
import { ConfigError, StorageError } from '../../model/errors.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { SqlSession } from '../../model/sql.ts';
import { type Checkpoint, nameOf, sliceIdOf, sliceStream, type Stream } from '../../model/stream.ts';
import { describeMasks, type MaskedFields } from '../../schema/mask-records.ts';
import { archiveFolder, hashAddress } from '../../storage/state-folder.ts';

/** The archived scans from which a stream or slice can be rebuilt. */
export interface SliceArchive {
  /** The slice as its own stream; the stream itself if it is not sliced. */
  readonly stream: Stream;
  readonly folder: string;
  readonly checkpoint: Checkpoint | undefined;
  /** Oldest first, never empty; the first is a full scan. */
  readonly scans: readonly ArchivedScan[];
}

/**
 * Finds the scans from which a stream's table can be rebuilt: an unbroken chain for each slice that was ever
 * committed. Empty for a stream that never synced and has no archive. A scan with unreadable records counts as
 * missing, unless a later full scan replaces it; and an archive as none where the rows were read in other parts since.
 *
 * @throws StorageError `archive_incomplete` if a part of it is missing
 */
export async function findArchive(
  settings: OfflineSettings,
  session: SqlSession,
  stream: Stream,
  signal?: AbortSignal,
): Promise<readonly SliceArchive[]> {
  const found: SliceArchive[] = [];
  for (const slice of sliceStream(stream)) {
    const checkpoint = await readCheckpoint(session, slice.name, sliceIdOf(slice));
    const folder = archiveFolder(settings.stateDir, slice);
    const { scans, damaged } = await listReadable(folder, checkpoint?.runId, signal);
    if (checkpoint === undefined && scans.length === 0 && damaged.length === 0) continue;
    if (checkpoint === undefined && (await isReadSince(settings, session, slice, scans))) continue;
    const chain = findChain(scans, checkpoint?.runId);
    if (chain.kind === 'broken') {
      const [first] = damaged;
      throw incomplete(slice, first === undefined ? chain.reason : `${chain.reason} (${first})`);
    }
    assertFits(settings, slice, chain.scans);
    found.push({ stream: slice, folder, checkpoint, scans: chain.scans });
  }
  return found;
}

/**
 * Whether the rows of a stream or slice without a checkpoint were read since its last scan, as part of the whole stream or
 * in slices: the table has newer values than its archive.
 */
async function isReadSince(
  { stateDir }: OfflineSettings,
  session: SqlSession,
  stream: Stream,
  scans: readonly ArchivedScan[],
): Promise<boolean> {
  const isOther = (slice: string) => (slice === '') !== (stream.slice === undefined);
  const held = await readCheckpoints(session);
  if (held.some((one) => one.stream === stream.name && isOther(one.slice))) return true;
  const own = archiveFolder(stateDir, stream);
  const root = dirname(own);
  const whole = basename(archiveFolder(stateDir, { ...stream, slice: undefined }));
  const names = stream.slice === undefined ? await listNames(root) : [whole];
  const lastMs = scans.at(-1)?.loadedAtMs ?? 0;
  for (const name of names)
    if (name !== basename(own) && (await hasNewerScan(join(root, name), lastMs))) return true;
  return false;
}

/**
 * Corrects the load times of scans as a sync corrects those of their rows: none was loaded after the next one of its
 * chain, or after now, whatever a clock that was ahead wrote into its header.
 */
export function correctLoadTimes(archives: readonly SliceArchive[], nowMs: number): readonly SliceArchive[] {
  return archives.map((archive) => {
    let latestMs = nowMs;
    const newestFirst = archive.scans.toReversed().map((scan) => {
      const loadedAtMs = Math.min(scan.loadedAtMs, latestMs);
      latestMs = loadedAtMs - 1;
      return { ...scan, loadedAtMs };
    });
    return { ...archive, scans: newestFirst.toReversed() };
  });
}

/** Throws if complete scans do not fit the current config. */
export function assertFits(settings: OfflineSettings, slice: Stream, scans: readonly ArchivedScan[]): void {
  assertSameAddress(settings, slice, scans);
  for (const { masks } of scans) assertMaskable(settings, slice, masks);
}

/** The scans of a folder with intact records, and what is wrong with the others. */
export async function listReadable(
  folder: string,
  lastRunId: string | undefined,
  signal: AbortSignal | undefined,
): Promise<{ readonly scans: readonly ArchivedScan[]; readonly damaged: readonly string[] }> {
  const { scans, damaged } = await listArchive(folder, lastRunId);
  const faults = damaged.map(({ path, reason }) => `${path}: ${reason}`);
  const broken = new Set<string>();
  // By each header: scans that share a file may describe it differently.
  for (const [name, content] of new Map(scans.map(({ content }) => [nameContent(content), content]))) {
    try {
      await assertContentWhole(folder, content, signal);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      broken.add(name);
      faults.push(error.message);
    }
  }
  return { scans: scans.filter(({ content }) => !broken.has(nameContent(content))), damaged: faults };
}

function nameContent({ file, sha256 }: ArchivedContent): string {
  return `${file} ${sha256}`;
}

/** The archive is not complete, and reading the stream in full again helps. */
export class ArchiveGapError extends StorageError {}

/** The error of a rebuild with an incomplete archive. */
export function incomplete(stream: Stream, reason: string, advice?: string): StorageError {
  const message = `${nameOf(stream)}: its table cannot be rebuilt from the archive: ${reason}`;
  const refresh = `\`sluice sync --full-refresh --streams ${stream.name}\` reads it from the API; from then on the archive is complete`;
  const options = {
    code: 'archive_incomplete',
    hint: `The table is unchanged. ${advice ?? refresh}.`,
    context: { stream: stream.name },
  } as const;
  return advice === undefined ? new ArchiveGapError(message, options) : new StorageError(message, options);
}

/** An error of a rebuild with advice that works: a sync would refuse a stream whose key is masked in another way. */
export async function leadOut(held: MaskedTable, stream: Stream, thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof ArchiveGapError)) return thrown;
  const advice = await adviseOnChangedKey(held, stream);
  return advice === undefined ? thrown : thrown.withHint(`The table is unchanged. ${advice}.`);
}

/** What to do about values that do not fit their columns: a full refresh would not change them. */
export function adviseText(stream: Stream, columns: readonly string[]): string {
  return `Text holds every value: set type: VARCHAR for ${columns.join(', ')} in streams.${stream.name}.columns, and run this again`;
}

function assertSameAddress(settings: OfflineSettings, stream: Stream, scans: readonly ArchivedScan[]): void {
  if (scans.at(-1)?.address === hashAddress(settings, stream)) return;
  throw incomplete(stream, 'it was read with a path, params or records that differ from the current config');
}

// A value that was excluded, or hashed with a different key, is not in the archive.
function assertMaskable(settings: OfflineSettings, stream: Stream, done: MaskedFields): void {
  const wanted = describeMasks(stream, settings.hashKey);
  if (settings.hashKey === undefined && Object.values(wanted).some((how) => how !== 'exclude')) {
    throw new ConfigError(`streams.${stream.name} hashes columns, and defaults.hashKey is not set`, {
      code: 'key_missing',
      hint: 'Set the variable or the file that the config refers to. Nothing was changed.',
      context: { stream: stream.name },
    });
  }
  const lost = Object.entries(done).filter(
    ([field, how]) => wanted[field] !== how && !(wanted[field] === 'exclude' && how !== 'exclude'),
  );
  if (lost.length === 0) return;
  const fields = lost.map(([field]) => field).join(', ');
  throw incomplete(stream, `it does not have the values of ${fields} that the config now requires`);
}
