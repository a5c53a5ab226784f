import { readCheckpoint } from '../../../state/checkpoints.ts';
import { listArchive } from '../../archive/archive-folder.ts';
import type { ArchivedContent, ArchivedScan } from '../../archive/archived-scan.ts';
import { findChain } from '../../archive/find-chain.ts';
import { assertContentWhole } from '../../archive/unpack-records.ts';
import { ConfigError, StorageError } from '../../model/errors.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { SqlSession } from '../../model/sql.ts';
import { type Checkpoint, nameOf, sliceIdOf, sliceStream, type Stream } from '../../model/stream.ts';
import { describeMasks, type MaskedFields } from '../fetch/mask-records.ts';
import { archiveFolder, hashAddress } from '../state-folder.ts';

/** The archived scans that one stream, or one slice of it, can be made of again. */
export interface SliceArchive {
  /** The slice as a stream of its own; the stream itself when it is not sliced. */
  readonly stream: Stream;
  readonly folder: string;
  readonly checkpoint: Checkpoint | undefined;
  /** Oldest first, never empty; the first is of everything. */
  readonly scans: readonly ArchivedScan[];
}

/**
 * Finds what a stream's table can be made of again: an unbroken row of scans for each slice that was ever
 * committed. Empty for a stream that never synced and has no archive. A scan whose records cannot be read
 * counts as missing: a later scan of everything makes up for it.
 *
 * @throws StorageError `archive_incomplete` when a part of it is not there
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

/** Throws where scans that are whole do not fit the config of now. */
export function assertFits(settings: OfflineSettings, slice: Stream, scans: readonly ArchivedScan[]): void {
  assertSameAddress(settings, slice, scans);
  for (const { masks } of scans) assertMaskable(settings, slice, masks);
}

/** The scans of a folder whose records are whole, and what is wrong with the others. */
export async function listReadable(
  folder: string,
  lastRunId: string | undefined,
  signal: AbortSignal | undefined,
): Promise<{ readonly scans: readonly ArchivedScan[]; readonly damaged: readonly string[] }> {
  const { scans, damaged } = await listArchive(folder, lastRunId);
  const faults = damaged.map(({ path, reason }) => `${path}: ${reason}`);
  const broken = new Set<string>();
  // By what each header says of it: scans that share a file need not say the same.
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

/** The refusal of a rebuild that the archive does not hold everything for. */
export function incomplete(stream: Stream, reason: string): StorageError {
  return new StorageError(`${nameOf(stream)}: its table cannot be made of the archive: ${reason}`, {
    code: 'archive_incomplete',
    hint: `The table is as it was. \`sluice sync --full-refresh --streams ${stream.name}\` reads it from the API; from then on the archive is whole.`,
    context: { stream: stream.name },
  });
}

function assertSameAddress(settings: OfflineSettings, stream: Stream, scans: readonly ArchivedScan[]): void {
  if (scans.at(-1)?.address === hashAddress(settings, stream)) return;
  throw incomplete(stream, 'it was read with another path, params or records than the config has now');
}

// A value that was left out, or hashed with another key, is not in the archive any more.
function assertMaskable(settings: OfflineSettings, stream: Stream, done: MaskedFields): void {
  const wanted = describeMasks(stream, settings.hashKey);
  if (settings.hashKey === undefined && Object.values(wanted).some((how) => how !== 'exclude')) {
    throw new ConfigError(`streams.${stream.name} hashes columns, and defaults.hashKey is not set`, {
      code: 'key_missing',
      hint: 'Set the variable or the file that the config names. Nothing was changed.',
      context: { stream: stream.name },
    });
  }
  const lost = Object.entries(done).filter(
    ([field, how]) => wanted[field] !== how && !(wanted[field] === 'exclude' && how !== 'exclude'),
  );
  if (lost.length === 0) return;
  const fields = lost.map(([field]) => field).join(', ');
  throw incomplete(stream, `it never held what the config now asks for of ${fields}`);
}
