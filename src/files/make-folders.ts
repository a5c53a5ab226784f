import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it that are missing. Node's own recursive mkdir never ends where a file system says
 * of a new folder that it is not there though its parent is, as `/proc` does.
 *
 * @returns the first folder that was made; undefined where all were there
 */
export function makeFolders(folder: string, mode = 0o777): string | undefined {
  try {
    mkdirSync(folder, { mode });
    return folder;
  } catch (error) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return undefined;
    const parent = dirname(folder);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || existsSync(parent)) throw error;
    const first = makeFolders(parent, mode);
    const made = makeFolders(folder, mode);
    return first ?? made;
  }
}
