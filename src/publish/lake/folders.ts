import { constants, existsSync, lstatSync, readlinkSync } from 'node:fs';
import { copyFile, link, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeFolders } from '../../files/make-folders.ts';
import { syncFile, syncFolder } from '../../files/sync-to-disk.ts';
import { PublishError } from '../../model/errors.ts';
import type { Lease } from '../../model/state-lock.ts';
import { hideName, isHiddenName } from '../holder-mark.ts';
import { type LakeModes, readModes, setMode } from './lake-modes.ts';
import { makeLink } from './make-link.ts';
import { generationFolder, GENERATIONS } from '../../warehouse/lake-entry.ts';

/** The link that readers follow, in the folder of a table. */
export const CURRENT = 'current';
/** Folder with the generations of a table. */
export function generationsFolder(lake: string, table: string): string {
  return join(lake, GENERATIONS, table);
}

/** A generation that is being built, hidden from readers. */
export function buildFolder(lake: string, table: string, generation: string): string {
  return join(generationsFolder(lake, table), `.${generation}.tmp`);
}

/** The generation that `current` points to; undefined if there is no link. */
export function readCurrent(lake: string, table: string): string | undefined {
  try {
    return basename(readlinkSync(join(lake, table, CURRENT)));
  } catch {
    return undefined;
  }
}

/** Whether a name in a table's folder is that link, or one that is to become it. */
export function isCurrent(name: string): boolean {
  return name === CURRENT || isHiddenName(CURRENT, name);
}

/** Whether a table's folder holds only what this publisher creates. */
export async function isOwnTableFolder(folder: string): Promise<boolean> {
  return !existsSync(folder) || (await readdir(folder)).every(isCurrent);
}

/** Rejects every `current` that is not a link: the lake was copied by following links, or somebody created it. */
export function assertCurrentsAreLinks(lake: string, tables: readonly string[]): void {
  const paths = tables
    .map((table) => join(lake, table, CURRENT))
    .filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === false);
  const [path] = paths;
  if (path === undefined) return;
  const [what, them] =
    paths.length === 1 ? ['is not a link and must be one', 'it'] : ['are not links and must be', 'them'];
  throw new PublishError(`${paths.join(', ')} ${what}`, {
    code: 'publish_refused',
    hint: `Move ${them} away (a lake is copied with its links kept: cp -a, rsync -a) and run \`sluice sync\`: the files are all in ${join(lake, GENERATIONS)}. Nothing was touched.`,
    context: { path },
    exitCode: 2,
  });
}

/** Makes a folder of a table with the permissions that those of other tables have. */
export async function makeLikeOthers(lake: string, folder: string): Promise<void> {
  if (makeFolders(folder) !== undefined) await setMode(folder, await readModes(lake));
}

/** Moves a finished generation to its final name; `current` is unchanged. */
export async function finishGeneration(lake: string, table: string, generation: string): Promise<void> {
  const building = buildFolder(lake, table, generation);
  const folder = generationsFolder(lake, table);
  await syncTree(building, await readModes(lake));
  await rename(building, generationFolder(lake, table, generation));
  await syncFolder(folder);
  await syncFolder(dirname(folder));
}

/**
 * Makes the link that `flip` puts in the place of `current`. Who takes over the lease removes it, so that a flip that
 * comes later fails: the lease is confirmed in between.
 */
export async function prepareFlip(
  lake: string,
  { table, generation }: { readonly table: string; readonly generation: string },
  lease: Lease | undefined,
): Promise<void> {
  const folder = join(lake, table);
  const next = join(folder, hideName(CURRENT, lease));
  await makeLikeOthers(lake, folder);
  await rm(next, { force: true });
  await makeLink(`../${GENERATIONS}/${table}/${generation}`, next);
}

/** Points `current` to the generation of the prepared link atomically. */
export async function flip(lake: string, table: string, lease: Lease | undefined): Promise<void> {
  const folder = join(lake, table);
  await rename(join(folder, hideName(CURRENT, lease)), join(folder, CURRENT));
  await syncFolder(folder);
}

/** Hides a table from readers. */
export async function unlinkCurrent(lake: string, table: string): Promise<void> {
  await rm(join(lake, table, CURRENT), { force: true });
}

/** Hard-links a file, or copies it where the file system has no links. */
export async function shareFile(from: string, to: string): Promise<void> {
  makeFolders(dirname(to));
  try {
    await link(from, to);
  } catch {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    await syncFile(to);
  }
}

// The disk writes concurrent requests together: hundreds of files cost little more than one.
const AT_ONCE = 32;

/** Processes every item, several at a time. */
export async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += AT_ONCE)
    await Promise.all(items.slice(at, at + AT_ONCE).map(work));
}

async function syncTree(folder: string, modes: LakeModes): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  await forEach(entries, (entry) => setMode(join(entry.parentPath, entry.name), modes));
  await setMode(folder, modes);
  const folders = entries.filter((entry) => entry.isDirectory());
  await forEach(folders, (entry) => syncFolder(join(entry.parentPath, entry.name)));
  await syncFolder(folder);
}
