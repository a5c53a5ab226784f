import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { syncFolder } from '../files/sync-to-disk.ts';
import type { Lease } from '../model/state-lock.ts';
import { HOLDER, isOfLaterHolder } from './holder-mark.ts';

export interface PlacedFile {
  readonly path: string;
  readonly bytes: number;
  /** Identifies the file on its disk, so that a later run recognises it without opening it. */
  readonly device: number;
  readonly inode: number;
  readonly bornAtMs: number;
  readonly modifiedAtMs: number;
  readonly changedAtMs: number;
}

/** A name next to `target` for what is to take its place. Names of other runs have another `mark`. */
export function temporaryFor(target: string, mark: string): string {
  return join(dirname(target), `.${basename(target)}.${mark}.tmp`);
}

const MARKED = new RegExp(`^(?:[0-9a-f]{12}|${HOLDER})\\.tmp(?:\\.wal)?$`);

/** Whether a name is one that a killed run may have left next to `target`, with the log of the engine. */
export function isTemporaryFor(target: string, name: string): boolean {
  const before = `.${basename(target)}.`;
  return name.startsWith(before) && MARKED.test(name.slice(before.length));
}

/**
 * Removes what killed runs left next to `target`. The caller holds its lock, so none of it is in use: at most by a holder
 * of the lease before, whose rename fails then.
 */
export async function removeLeftovers(target: string, lease?: Lease): Promise<void> {
  const folder = dirname(target);
  for (const entry of await readdir(folder)) {
    if (isOfLaterHolder(entry, lease)) continue;
    if (entry.startsWith(`.${basename(target)}.`) && entry.endsWith('.tmp'))
      await rm(join(folder, entry), { force: true, recursive: true });
  }
}

/**
 * Puts a finished file in the place of `target` (invariant 4): flushed, then renamed. Readers keep the file they have
 * open; new readers get this one.
 *
 * @param temporary closed and checkpointed, on the same disk; who takes over removes it, and the rename fails
 * @param lookAgain throws if what is at `target` by then must not be replaced
 */
export async function putInPlace(
  temporary: string,
  target: string,
  lookAgain: () => Promise<void>,
): Promise<PlacedFile> {
  await syncToDisk(temporary, await readMode(target));
  await lookAgain();
  // A write-ahead log next to the old file belongs to it. With the new file it would cause an error or, worse, be
  // replayed. What is published has none, so that nothing is lost if the rename comes too late.
  await rm(`${target}.wal`, { force: true });
  await rename(temporary, target);
  await syncFolder(dirname(target));
  const { size, dev, ino, birthtimeMs, mtimeMs, ctimeMs } = await stat(target);
  const times = { bornAtMs: birthtimeMs, modifiedAtMs: mtimeMs, changedAtMs: ctimeMs };
  return { path: target, bytes: size, device: dev, inode: ino, ...times };
}

/** Permissions of the replaced file, but its owner can read it; the default ones for a new file. */
export async function readMode(target: string): Promise<number> {
  try {
    return ((await stat(target)).mode & 0o777) | 0o400;
  } catch {
    return 0o666 & ~process.umask();
  }
}

async function syncToDisk(file: string, mode: number): Promise<void> {
  const handle = await open(file, 'r+');
  try {
    await handle.chmod(mode);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
