import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomically } from './run-file.ts';

const recordSchema = z.object({
  version: z.literal(1),
  path: z.string(),
  device: z.number(),
  inode: z.number(),
  /** When the file was created: inodes of deleted files are reused. */
  bornAtMs: z.number(),
  /** Changed by any program that writes to the file, and by most damage. */
  size: z.number().optional(),
  modifiedAtMs: z.number().optional(),
  changedAtMs: z.number().optional(),
  /** A checksum of its bytes; undefined for a large file. */
  fingerprint: z.string().optional(),
  /** The commit that the file holds. */
  generation: z.string(),
});

/** What this state folder last published, and where. */
export type PublishedRecord = Omit<z.infer<typeof recordSchema>, 'version'>;

/** Undefined before the first publish, or when the record cannot be read. */
export function readPublishedRecord(stateDir: string): PublishedRecord | undefined {
  try {
    return recordSchema.parse(JSON.parse(readFileSync(recordFile(stateDir), 'utf8')));
  } catch {
    return undefined;
  }
}

export function writePublishedRecord(stateDir: string, record: PublishedRecord): void {
  writeFileAtomically(recordFile(stateDir), JSON.stringify({ version: 1, ...record }));
}

/** Whether the file at a path is the one that was published there, even if a program has modified it since. */
export function isPublishedFile(record: PublishedRecord, path: string): boolean {
  const { dev, ino, birthtimeMs } = statSync(path);
  return (
    record.path === path && record.device === dev && record.inode === ino && record.bornAtMs === birthtimeMs
  );
}

/** Whether the published file is unchanged. Details that an older version did not record are not checked. */
export function isUntouched({ size, modifiedAtMs, changedAtMs }: PublishedRecord, path: string): boolean {
  const now = statSync(path);
  const isSame = (held: number | undefined, seen: number) => held === undefined || held === seen;
  return isSame(size, now.size) && isSame(modifiedAtMs, now.mtimeMs) && isSame(changedAtMs, now.ctimeMs);
}

function recordFile(stateDir: string): string {
  return join(stateDir, 'published.json');
}
