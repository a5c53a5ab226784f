import { constants, createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { StorageError, SyncError } from '../../model/errors.ts';

/** Bytes read at once. */
const CHUNK_BYTES = 2 ** 18;

/** How a file is written. */
export interface WrittenFile {
  /** Absolute path; appears whole or not at all, with mode 0600. */
  readonly file: string;
  /** Written first; in the same file system. */
  readonly temporary?: string;
  /** A file that need not survive a crash of the machine. */
  readonly isScratch?: boolean;
}

/**
 * Writes chunks to a file: flushed, then renamed. Leaves nothing behind on failure.
 *
 * @returns how many bytes it has
 * @throws StorageError (6) if the disk refuses; what `chunks` throws, unchanged
 */
export async function writeChunks(
  { file, temporary = `${file}.part`, isScratch = false }: WrittenFile,
  chunks: AsyncIterable<Uint8Array>,
): Promise<number> {
  try {
    // Never through a link that somebody else has laid there.
    await onDisk(file, () => rm(temporary, { force: true }));
    const handle = await onDisk(file, () => open(temporary, 'wx', 0o600));
    let bytes = 0;
    try {
      for await (const chunk of chunks) {
        await onDisk(file, () => writeAll(handle, chunk));
        bytes += chunk.length;
      }
      if (!isScratch) await onDisk(file, () => handle.sync());
    } finally {
      await handle.close();
    }
    await onDisk(file, () => rename(temporary, file));
    return bytes;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Bytes of a file, in chunks; `end` is the last one. Throws StorageError (6). */
export async function* readChunks(
  file: string,
  range: { readonly start?: number; readonly end?: number } = {},
): AsyncGenerator<Buffer> {
  const stream = createReadStream(file, { highWaterMark: CHUNK_BYTES, ...range });
  try {
    for await (const chunk of stream) yield chunk as Buffer;
  } catch (error) {
    throw diskError(file, error);
  } finally {
    stream.destroy();
  }
}

/** Opens a file for reading; never a link. Throws StorageError (6). */
export function openLocal(file: string): Promise<FileHandle> {
  return onDisk(file, () => open(file, constants.O_RDONLY | constants.O_NOFOLLOW));
}

/**
 * Fills a buffer from a file, from a position on.
 *
 * @throws StorageError (6), also if the file ends before
 */
export async function readFully(
  { handle, file }: { readonly handle: FileHandle; readonly file: string },
  buffer: Buffer,
  position: number,
): Promise<void> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await onDisk(file, () =>
      handle.read(buffer, filled, buffer.length - filled, position + filled),
    );
    if (bytesRead === 0) throw diskError(file, new Error(`it ended at ${position + filled} bytes`));
    filled += bytesRead;
  }
}

/** Does what may fail on the disk of this machine. Throws StorageError (6). */
export async function onDisk<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw diskError(file, error);
  }
}

async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  let written = 0;
  while (written < chunk.length) written += (await handle.write(chunk, written)).bytesWritten;
}

function diskError(file: string, error: unknown): SyncError {
  if (error instanceof SyncError) return error;
  const said = error instanceof Error ? error.message : String(error);
  return new StorageError(`cannot read or write ${file}: ${said}`, {
    code: 'storage_failed',
    hint: 'Free some space or fix the permissions of its folder, then run again. What was stored before is unchanged.',
    context: { path: file },
    cause: error,
  });
}
