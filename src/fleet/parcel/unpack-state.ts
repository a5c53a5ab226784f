import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import { makeFolders } from '../../files/make-folders.ts';
import { SyncError } from '../../model/errors.ts';
import { onDisk, readChunks, writeChunks } from '../store/local-file.ts';
import { isParcelFile } from './choose-files.ts';
import type { ParcelContent } from './pack-state.ts';
import { damagedParcel } from './parcel-errors.ts';
import type { ParcelSeal } from './parcel-header.ts';
import { openParcel } from './seal-parcel.ts';
import { loadTar, readTar } from './tar-stream.ts';

const CHUNK_BYTES = 2 ** 18;

/** How a state is unpacked. */
export interface UnpackOptions extends ParcelSeal {
  /** Gives so many random bytes. */
  readonly random?: (bytes: number) => Buffer;
}

/**
 * Unpacks a parcel into a state folder. Its tag is checked before anything is read from it, and all files are whole
 * before the folder is touched. What the parcel has at the top of a state folder (`stage`, `runs.json`, …) replaces
 * what is there; the rest of the folder stays.
 *
 * @param file absolute; it is kept
 * @param folder absolute; it is made if it is missing, mode 0700, and its files have 0600
 * @throws ConfigError (2) for another key, or if a package is not installed; StorageError (6): `state_damaged` for a
 *   parcel that is not what was packed under this name, `storage_failed` if the disk refuses
 */
export async function unpackState(
  file: string,
  folder: string,
  { key, name, random = randomBytes }: UnpackOptions,
): Promise<ParcelContent> {
  // Beside the folder, to be renamed into it.
  const scratch = join(dirname(folder), `.${basename(folder)}.unpacking-${random(6).toString('hex')}`);
  const content = join(scratch, 'content');
  try {
    await onDisk(scratch, () => {
      makeFolders(dirname(folder), 0o700);
      return mkdir(scratch, { mode: 0o700 });
    });
    const plain = join(scratch, 'parcel');
    await openParcel(file, plain, { key, name });
    await onDisk(content, () => mkdir(content, { mode: 0o700 }));
    const unpacked = await extract(plain, content, { file, name });
    await onDisk(folder, () => moveInto(content, folder));
    return unpacked;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function extract(
  plain: string,
  content: string,
  { file, name }: { readonly file: string; readonly name: string },
): Promise<ParcelContent> {
  const tar = await loadTar();
  let files = 0;
  let bytes = 0;
  const write = async (chunks: AsyncIterable<Buffer>) => {
    const seen = new Set<string>();
    for await (const entry of readTar(tar, chunks)) {
      if (!isParcelFile(entry.path) || seen.has(entry.path))
        throw new Error(`it holds ${JSON.stringify(entry.path)}, which no state has`);
      seen.add(entry.path);
      const target = join(content, entry.path);
      await onDisk(target, () => Promise.resolve(makeFolders(dirname(target), 0o700)));
      await writeChunks({ file: target, isScratch: true }, entry.bytes);
      files += 1;
      bytes += entry.size;
    }
  };
  try {
    await pipeline(readChunks(plain), createZstdDecompress({ chunkSize: CHUNK_BYTES }), write);
  } catch (error) {
    if (error instanceof SyncError) throw error;
    throw damagedParcel(name, file, error instanceof Error ? error.message : String(error));
  }
  return { files, bytes };
}

async function moveInto(content: string, folder: string): Promise<void> {
  makeFolders(folder, 0o700);
  for (const name of await readdir(content)) {
    await rm(join(folder, name), { recursive: true, force: true });
    await rename(join(content, name), join(folder, name));
  }
}
