import { createHash } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { temporaryName } from './archive-folder.ts';
import type { ArchivedContent } from './archived-scan.ts';
import { isContentWhole } from './unpack-records.ts';

/** The location of one page's lines in a file of staged records. */
export interface PackedPage {
  readonly offset: number;
  readonly firstPosition: number;
  readonly rows: number;
  readonly total: number | undefined;
  /** An extra page: kept in addition to the scan's pages because it did not match its neighbours. */
  readonly besides: boolean | undefined;
  readonly startByte: number;
  readonly endByte: number;
}

// Many pages: reading a chunk, and compressing it, is a turn of the thread pool each.
const CHUNK = 1 << 19;
// A compressed chunk always fits, so that the next turn has it all.
const PACKED_CHUNK = CHUNK + (1 << 14);
/** On records, level 3 takes longer and gives files of the same size. */
const FASTEST = 1;

/**
 * Compresses staged records into an archive folder, in constant memory. Pages are written in the order of their
 * positions, each followed by a line that describes it. Equal scans therefore give the same file, whatever order
 * their pages arrived in.
 */
export async function packRecords(
  folder: string,
  recordsFile: string,
  pages: readonly PackedPage[],
  signal?: AbortSignal,
): Promise<ArchivedContent> {
  if (pages.length === 0) return packChunks(folder, noChunks(), signal);
  return packRuns(folder, recordsFile, [joinNeighbours(orderPages(pages))], signal);
}

/** The same for pages already ordered by position, as runs from `joinNeighbours`. */
export async function packRuns(
  folder: string,
  recordsFile: string,
  runs: Iterable<PageRuns> | AsyncIterable<PageRuns>,
  signal?: AbortSignal,
): Promise<ArchivedContent> {
  return packChunks(folder, readRuns(recordsFile, runs), signal);
}

/** The same for lines from any other source, which may reuse the memory of a chunk once the next one is asked for. */
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
  // A variable, because the types know no such option; it is one of every stream.
  const options = {
    // Each piece is a turn of the thread pool, which takes longer than compressing a small one.
    chunkSize: PACKED_CHUNK,
    // Full with any chunk: the next one is asked for when the one before is compressed.
    writableHighWaterMark: 1,
    params: { [constants.ZSTD_c_checksumFlag]: 1, [constants.ZSTD_c_compressionLevel]: FASTEST },
  };
  const compress = createZstdCompress(options);
  try {
    await pipeline(
      watch(chunks),
      compress,
      createWriteStream(temporary, { mode: 0o600, flush: true }),
      ...(signal === undefined ? [] : [{ signal }]),
    );
    const sha256 = hash.digest('hex');
    const file = `${sha256.slice(0, 32)}.ndjson.zst`;
    return await keepOne(folder, temporary, { file, sha256, bytes, packedBytes: 0 }, signal);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

/**
 * Stores records under a name derived from their content. An undamaged file of that name is kept: earlier headers
 * record its size, which depends on how the text was chunked.
 */
async function keepOne(
  folder: string,
  temporary: string,
  content: ArchivedContent,
  signal: AbortSignal | undefined,
): Promise<ArchivedContent> {
  const path = join(folder, content.file);
  if (existsSync(path) && (await isContentWhole(folder, content, signal))) await rm(temporary);
  else await rename(temporary, path);
  return { ...content, packedBytes: (await stat(path)).size };
}

/** Sorts pages into the order in which they are packed. */
export function orderPages(pages: readonly PackedPage[]): readonly PackedPage[] {
  return pages.toSorted((a, b) => a.firstPosition - b.firstPosition);
}

async function* noChunks(): AsyncGenerator<Buffer> {
  // There may be no file to read.
}

async function* readRuns(
  path: string,
  all: Iterable<PageRuns> | AsyncIterable<PageRuns>,
): AsyncGenerator<Buffer> {
  const file = await open(path, 'r');
  const space = { read: Buffer.allocUnsafeSlow(CHUNK), joined: Buffer.allocUnsafeSlow(2 * CHUNK) };
  try {
    for await (const runs of all) for (const run of runs) yield* readRun(file, run, space);
  } finally {
    await file.close();
  }
}

/** Groups of pages; each group is read at once. */
export type PageRuns = readonly (readonly PackedPage[])[];

/**
 * Groups pages that are adjacent in the file, up to a chunk. Reading each page separately would take longer than
 * compressing it.
 */
export function joinNeighbours(pages: readonly PackedPage[]): PageRuns {
  const runs: PackedPage[][] = [];
  for (const page of pages) {
    const run = runs.at(-1);
    const isNext = run?.at(-1)?.endByte === page.startByte;
    if (run !== undefined && isNext && page.endByte - (run[0]?.startByte ?? 0) <= CHUNK) run.push(page);
    else runs.push([page]);
  }
  return runs;
}

/**
 * Memory for the runs of a scan, one after the other. Taken for each run, it would make the collector look at everything
 * every few megabytes.
 */
interface RunSpace {
  readonly read: Buffer;
  readonly joined: Buffer;
}

async function* readRun(
  file: FileHandle,
  run: readonly PackedPage[],
  space: RunSpace,
): AsyncGenerator<Buffer> {
  const start = run[0]?.startByte ?? 0;
  const end = run.at(-1)?.endByte ?? start;
  // Only a single page can be longer than a chunk.
  let from = start;
  for (; end - from > CHUNK; from += CHUNK) yield await readBytes(file, from, space.read);
  const bytes = await readBytes(file, from, space.read.subarray(0, end - from));
  const pieces = run.flatMap(({ startByte, endByte, ...page }) => [
    bytes.subarray(Math.max(startByte, from) - from, endByte - from),
    Buffer.from(`#${JSON.stringify(page)}\n`),
  ]);
  yield joinInto(space.joined, pieces);
}

/** The pieces one after the other, in a space if they fit. */
function joinInto(space: Buffer, pieces: readonly Buffer[]): Buffer {
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  if (size > space.length) return Buffer.concat(pieces);
  let at = 0;
  for (const piece of pieces) at += piece.copy(space, at);
  return space.subarray(0, size);
}

async function readBytes(file: FileHandle, start: number, bytes: Buffer): Promise<Buffer> {
  for (let at = 0; at < bytes.length;) {
    const { bytesRead } = await file.read(bytes, at, bytes.length - at, start + at);
    if (bytesRead === 0) throw new Error('the staged records end before their pages do');
    at += bytesRead;
  }
  return bytes;
}
