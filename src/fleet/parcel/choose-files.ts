import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { EntryKind } from '../../model/account.ts';
import { StorageError } from '../../model/errors.ts';
import { isStateFile } from '../../storage/state-files.ts';
import { onDisk } from '../store/local-file.ts';

/** What only this machine needs, or what a crash left: locks, progress, spilled and half-written files, the engine's parts. */
const OF_THIS_MACHINE =
  /^(?:tmp|extensions|verify-\d+)(?:\/|$)|^(?:lock|progress)\.(?:json|sqlite)|^\.?readers\.duckdb|\.(?:tmp|part|spare)$|^stage\/(?:.+\/)?body$|^quota\/.+\.damaged-/;
/** The work file with the engine's logs of it; the others are copies that were set aside. */
const WORK_FILE = /^work\.duckdb(?:\.wal(?:\.checkpoint|\.recovery)?)?$/;
const ANY_WORK_FILE = /^work\.duckdb/;

/** Whether a file of this name may be in a parcel: one of a state folder, below it, and for other machines. */
export function isParcelFile(path: string): boolean {
  const parts = path.split('/');
  return (
    // Line breaks and the like are in no name that Sluice makes.
    !/[\u0000-\u001f\u007f\\]/.test(path) &&
    parts.every((part) => part !== '' && part !== '.' && part !== '..') &&
    isStateFile(path, 'file') &&
    (parts.length === 1 || isStateFile(parts[0] ?? '', 'folder')) &&
    !OF_THIS_MACHINE.test(path) &&
    (!ANY_WORK_FILE.test(path) || WORK_FILE.test(path))
  );
}

/** Whether a file holds rows that a lakehouse has as well. */
export function isWorkFile(path: string): boolean {
  return ANY_WORK_FILE.test(path);
}

/**
 * The files of a state folder that another machine needs, by name.
 *
 * @param below a folder in it, which a run may change meanwhile: what is gone is left out
 * @returns paths below the folder, with `/`
 * @throws StorageError (6) if the folder cannot be read, or a link takes the place of such a file
 */
export async function listParcelFiles(folder: string, below = ''): Promise<readonly string[]> {
  const found: string[] = [];
  const walk = async (inside: string): Promise<void> => {
    for (const entry of await readFolder(join(folder, inside), below !== '')) {
      const path = inside === '' ? entry.name : `${inside}/${entry.name}`;
      const kind = kindOf(entry);
      if (kind === 'folder') {
        if (isStateFile(path, 'folder') && !OF_THIS_MACHINE.test(path)) await walk(path);
      } else if (kind === 'file') {
        if (isParcelFile(path)) found.push(path);
      } else if (kind === 'symlink' && (isParcelFile(path) || isStateFile(path, 'folder'))) {
        if (!OF_THIS_MACHINE.test(path)) throw linked(join(folder, path));
      }
    }
  };
  await walk(below);
  return found.toSorted();
}

function readFolder(folder: string, mayBeGone: boolean): Promise<readonly Dirent[]> {
  return onDisk(folder, () =>
    readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
      if (mayBeGone && (error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }),
  );
}

function kindOf(entry: Dirent): EntryKind | undefined {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'folder';
  return entry.isSymbolicLink() ? 'symlink' : undefined;
}

function linked(file: string): StorageError {
  return new StorageError(`${file} is a link, and a state that other machines continue holds files only`, {
    code: 'storage_failed',
    hint: 'Put the file or folder itself in its place, and run again. Nothing was packed.',
    context: { path: file },
  });
}
