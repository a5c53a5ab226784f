import { constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StorageError } from '../../model/errors.ts';
import { listParcelFiles } from './choose-files.ts';
import type { OpenedFile } from './tar-stream.ts';

/** The page list first: what it names is in the records that are looked at later. */
const IN_ORDER = ['pages.ndjson', 'scan.json', 'records.ndjson'] as const;
/** A scan that begins meanwhile replaces its folder; this many times in a row would be strange. */
const TRIES = 5;

/**
 * The staged scans of a state folder, each as it is at one moment, open. A scan that is replaced or committed while it
 * is looked at is looked at again, and left out once it is gone.
 *
 * @throws StorageError (6)
 */
export async function* openStages(folder: string): AsyncGenerator<OpenedFile> {
  const staged = await listParcelFiles(folder, 'stage');
  for (const below of new Set(staged.map((path) => dirname(path)))) {
    const opened = await openStage(folder, below);
    try {
      yield* opened;
    } finally {
      await closeAll(opened);
    }
  }
}

async function openStage(folder: string, below: string): Promise<readonly OpenedFile[]> {
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const opened: OpenedFile[] = [];
    try {
      for (const name of IN_ORDER) {
        const path = `${below}/${name}`;
        const file = join(folder, path);
        const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
        // Its size is settled here: later pages are appended.
        opened.push(await describe(handle, path, file));
      }
      if (await areInPlace(opened)) return opened;
      await closeAll(opened);
    } catch (error) {
      await closeAll(opened);
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unreadable(join(folder, below), error);
      // A scan that lacks one of its files could not be continued.
      if (await isGone(join(folder, below), opened.length)) return [];
    }
  }
  return [];
}

async function describe(handle: FileHandle, path: string, file: string): Promise<OpenedFile> {
  try {
    return { path, file, handle, size: (await handle.stat()).size };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Whether the files that were opened one after the other belong together: none was replaced since. */
async function areInPlace(opened: readonly OpenedFile[]): Promise<boolean> {
  for (const { file, handle } of opened) {
    const [held, now] = await Promise.all([handle.stat(), lstat(file).catch(() => undefined)]);
    if (now?.ino !== held.ino || now.dev !== held.dev) return false;
  }
  return true;
}

async function isGone(folder: string, opened: number): Promise<boolean> {
  return opened === 0 || (await lstat(folder).catch(() => undefined)) === undefined;
}

async function closeAll(opened: readonly OpenedFile[]): Promise<void> {
  for (const { handle } of opened) await handle.close();
}

function unreadable(path: string, error: unknown): StorageError {
  return new StorageError(`cannot read staged pages in ${path}: ${(error as Error).message}`, {
    code: 'storage_failed',
    hint: 'Fix the permissions of the state folder; the pages are kept, and nothing was packed.',
    context: { path },
    cause: error,
  });
}
