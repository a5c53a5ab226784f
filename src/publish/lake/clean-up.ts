import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Lease } from '../../model/state-lock.ts';
import type { KeptViews } from '../../warehouse/kept-generations.ts';
import { generationFolder } from '../../warehouse/lake-entry.ts';
import { HOLDER, isOfLaterHolder, markHolder } from '../holder-mark.ts';
import { generationsFolder, readCurrent } from './folders.ts';
import type { LakeManifest, TableManifest } from './manifest.ts';

/** What decides which retired generations are removed. */
export interface Expiry {
  readonly nowMs: number;
  readonly graceMs: number;
  /** Views in files outside the lake, which name generations of it. */
  readonly kept: readonly KeptViews[];
}

/**
 * Retired generations whose grace time is over. The one before the current is kept, and those that views outside the
 * lake name; neither where it has values that must go.
 */
export function findExpired(
  { table, retired }: TableManifest,
  { nowMs, graceMs, kept }: Expiry,
): readonly TableManifest['retired'][number][] {
  return retired.filter(({ generation, at, mustGo }, age) => {
    const isInUse = age === 0 || kept.some(({ generations }) => generations[table] === generation);
    return nowMs - Date.parse(at) >= graceMs && (mustGo || !isInUse);
  });
}

/**
 * Removes the files with views over generations that are about to be removed: no file may have views that fail. What
 * writes such a file writes it again.
 */
export async function removeViewsOver(
  table: string,
  generations: readonly string[],
  kept: readonly KeptViews[],
): Promise<void> {
  for (const { file, generations: named } of kept)
    if (generations.includes(named[table] ?? '')) await rm(file, { force: true });
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
 * `current` refers to. The state lock must be held: who holds a lease no more leaves what later holders make.
 */
export async function removeLeftovers(
  lake: string,
  { table, known }: { readonly table: string; readonly known: readonly string[] },
  lease: Lease | undefined,
): Promise<void> {
  const folder = generationsFolder(lake, table);
  if (!existsSync(folder)) return;
  const current = readCurrent(lake, table);
  for (const name of await readdir(folder)) {
    if (name === current || known.includes(name) || !isGeneration(name)) continue;
    if (isOfLaterHolder(name, lease)) continue;
    await rm(join(folder, name), { recursive: true, force: true });
  }
}

const GENERATION = new RegExp(
  `^\\.?\\d{8}T\\d{9}Z-[0-9a-f]{8}(?:-${HOLDER})?(?:-folders)?(?:\\.empty)?(?:\\.tmp)?$`,
);

/** Names given to generations and to their temporary files. All other files are kept. */
export function isGeneration(name: string): boolean {
  return GENERATION.test(name);
}

/** A name for a new generation; they sort by time. Those of a lease say which of its holders made them. */
export function nameGeneration(nowMs: number, random: string, lease: Lease | undefined): string {
  const time = new Date(nowMs).toISOString().replace(/[-:.]/g, '');
  return [time, random, markHolder(lease) ?? []].flat().join('-');
}

/** Generations of a table that its manifest refers to. */
export function listKnown({ tables, dropped }: LakeManifest, name: string): readonly string[] {
  const held = [...tables, ...dropped].find(({ table }) => table === name);
  return held === undefined ? [] : [held.generation, ...held.retired.map(({ generation }) => generation)];
}
