import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { temporaryName } from './archive-folder.ts';
import type { ArchivedContent } from './archived-scan.ts';

/** Where one page's lines lie in a file of staged records. */
export interface PackedPage {
  readonly offset: number;
  readonly firstPosition: number;
  readonly rows: number;
  readonly total: number | undefined;
  /** Kept beside the scan's pages, because it did not fit to them. */
  readonly besides: boolean | undefined;
  readonly startByte: number;
  readonly endByte: number;
}

const CHUNK = 1 << 20;

/**
 * Compresses staged records into a folder of the archive with constant memory, page after page in the order
 * of their positions, each followed by a line of its own: equal scans give one file, in whatever order their
 * pages came.
 */
export async function packRecords(
  folder: string,
  recordsFile: string,
  pages: readonly PackedPage[],
  signal?: AbortSignal,
): Promise<ArchivedContent> {
  return packChunks(folder, readPages(recordsFile, pages), signal);
}

/** The same for lines that come from elsewhere. */
export async function packChunks(
  folder: string,
  chunks: AsyncIterable<Buffer>,
  signal?: AbortSignal,
): Promise<ArchivedContent> {
  const temporary = join(folder, temporaryName('records'));
  const hash = createHash('sha256');
  let bytes = 0;
  async function* watch(source: AsyncIterable<Buffer>) {
    for await (const chunk of source) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  try {
    await pipeline(
      Readable.from(watch(chunks), { objectMode: false, highWaterMark: CHUNK }),
      compress,
      createWriteStream(temporary, { mode: 0o600, flush: true }),
      ...(signal === undefined ? [] : [{ signal }]),
    );
    const sha256 = hash.digest('hex');
    const file = `${sha256.slice(0, 32)}.ndjson.zst`;
    const packedBytes = (await stat(temporary)).size;
    await rename(temporary, join(folder, file));
    return { file, sha256, bytes, packedBytes };
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

async function* readPages(file: string, pages: readonly PackedPage[]): AsyncGenerator<Buffer> {
  for (const { startByte, endByte, ...page } of pages.toSorted((a, b) => a.firstPosition - b.firstPosition)) {
    if (endByte > startByte) {
      const range = { start: startByte, end: endByte - 1, highWaterMark: CHUNK };
      for await (const chunk of createReadStream(file, range)) yield chunk as Buffer;
    }
    yield Buffer.from(`#${JSON.stringify(page)}\n`);
  }
}
