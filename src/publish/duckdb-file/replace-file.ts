import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PublishError } from '../../model/errors.ts';
import { makeFolders } from '../../files/make-folders.ts';
import { syncFolder } from '../../files/sync-to-disk.ts';

export interface ReplacedFile {
  readonly path: string;
  readonly bytes: number;
  /** Identifies the file on its disk, so that a later run recognises it without opening it. */
  readonly device: number;
  readonly inode: number;
  readonly bornAtMs: number;
  readonly modifiedAtMs: number;
  readonly changedAtMs: number;
}

/**
 * Copies the committed work file to `target` atomically (invariant 4): writes a temporary copy next to it, flushes it
 * and renames it. Readers keep the file they have open; new readers get this one.
 *
 * The work file must be closed and checkpointed. `lookAgain` throws if the file at `target` must not be replaced by
 * then.
 */
export async function replaceFile(
  workFile: string,
  target: string,
  runId: string,
  lookAgain: () => Promise<void>,
): Promise<ReplacedFile> {
  const folder = dirname(target);
  // A run id may be any text, e.g. a scheduler's: only its hash is sure to be a file name.
  const mark = createHash('sha256').update(runId).digest('hex').slice(0, 12);
  const temporary = join(folder, `.${basename(target)}.${mark}.tmp`);
  try {
    makeFolders(folder);
    await removeLeftovers(folder, basename(target));
    // Shares the blocks if the file system supports it, else copies them.
    await copyFile(workFile, temporary, constants.COPYFILE_FICLONE);
    await syncToDisk(temporary, await readMode(target));
    await lookAgain();
    // A write-ahead log next to the old file belongs to it. With the new file it would cause an error or, worse, be
    // replayed.
    await rm(`${target}.wal`, { force: true });
    await rename(temporary, target);
    await syncFolder(folder);
    const { size, dev, ino, birthtimeMs, mtimeMs, ctimeMs } = await stat(target);
    const times = { bornAtMs: birthtimeMs, modifiedAtMs: mtimeMs, changedAtMs: ctimeMs };
    return { path: target, bytes: size, device: dev, inode: ino, ...times };
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    if (error instanceof PublishError) throw error;
    throw new PublishError(`cannot publish ${target}: ${(error as Error).message}`, {
      code: 'publish_failed',
      hint: 'Everything synced is committed in the state folder and the published file is unchanged. Fix the cause and run again: publishing needs no request.',
      context: { path: target },
      cause: error,
    });
  }
}

// Copies left by a killed run. This run holds the state lock, so none is in use.
async function removeLeftovers(folder: string, name: string): Promise<void> {
  for (const entry of await readdir(folder)) {
    if (entry.startsWith(`.${name}.`) && entry.endsWith('.tmp'))
      await rm(join(folder, entry), { force: true });
  }
}

/** Permissions of the replaced file; the default ones for a new file. */
async function readMode(target: string): Promise<number> {
  try {
    return (await stat(target)).mode & 0o777;
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
