import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { checksumFile } from '../../warehouse/fingerprint-file.ts';
import type { LakeFile } from './manifest.ts';

/** When a file was last changed, epoch ms: whole ones, as some file systems keep no more; undefined if it is gone. */
export function readChangeTime(path: string): number | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found && Math.floor(found.mtimeMs);
}

/** Whether a file was last changed when it was written, by its time alone. */
export function isUntouched(folder: string, { path, modifiedAtMs }: LakeFile): boolean {
  return modifiedAtMs !== undefined && readChangeTime(join(folder, path)) === modifiedAtMs;
}

/**
 * A file as it is now, if it has the bytes that were written: read only if its time changed, as in a copy of a lake, or
 * if an earlier release recorded none. Undefined if another program wrote other bytes, or if they cannot be read.
 */
export async function findUnchanged(folder: string, file: LakeFile): Promise<LakeFile | undefined> {
  const path = join(folder, file.path);
  const modifiedAtMs = readChangeTime(path);
  if (modifiedAtMs === undefined) return undefined;
  const now = { ...file, modifiedAtMs };
  // Of files that are older still, nothing is known of their bytes.
  const isUnknown = file.modifiedAtMs === undefined && file.crc32 === undefined;
  if (isUnknown || isUntouched(folder, file)) return now;
  const checksum = await checksumFile(path).catch(() => undefined);
  return checksum !== undefined && checksum === file.crc32 ? now : undefined;
}
