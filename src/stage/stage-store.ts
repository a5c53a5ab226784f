import { createReadStream } from 'node:fs';
import { type FileHandle, open, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { makeFolders } from '../files/make-folders.ts';
import { z } from 'zod';
import { parseSummedJson, toSummedJson } from '../files/summed-json.ts';
import { writeWhole } from '../files/write-whole.ts';
import { appendBuffers } from './line-writer.ts';
import { storageGuard, wrapStorageError } from './storage-errors.ts';

const MOST_QUEUED_BYTES = 2 * 2 ** 20;
/** Enough to write to the disk immediately, bytes. */
const ENOUGH_BYTES = 2 ** 19;
/** Event loop turns to wait for more pages. */
const TURNS_TO_WAIT = 4;

/** The request of a staged scan; pages of a different request cannot be used. */
const stagedScanSchema = z.object({
  version: z.literal(1),
  stream: z.string(),
  /** Hash of connector, parameters, page size and start date. */
  question: z.string(),
  startedAtMs: z.number(),
  runId: z.string(),
  /** Fingerprint of the key. */
  key: z.string().optional(),
  /** Fields excluded from or hashed in the records. */
  masks: z.record(z.string(), z.string()).optional(),
  /** The table was found to need a full scan, which the next scan would find as well. */
  readsAll: z.literal(true).optional(),
  /** A run refused its records for the contract: the next one that does drops them. */
  refused: z.literal(true).optional(),
});
export type StagedScan = z.infer<typeof stagedScanSchema>;

/** One page of a stage. */
export const stagedPageSchema = z.object({
  offset: z.number(),
  firstPosition: z.number(),
  rows: z.number(),
  firstHash: z.string().optional(),
  lastHash: z.string().optional(),
  total: z.number().optional(),
  pageHash: z.string().optional(),
  /** Fingerprint of the page as received. */
  textHash: z.string().optional(),
  /** Cursor of the next page, for APIs that page by cursor. */
  next: z.string().optional(),
  /** When it was read by this machine's clock and by the server's, epoch ms. */
  readAtMs: z.number().optional(),
  serverDateMs: z.number().optional(),
  /** An extra page: kept in addition to the scan's pages because it did not match its neighbours. */
  besides: z.boolean().optional(),
  /** Size of the records file including this page, bytes. */
  endByte: z.number(),
  /** CRC-32 of the entry and of the page's bytes in the records file. */
  sum: z.number().optional(),
});
/** One line of the index: a page that is completely in the records file. */
export type StagedPageEntry = z.infer<typeof stagedPageSchema>;

/** Where the records of a stage are. */
export function recordsFileOf(folder: string): string {
  return join(folder, 'records.ndjson');
}

export interface StagedLines {
  readonly entry: Omit<StagedPageEntry, 'endByte' | 'sum'>;
  /** Record lines, each ending with a line break. */
  readonly lines: string | Buffer;
}

interface StageOptions {
  readonly isDurable?: boolean;
  readonly onWritten?: (pages: readonly StagedPageEntry[]) => void;
}

interface QueuedPage {
  readonly entry: StagedLines['entry'];
  readonly bytes: Buffer;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * The pages of one scan on disk: records in `records.ndjson`, one per line, and an index that lists a page only after
 * its records are on disk. A crash therefore leaves complete pages and a tail to cut off.
 */
export class StageStore {
  readonly recordsFile: string;
  readonly #records: FileHandle;
  readonly #index: FileHandle;
  readonly #isDurable: boolean;
  /** Notified of pages once they are on the disk, in file order. */
  readonly #onWritten: ((pages: readonly StagedPageEntry[]) => void) | undefined;
  #endByte: number;
  #queue: QueuedPage[] = [];
  #writing: Promise<void> | undefined;
  #failure: unknown;

  private constructor(
    folder: string,
    files: { readonly records: FileHandle; readonly index: FileHandle },
    endByte: number,
    { isDurable, onWritten }: StageOptions,
  ) {
    this.recordsFile = recordsFileOf(folder);
    this.#records = files.records;
    this.#index = files.index;
    this.#endByte = endByte;
    this.#isDurable = isDurable ?? true;
    this.#onWritten = onWritten;
  }

  /**
   * Creates an empty stage and discards what the folder held. A stage that no later process resumes need not survive
   * a crash: `isDurable: false` skips syncing to the disk.
   */
  static async begin(folder: string, scan: StagedScan, options: StageOptions = {}): Promise<StageStore> {
    return storageGuard(folder, async () => {
      await rm(folder, { recursive: true, force: true });
      makeFolders(folder, 0o700);
      await writeFile(join(folder, 'scan.json'), toSummedJson(scan), { mode: 0o600 });
      return StageStore.#openAt(folder, 0, options);
    });
  }

  /** Opens the stage of an earlier process and cuts off an incomplete page. */
  static async reopen(
    folder: string,
    scan: StagedScan,
    pages: readonly StagedPageEntry[],
  ): Promise<StageStore> {
    return storageGuard(folder, async () => {
      const endByte = pages.reduce((end, page) => Math.max(end, page.endByte), 0);
      await truncate(recordsFileOf(folder), endByte);
      // By rename: a crash in between must not lose the entries.
      const lines = pages.map((page) => `${JSON.stringify(page)}\n`).join('');
      await replaceFile(join(folder, 'pages.ndjson'), lines);
      await replaceFile(join(folder, 'scan.json'), toSummedJson(scan));
      return StageStore.#openAt(folder, endByte, {});
    });
  }

  static async #openAt(folder: string, endByte: number, options: StageOptions): Promise<StageStore> {
    const records = await open(recordsFileOf(folder), 'a', 0o600);
    const index = await open(join(folder, 'pages.ndjson'), 'a', 0o600).catch(async (error: unknown) => {
      await records.close();
      throw error;
    });
    return new StageStore(folder, { records, index }, endByte, options);
  }

  /** Resolves once the page is durable. Pages queued in the meantime are written together. */
  append({ entry, lines }: StagedLines): Promise<void> {
    // As strings they would keep the page's whole text in memory until they are written.
    const bytes = typeof lines === 'string' ? Buffer.from(lines) : lines;
    return new Promise((done, failed) => {
      this.#queue.push({ entry, bytes, done, failed });
      this.#writing ??= this.#drain();
    });
  }

  /**
   * Waits only while too much is queued. Throws the error of a failed write: nothing that comes after it is kept, so
   * nothing more should be asked for.
   */
  async settle(): Promise<void> {
    while (this.#writing !== undefined && this.#queuedBytes() > MOST_QUEUED_BYTES) await this.#writing;
    if (this.#failure !== undefined) throw this.#failure as Error;
  }

  #queuedBytes(): number {
    return this.#queue.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** Waits until all pages are on the disk; throws the error of a failed write. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    if (this.#failure !== undefined) throw this.#failure as Error;
  }

  async close(): Promise<void> {
    await this.#writing?.catch(() => undefined);
    await this.#records.close();
    await this.#index.close();
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      // Pages that arrive in quick succession are written together: one sync takes as long as many.
      for (let turn = 0; turn < TURNS_TO_WAIT && this.#queuedBytes() < ENOUGH_BYTES; turn += 1)
        await new Promise((resolve) => setImmediate(resolve));
      const batch = this.#queue;
      this.#queue = [];
      try {
        await this.#write(batch);
        for (const { done } of batch) done();
      } catch (error) {
        this.#failure ??= wrapStorageError(this.recordsFile, error);
        for (const { failed } of batch) failed(this.#failure);
      }
    }
    // Reset here and not when the promise settles: a page queued in between would wait for ever.
    this.#writing = undefined;
  }

  async #write(pages: readonly QueuedPage[]): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure as Error;
    const written: StagedPageEntry[] = [];
    let end = this.#endByte;
    for (const { entry, bytes } of pages) {
      end += bytes.length;
      const named = { ...entry, endByte: end };
      written.push({ ...named, sum: crc32(bytes, sumEntry(named)) });
    }
    await appendBuffers(
      this.#records,
      pages.map(({ bytes }) => bytes),
    );
    if (this.#isDurable) await this.#records.datasync();
    await this.#index.appendFile(written.map((page) => `${JSON.stringify(page)}\n`).join(''));
    if (this.#isDurable) await this.#index.datasync();
    this.#endByte = end;
    this.#onWritten?.(written);
  }
}

/**
 * The stage of an earlier process, or undefined if it is not usable. `isProved` checks the records as well: pages
 * then end before the first one whose bytes changed.
 */
export async function readStage(
  folder: string,
  { isProved = false }: { readonly isProved?: boolean } = {},
): Promise<{ readonly scan: StagedScan; readonly pages: readonly StagedPageEntry[] } | undefined> {
  try {
    const scan = stagedScanSchema.parse(parseSummedJson(await readFile(join(folder, 'scan.json'), 'utf8')));
    const records = await open(recordsFileOf(folder), 'r');
    const { size } = await records.stat().finally(() => records.close());
    const pages: StagedPageEntry[] = [];
    for (const line of (await readFile(join(folder, 'pages.ndjson'), 'utf8')).split('\n')) {
      const page = parseEntry(line);
      // Stops at the first incomplete line or at lost bytes: later pages cannot be trusted.
      if (page === undefined || page.endByte > size) break;
      pages.push(page);
    }
    const usable = isProved ? await provePages(recordsFileOf(folder), pages) : pages;
    return usable.length === 0 ? undefined : { scan, pages: usable };
  } catch {
    return undefined;
  }
}

/** The pages before the first one damaged on disk: a flipped bit may still give valid JSON. */
async function provePages(
  recordsFile: string,
  pages: readonly StagedPageEntry[],
): Promise<readonly StagedPageEntry[]> {
  let start = 0;
  for (const [at, page] of pages.entries()) {
    let sum = sumEntry(page);
    if (page.endByte > start) {
      for await (const chunk of createReadStream(recordsFile, { start, end: page.endByte - 1 }))
        sum = crc32(chunk as Buffer, sum);
    }
    if (sum !== page.sum) return pages.slice(0, at);
    start = page.endByte;
  }
  return pages;
}

function sumEntry({ sum: _, ...entry }: StagedPageEntry): number {
  const members = Object.entries(entry).filter(([, value]) => value !== undefined);
  return crc32(JSON.stringify(members.toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

const replaceFile = (file: string, text: string) => writeWhole(file, text, { mode: 0o600 });

/** Removes a stage whose rows are committed. */
export const discardStage = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true });

/** Notes that a stage's records were refused; a new stage has no such note. */
export const markRefused = (folder: string, scan: StagedScan): Promise<void> =>
  storageGuard(folder, () =>
    replaceFile(join(folder, 'scan.json'), toSummedJson({ ...scan, refused: true })),
  );

function parseEntry(line: string): StagedPageEntry | undefined {
  try {
    return stagedPageSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}
