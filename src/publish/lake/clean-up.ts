import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { generationFolder } from '../../warehouse/lake-entry.ts';
import { generationsFolder, readCurrent } from './folders.ts';
import type { TableManifest } from './manifest.ts';

/** Retired generations whose grace time is over. The one before the current is kept. */
export function findExpired(
  { retired }: TableManifest,
  nowMs: number,
  graceMs: number,
): readonly TableManifest['retired'][number][] {
  return retired.filter(({ at, mustGo }, age) => nowMs - Date.parse(at) >= graceMs && (age > 0 || mustGo));
}

/** Removes generations by their names. */
export async function removeGenerations(
  lake: string,
  table: string,
  generations: readonly string[],
): Promise<void> {
  for (const one of generations)
    await rm(generationFolder(lake, table, one), { recursive: true, force: true });
}

/**
 * Removes what killed runs left behind for a table: unfinished generations, and those that neither the manifest nor
 * `current` refers to. The state lock must be held.
 */
export async function removeLeftovers(lake: string, table: string, known: readonly string[]): Promise<void> {
  const folder = generationsFolder(lake, table);
  if (!existsSync(folder)) return;
  const current = readCurrent(lake, table);
  for (const name of await readdir(folder)) {
    if (name === current || known.includes(name) || !isGeneration(name)) continue;
    await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** Names given to generations and to their temporary files. All other files are kept. */
export function isGeneration(name: string): boolean {
  return /^\.?\d{8}T\d{9}Z-[0-9a-f]{8}(?:-folders)?(?:\.empty)?(?:\.tmp)?$/.test(name);
}

/** A name for a new generation; they sort by time. */
export function nameGeneration(nowMs: number, random: string): string {
  return `${new Date(nowMs).toISOString().replace(/[-:.]/g, '')}-${random}`;
}
