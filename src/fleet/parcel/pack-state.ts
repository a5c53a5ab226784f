import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { onDisk, openLocal, writeChunks } from '../store/local-file.ts';
import { isWorkFile, listParcelFiles } from './choose-files.ts';
import { openStages } from './open-stages.ts';
import type { ParcelSeal } from './parcel-header.ts';
import { sealParcel } from './seal-parcel.ts';
import { loadTar, type OpenedFile, writeTar } from './tar-stream.ts';

/** How a state is packed. */
export interface PackOptions extends ParcelSeal {
  /** `work-file`: a lakehouse has the rows, and they are restored from there. */
  readonly leaveOut?: 'work-file' | undefined;
  /** Gives so many random bytes. */
  readonly random?: (bytes: number) => Buffer;
}

/** What a parcel holds. */
export interface ParcelContent {
  readonly files: number;
  /** Of the files. */
  readonly bytes: number;
}

/** And the size of the parcel itself. */
export interface PackedParcel extends ParcelContent {
  readonly packedBytes: number;
}

/** Fast: the archive is compressed already, and rows leave at the speed of the network. */
const LEVEL = 1;
const CHUNK_BYTES = 2 ** 17;

/**
 * Packs a state folder that no run has open into one encrypted file, without what only this machine needs.
 *
 * @param folder absolute
 * @param file absolute; appears whole or not at all, mode 0600
 * @throws ConfigError (2) if a package is not installed; StorageError (6) if the disk refuses
 */
export async function packState(folder: string, file: string, options: PackOptions): Promise<PackedParcel> {
  const paths = await listParcelFiles(folder);
  const chosen = options.leaveOut === 'work-file' ? paths.filter((path) => !isWorkFile(path)) : paths;
  return pack(openEach(folder, chosen), file, options);
}

/**
 * Packs the pages that are staged, even while a run adds more: those that its page lists name by now.
 *
 * @throws ConfigError (2) if a package is not installed; StorageError (6) if the disk refuses
 */
export async function packStage(folder: string, file: string, options: PackOptions): Promise<PackedParcel> {
  return pack(openStages(folder), file, options);
}

async function pack(
  files: AsyncIterable<OpenedFile>,
  file: string,
  { key, name, random = randomBytes }: PackOptions,
): Promise<PackedParcel> {
  const tar = await loadTar();
  let count = 0;
  let bytes = 0;
  const counted = async function* () {
    for await (const opened of files) {
      count += 1;
      bytes += opened.size;
      yield opened;
    }
  };
  const packedBytes = await pipeline(
    gather(writeTar(tar, counted())),
    createZstdCompress({
      chunkSize: CHUNK_BYTES,
      params: { [constants.ZSTD_c_compressionLevel]: LEVEL },
    }),
    (compressed: AsyncIterable<Buffer>) =>
      writeChunks({ file }, sealParcel(compressed, { key, name }, random)),
  );
  return { files: count, bytes, packedBytes };
}

/** Small chunks together: each one that is compressed costs a turn of the thread pool. */
async function* gather(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    held.push(chunk);
    bytes += chunk.length;
    if (bytes < CHUNK_BYTES) continue;
    yield held.length === 1 ? chunk : Buffer.concat(held, bytes);
    held = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(held, bytes);
}

async function* openEach(folder: string, paths: readonly string[]): AsyncGenerator<OpenedFile> {
  for (const path of paths) {
    const file = join(folder, path);
    const handle = await openLocal(file);
    try {
      const { size } = await onDisk(file, () => handle.stat());
      yield { path, file, handle, size };
    } finally {
      await handle.close();
    }
  }
}
