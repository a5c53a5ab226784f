import { createHash } from 'node:crypto';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { makeFolders } from '../files/make-folders.ts';
import { syncFolder } from '../files/sync-to-disk.ts';
import { writeWhole } from '../files/write-whole.ts';
import { type ArchivedScan, formatArchivedScan, parseArchivedScan } from './archived-scan.ts';

const HEADER = '.json';
// Written before the commit and renamed after it. After a kill, the checkpoint shows whether the commit happened.
const PENDING = '.json.pending';

/** The contents of one stream's or slice's folder. */
export interface ArchiveListing {
  /** Oldest first by the time of loading. */
  readonly scans: readonly ArchivedScan[];
  /** Headers that cannot be read, and why. */
  readonly damaged: readonly DamagedHeader[];
}

export interface DamagedHeader {
  readonly path: string;
  readonly reason: string;
}

/**
 * Reads the headers of a folder. A pending header counts when it belongs to `committedRunId`, the run of the stream's
 * checkpoint: the process died between the commit and the rename.
 */
export async function listArchive(
  folder: string,
  committedRunId: string | undefined,
): Promise<ArchiveListing> {
  const scans: ArchivedScan[] = [];
  const damaged: DamagedHeader[] = [];
  for (const name of await listNames(folder)) {
    if (!name.endsWith(HEADER) && !name.endsWith(PENDING)) continue;
    try {
      const scan = parseArchivedScan(await readFile(join(folder, name), 'utf8'));
      if (name.endsWith(HEADER) || scan.runId === committedRunId) scans.push(scan);
    } catch (error) {
      if (name.endsWith(HEADER))
        damaged.push({ path: join(folder, name), reason: describeReason(error as Error) });
    }
  }
  return { scans: scans.toSorted((a, b) => a.loadedAtMs - b.loadedAtMs), damaged };
}

/** Names of the files in a folder, sorted; empty if the folder does not exist. */
export async function listNames(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).toSorted();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Whether a folder has a scan loaded before a given time, judging by its file names. */
export async function hasOlderScan(folder: string, beforeMs: number): Promise<boolean> {
  const before = compactTime(beforeMs);
  return (await listNames(folder)).some((name) => name.endsWith(HEADER) && name < before);
}

/** Whether a folder has a scan loaded after a given time, judging by its file names. */
export async function hasNewerScan(folder: string, afterMs: number): Promise<boolean> {
  const after = compactTime(afterMs + 1);
  return (await listNames(folder)).some((name) => name.endsWith(HEADER) && name >= after);
}

/** Writes a pending header next to its records; the commit will confirm it. */
export async function announceScan(folder: string, scan: ArchivedScan): Promise<void> {
  await replaceFile(join(folder, nameOf(scan) + PENDING), formatArchivedScan(scan));
}

/** Confirms a header once its scan is committed. */
export async function confirmScan(folder: string, scan: ArchivedScan): Promise<void> {
  const file = join(folder, nameOf(scan));
  await rename(file + PENDING, file + HEADER);
  await syncFolder(folder);
}

/** Replaces the header of a scan, e.g. after its records were masked again. */
export async function replaceScan(folder: string, scan: ArchivedScan): Promise<void> {
  await replaceFile(join(folder, nameOf(scan) + HEADER), formatArchivedScan(scan));
}

/** Resolves the pending headers of a killed run: confirms the committed scan and deletes the others. */
export async function settleArchive(folder: string, committedRunId: string | undefined): Promise<void> {
  for (const name of await listNames(folder)) {
    const file = join(folder, name);
    if (isTemporary(name)) await rm(file, { force: true });
    if (!name.endsWith(PENDING)) continue;
    const scan = await readHeader(file);
    if (scan !== undefined && scan.runId === committedRunId) await confirmScan(folder, scan);
    else await rm(file, { force: true });
  }
}

/** Removes scans, then the records files that no header refers to any more. */
export async function removeScans(folder: string, scans: readonly ArchivedScan[]): Promise<void> {
  for (const scan of scans) {
    await rm(join(folder, nameOf(scan) + HEADER), { force: true });
    await rm(join(folder, nameOf(scan) + PENDING), { force: true });
  }
  const names = await listNames(folder);
  const headers = names.filter((name) => name.endsWith(HEADER) || name.endsWith(PENDING));
  const read = await Promise.all(headers.map(async (name) => readHeader(join(folder, name))));
  // An unreadable header may refer to any of them.
  if (read.includes(undefined)) return;
  const named = new Set(read.map((scan) => scan?.content.file));
  for (const name of names) {
    if (name.endsWith('.zst') && !named.has(name)) await rm(join(folder, name), { force: true });
  }
}

/** Removes headers that cannot be read, of scans loaded before a time: their names say when. */
export async function removeDamaged(damaged: readonly DamagedHeader[], beforeMs: number): Promise<void> {
  const before = compactTime(beforeMs);
  for (const { path } of damaged) if (basename(path) < before) await rm(path, { force: true });
}

/** Creates the folder of a stream or slice for its owner only. */
export function makeArchiveFolder(folder: string): void {
  makeFolders(folder, 0o700);
}

/** Name of a file while it is being written. One found on start was left by a killed process. */
export function temporaryName(name: string): string {
  return `${name}.part`;
}

function isTemporary(name: string): boolean {
  return name.endsWith('.part');
}

async function readHeader(file: string): Promise<ArchivedScan | undefined> {
  try {
    return parseArchivedScan(await readFile(file, 'utf8'));
  } catch {
    return undefined;
  }
}

// Sorts by time. A run id may be any text, so its hash is used as the file name.
function nameOf({ loadedAtMs, runId }: ArchivedScan): string {
  return `${compactTime(loadedAtMs)}-${createHash('sha256').update(runId).digest('hex').slice(0, 12)}`;
}

function compactTime(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:.]/g, '');
}

function replaceFile(file: string, text: string): Promise<void> {
  return writeWhole(file, text, { temporary: temporaryName(file), mode: 0o600 });
}

function describeReason(error: Error): string {
  if (error instanceof SyntaxError) return 'it is not JSON';
  return error.name === 'ZodError' ? 'it is not a header that this version can read' : error.message;
}
