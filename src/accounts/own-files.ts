import { lstatSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { EntryKind } from '../model/account.ts';

/** The files of Sluice at a place, and those of others. */
export interface OwnFiles {
  /** Absolute; links are included. */
  readonly files: readonly string[];
  /** Folders that contain them, innermost first. */
  readonly folders: readonly string[];
  readonly bytes: number;
  /** Files of others; a folder without any file of ours is listed as one. */
  readonly foreign: readonly string[];
}

type IsOwn = (path: string, kind: EntryKind) => boolean;

/** Tells them apart at a folder, or at a file and what lies next to it. Links are not followed. */
export function listOwnFiles(place: string, isOwn: IsOwn): OwnFiles {
  if (kindOf(place) === 'folder') return listFolder(place, '', isOwn);
  const folder = dirname(place);
  const names = readdirSync(folder).filter((name) => isOwn(name, kindOf(join(folder, name))));
  const files = names.map((name) => join(folder, name));
  const foreign = names.includes(basename(place)) ? [] : [place];
  return { files, folders: [], bytes: addSizes(files), foreign };
}

function listFolder(folder: string, below: string, isOwn: IsOwn): OwnFiles {
  const entries = readdirSync(folder).map((name) => ({
    path: join(folder, name),
    inPlace: below === '' ? name : `${below}/${name}`,
  }));
  const sorted = entries.map((entry) => ({ ...entry, kind: kindOf(entry.path) }));
  const inner = sorted.flatMap(({ path, inPlace, kind }) =>
    kind === 'folder' ? [listFolder(path, inPlace, isOwn)] : [],
  );
  const others = sorted.filter(({ kind }) => kind !== 'folder');
  const own = others.filter(({ inPlace, kind }) => isOwn(inPlace, kind)).map(({ path }) => path);
  const foreign = others.filter(({ path }) => !own.includes(path)).map(({ path }) => path);
  const files = [...inner.flatMap((one) => one.files), ...own];
  // Nothing in it is ours, so the folder is not either.
  const isForeign = files.length === 0 && below !== '' && !isOwn(below, 'folder');
  if (isForeign) return { files, folders: [], bytes: 0, foreign: [folder] };
  return {
    files,
    folders: [...inner.flatMap((one) => one.folders), folder],
    bytes: addSizes(own) + inner.reduce((sum, { bytes }) => sum + bytes, 0),
    foreign: [...foreign, ...inner.flatMap((one) => one.foreign)],
  };
}

function kindOf(path: string): EntryKind {
  const found = lstatSync(path);
  if (found.isSymbolicLink()) return 'symlink';
  return found.isDirectory() ? 'folder' : 'file';
}

function addSizes(files: readonly string[]): number {
  return files.reduce((sum, file) => sum + lstatSync(file).size, 0);
}
