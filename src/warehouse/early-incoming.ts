import { type FileHandle, open, rm } from 'node:fs/promises';
import type { FieldTree } from '../schema/observe-fields.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import type { LinePlace } from '../stage/line-places.ts';
import { LEAST_LINE_LIMIT } from '../stage/line-writer.ts';
import type { Database } from './database.ts';
import { appendIncoming, createIncoming, dropIncoming, type IncomingPlace } from './incoming.ts';
import type { EarlyPart } from './project-stage.ts';
import { selectStage } from './read-stage.ts';

const COPY_BYTES = 2 ** 20;
const LINE_BREAK = 0x0a;

/**
 * The table of a scan's rows, filled in parts while the scan is still running. The columns are only known at its end,
 * so the early part is used only if the final statement is the same; otherwise everything is read again.
 */
export class EarlyIncoming implements EarlyPart {
  readonly #database: Database;
  readonly #recordsFile: string;
  readonly #place: IncomingPlace;
  /** The statement that reads the parts; undefined before the first. */
  #select: string | undefined;
  #endByte = 0;

  constructor(database: Database, recordsFile: string, place: IncomingPlace = 'temporary') {
    this.#database = database;
    this.#recordsFile = recordsFile;
    this.#place = place;
  }

  get endByte(): number {
    return this.#endByte;
  }

  /** Continues reading up to the end of a line; false if the engine cannot read the lines directly. */
  async readTo(end: LinePlace, tree: FieldTree, columns: readonly ColumnPlan[]): Promise<boolean> {
    const select = this.#selectPart(tree, columns);
    if (select === undefined) return false;
    const isSame = select === this.#select;
    if (!isSame) await this.drop();
    return this.#read(select, columns, end);
  }

  /** Reads the rest of a complete scan's file; false if its columns differ from those used so far. */
  async complete(size: number, tree: FieldTree, columns: readonly ColumnPlan[]): Promise<boolean> {
    const select = this.#selectPart(tree, columns);
    if (select === undefined || select !== this.#select) return false;
    return this.#endByte === size || this.#read(select, columns, { byte: size, lines: 0 });
  }

  /** Discards what was read. */
  async drop(): Promise<void> {
    this.#select = undefined;
    this.#endByte = 0;
    await dropIncoming(this.#database);
  }

  get #partFile(): string {
    return `${this.#recordsFile}.part`;
  }

  #selectPart(tree: FieldTree, columns: readonly ColumnPlan[]): string | undefined {
    return selectStage({ file: this.#partFile, lineLimit: LEAST_LINE_LIMIT }, tree, columns);
  }

  /** False if the part cannot be copied: the disk may be full, and reading the whole file needs no copy. */
  async #read(select: string, columns: readonly ColumnPlan[], end: LinePlace): Promise<boolean> {
    let endByte: number | undefined;
    try {
      endByte = await copyPart(this.#recordsFile, this.#partFile, this.#endByte, end).catch(() => undefined);
      if (endByte === undefined) return false;
      if (this.#select === undefined) await createIncoming(this.#database, select, columns, this.#place);
      else await appendIncoming(this.#database, select);
    } finally {
      await rm(this.#partFile, { force: true }).catch(() => undefined);
    }
    this.#select = select;
    this.#endByte = endByte;
    return true;
  }
}

/** Copies lines, as the engine can only read whole files. Returns the byte at which the last one ends. */
async function copyPart(from: string, to: string, startByte: number, end: LinePlace): Promise<number> {
  const source = await open(from, 'r');
  try {
    const target = await open(to, 'w', 0o600);
    try {
      const endByte = end.lines === 0 ? end.byte : await findEnd(source, end);
      const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, endByte - startByte));
      for (let at = startByte; at < endByte;) {
        const read = await readSome(source, buffer, at, endByte);
        await target.appendFile(read);
        at += read.length;
      }
      return endByte;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** The byte at which a line ends. */
async function findEnd(source: FileHandle, { byte, lines }: LinePlace): Promise<number> {
  const buffer = Buffer.allocUnsafe(COPY_BYTES);
  let left = lines;
  for (let at = byte; ;) {
    const read = await readSome(source, buffer, at, Infinity);
    for (let from = 0; ;) {
      const found = read.indexOf(LINE_BREAK, from);
      if (found === -1) break;
      left -= 1;
      from = found + 1;
      if (left === 0) return at + from;
    }
    at += read.length;
  }
}

async function readSome(source: FileHandle, buffer: Buffer, at: number, endByte: number): Promise<Buffer> {
  const { bytesRead } = await source.read(buffer, 0, Math.min(buffer.length, endByte - at), at);
  if (bytesRead === 0) throw new Error(`the staged records end at byte ${at}`);
  return buffer.subarray(0, bytesRead);
}
