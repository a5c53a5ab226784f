import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { resolveLinks } from './real-paths.ts';
import { WITHOUT_WAITING } from './without-waiting.ts';
import { type WholeFile, writeWhole } from './write-whole.ts';

/** How a file that a user named is written. */
export interface NamedFile extends Omit<WholeFile, 'temporary'> {
  /** Part of the temporary name, so that two commands do not write the same file. */
  readonly mark: string;
}

/**
 * Writes what a user named: a file whole or not at all, and a device or a pipe as it is. A rename would put a file in
 * its place, also in that of /dev/null. A link stays, and the file that it leads to is written.
 */
export async function writeNamed(path: string, bytes: Uint8Array, how: NamedFile): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() === false) return writeThrough(path, bytes);
  const file = resolveLinks(path);
  const { mark, ...rest } = how;
  await writeWhole(file, bytes, {
    ...rest,
    temporary: join(dirname(file), `.${basename(file)}.${mark}.tmp`),
  });
}

/** Whether it takes bytes without keeping them as a file does: a terminal, /dev/null, a pipe. */
export function takesBytes(found: Stats): boolean {
  return found.isCharacterDevice() || found.isFIFO();
}

const WAIT_MS = 5;

/** Without waiting in the system, where no signal ends a command: a pipe that nobody reads is refused (`ENXIO`). */
async function writeThrough(path: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(path, constants.O_WRONLY | WITHOUT_WAITING);
  try {
    for (let at = 0; at < bytes.length;) at += await writePart(handle, bytes.subarray(at));
  } finally {
    await handle.close();
  }
}

/** How many bytes were taken; none while the reader is behind. */
async function writePart(handle: FileHandle, bytes: Uint8Array): Promise<number> {
  try {
    return (await handle.write(bytes)).bytesWritten;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    return 0;
  }
}
