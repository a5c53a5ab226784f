import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { checksumFile } from '../../warehouse/fingerprint-file.ts';
import type { LakeFile } from './manifest.ts';

/** A file with the time of its last change: in whole ms, as some file systems keep no more. */
export function withChangeTime(folder: string, file: LakeFile): LakeFile {
  const found = lstatSync(join(folder, file.path), { throwIfNoEntry: false });
  return { ...file, modifiedAtMs: found && Math.floor(found.mtimeMs) };
}

/** Whether a file was last changed when it was written, by its time alone. */
export function isUntouched(folder: string, file: LakeFile): boolean {
  return file.modifiedAtMs !== undefined && withChangeTime(folder, file).modifiedAtMs === file.modifiedAtMs;
}

/**
 * A file as it is now, if it has the bytes that were written: read only if its time changed, as in a copy of a lake, or
 * if an earlier release recorded none. Undefined if another program wrote other bytes, or if they cannot be read.
 */
export async function findUnchanged(folder: string, file: LakeFile): Promise<LakeFile | undefined> {
  const now = withChangeTime(folder, file);
  if (now.modifiedAtMs === undefined) return undefined;
  // Of a file that is older still, nothing is known of its bytes.
  if (now.modifiedAtMs === file.modifiedAtMs || (file.modifiedAtMs ?? file.crc32) === undefined) return now;
  if (file.crc32 === undefined) return undefined;
  const checksum = await checksumFile(join(folder, file.path)).catch(() => undefined);
  return checksum === file.crc32 ? now : undefined;
}
