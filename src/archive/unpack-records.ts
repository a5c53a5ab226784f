import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createZstdDecompress } from 'node:zlib';
import { assertNotAborted } from '../model/abort.ts';
import { StorageError, SyncError } from '../model/errors.ts';
import { damagedFile } from './archive-errors.ts';
import type { ArchivedContent } from './archived-scan.ts';
import { isWholeFrames } from './frame-end.ts';

const CHUNK = 1 << 18;

/**
 * Reads the records of an archived scan as batches of complete lines, in constant memory. Lines that describe pages
 * begin with `#`.
 *
 * @throws StorageError `archive_damaged` for a missing, truncated or changed file; at the latest at its end.
 */
export async function* unpackRecords(
  folder: string,
  content: ArchivedContent,
  signal?: AbortSignal,
): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let rest: string[] = [];
  for await (const chunk of readContent(folder, content, signal)) {
    const text = decoder.decode(chunk, { stream: true });
    const end = text.lastIndexOf('\n');
    if (end === -1) {
      // Joined only at the end of the line: one record may be as long as a whole response.
      rest.push(text);
      continue;
    }
    yield (rest.join('') + text.slice(0, end)).split('\n');
    rest = [text.slice(end + 1)];
  }
}

/** Reads a whole file; throws `archive_damaged` if it is not what was written. */
export async function assertContentWhole(
  folder: string,
  content: ArchivedContent,
  signal?: AbortSignal,
): Promise<void> {
  const chunks = readContent(folder, content, signal);
  while ((await chunks.next()).done !== true);
}

/** The same check as a boolean. */
export async function isContentWhole(
  folder: string,
  content: ArchivedContent,
  signal?: AbortSignal,
): Promise<boolean> {
  try {
    await assertContentWhole(folder, content, signal);
    return true;
  } catch (error) {
    if (error instanceof StorageError) return false;
    throw error;
  }
}

async function* readContent(
  folder: string,
  content: ArchivedContent,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  const path = join(folder, content.file);
  const hash = createHash('sha256');
  const packed = createReadStream(path, { highWaterMark: CHUNK });
  const unpacked = createZstdDecompress({ chunkSize: CHUNK });
  packed.once('error', (error) => unpacked.destroy(error));
  try {
    for await (const chunk of packed.pipe(unpacked)) {
      assertNotAborted(signal);
      hash.update(chunk as Buffer);
      yield chunk as Buffer;
    }
  } catch (error) {
    if (error instanceof SyncError) throw error;
    throw damagedFile(path, (error as Error).message, error);
  } finally {
    packed.destroy();
  }
  if (hash.digest('hex') !== content.sha256)
    throw damagedFile(path, 'its records are not those that were written');
  // The last bytes are a checksum. All records can be read without them, so a truncated file may go unnoticed.
  if (!(await isWholeFrames(path))) throw damagedFile(path, 'it is truncated, or has data after its end');
}
