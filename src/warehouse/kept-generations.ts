import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { GENERATIONS } from './lake-entry.ts';

const viewsSchema = z.object({
  /** Absolute path of the file with the views, links followed. */
  file: z.string(),
  /** Identifies that file: these views are gone once a different file replaces it. */
  device: z.number(),
  inode: z.number(),
  /** By table. */
  generations: z.record(z.string(), z.string()),
});

const fileSchema = z.object({ version: z.literal(1), views: z.array(viewsSchema) });

/** Views in a file outside a lake, and the generations of the lake that they name: it keeps them. */
export type KeptViews = z.infer<typeof viewsSchema>;

/** Name of the file of a lake, next to its generations, that lists those that views elsewhere name. */
export const KEPT_FILE = 'kept.json';

/** The file of a lake that lists its generations that views elsewhere name. */
export function keptFile(lake: string): string {
  return join(lake, GENERATIONS, KEPT_FILE);
}

/**
 * The views that name generations of a lake and are still there. If that is unknown, they count as there.
 *
 * @throws the system's error for a list that cannot be read
 */
export function readKeptViews(lake: string): readonly KeptViews[] {
  const path = keptFile(lake);
  if (!existsSync(path)) return [];
  return fileSchema.parse(JSON.parse(readFileSync(path, 'utf8'))).views.filter(isThere);
}

function isThere({ file, device, inode }: KeptViews): boolean {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    return found?.dev === device && found.ino === inode;
  } catch {
    return true;
  }
}
