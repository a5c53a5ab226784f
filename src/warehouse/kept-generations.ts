import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { GENERATIONS } from './lake-entry.ts';

const viewsSchema = z.object({
  /** Absolute path of the file with the views, links followed. */
  file: z.string(),
  /** Which file that has to be: these views are gone once another one is in its place. */
  device: z.number(),
  inode: z.number(),
  /** By table. */
  generations: z.record(z.string(), z.string()),
});

const fileSchema = z.object({ version: z.literal(1), views: z.array(viewsSchema) });

/** Views in a file outside a lake, and the generations of the lake that they name: it keeps them. */
export type KeptViews = z.infer<typeof viewsSchema>;

/** Name of the file of a lake, next to its generations, that says which are named by views elsewhere. */
export const KEPT_FILE = 'kept.json';

/** The file of a lake that says which of its generations are named by views elsewhere. */
export function keptFile(lake: string): string {
  return join(lake, GENERATIONS, KEPT_FILE);
}

/** The views that name generations of a lake and are still there. */
export function readKeptViews(lake: string): readonly KeptViews[] {
  try {
    const { views } = fileSchema.parse(JSON.parse(readFileSync(keptFile(lake), 'utf8')));
    return views.filter(isThere);
  } catch {
    return [];
  }
}

/** Also true for a file that is about to be put in its place, if it has the same inode there. */
function isThere({ file, device, inode }: KeptViews): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  return found?.dev === device && found.ino === inode;
}
