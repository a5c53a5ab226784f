import { statSync } from 'node:fs';
import { chmod, lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { LAKE_MANIFEST } from '../../model/lake.ts';
import { GENERATIONS } from '../../warehouse/lake-entry.ts';
import { readMode } from '../put-in-place.ts';

/**
 * Permissions of what a lake has: new files and folders get the same. A run under a stricter umask, e.g. that of cron, must
 * not lock readers out.
 */
export interface LakeModes {
  readonly file: number;
  readonly folder: number;
}

/** Those of the manifest and of the folder of generations; those of the umask before the first publish. */
export async function readModes(lake: string): Promise<LakeModes> {
  const folder =
    statSync(join(lake, GENERATIONS), { throwIfNoEntry: false })?.mode ?? 0o777 & ~process.umask();
  return { file: await readMode(join(lake, LAKE_MANIFEST)), folder: folder & 0o777 };
}

/** Gives a file or folder that this run has made these permissions; who took over from it may have removed it. */
export async function setMode(path: string, { file, folder }: LakeModes): Promise<void> {
  try {
    const held = await lstat(path);
    if (held.isSymbolicLink()) return;
    const wanted = held.isDirectory() ? folder : file;
    // A file with several names is one of an earlier generation, too, and may have another owner.
    if ((held.mode & 0o777) === wanted || (held.isFile() && held.nlink > 1)) return;
    await chmod(path, (held.mode & 0o7000) | wanted);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
