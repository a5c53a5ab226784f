import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LAKE_CATALOG, LAKE_MANIFEST } from '../../model/lake.ts';
import type { Lease } from '../../model/state-lock.ts';
import { GENERATIONS } from '../../warehouse/lake-entry.ts';
import { isHiddenName, isOfLaterHolder } from '../holder-mark.ts';
import { listKnown, removeLeftovers } from './clean-up.ts';
import { CURRENT } from './folders.ts';
import { readManifest } from './manifest.ts';

/**
 * Removes what an overtaken run was about to put in place: the files and links that wait to be renamed, and then, as
 * nothing can point to them any more, the generations that no reader sees.
 */
export async function takeOverLake(lake: string, lease: Lease): Promise<void> {
  if (!existsSync(lake)) return;
  for (const entry of await readdir(lake, { withFileTypes: true })) {
    const file = entry.name.replace(/\.wal$/, '');
    const waits = [LAKE_MANIFEST, LAKE_CATALOG].some((name) => isHiddenName(name, file));
    if (waits && !isOfLaterHolder(file, lease)) await rm(join(lake, entry.name), { force: true });
    if (entry.isDirectory() && entry.name !== GENERATIONS) await removeLinks(join(lake, entry.name), lease);
  }
  const manifest = readManifest(lake);
  const generations = join(lake, GENERATIONS);
  if (!existsSync(generations)) return;
  for (const entry of await readdir(generations, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const known = manifest === undefined ? [] : listKnown(manifest, entry.name);
    await removeLeftovers(lake, { table: entry.name, known }, lease);
  }
}

async function removeLinks(folder: string, lease: Lease): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isSymbolicLink() && isHiddenName(CURRENT, entry.name) && !isOfLaterHolder(entry.name, lease))
      await rm(join(folder, entry.name), { force: true });
}
