import { open, rm } from 'node:fs/promises';
import type { FieldTree } from '../schema/observe-fields.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import type { Database } from './database.ts';
import { LEAST_LINE_LIMIT } from '../stage/line-writer.ts';
import { type EarlyPart, INCOMING } from './project-stage.ts';
import { selectStage } from './read-stage.ts';

const COPY_BYTES = 2 ** 20;

/**
 * The table of a scan's rows, filled in parts while the scan is still running. The columns are only known at its end,
 * so the early part is used only if the final statement is the same; otherwise everything is read again.
 */
export class EarlyIncoming implements EarlyPart {
  readonly #database: Database;
  readonly #recordsFile: string;
  /** The statement that reads the parts; undefined before the first. */
  #select: string | undefined;
  #endByte = 0;

  constructor(database: Database, recordsFile: string) {
    this.#database = database;
    this.#recordsFile = recordsFile;
  }

  get endByte(): number {
    return this.#endByte;
  }

  /** Continues reading up to a byte at which a line ends; false if the engine cannot read the lines directly. */
  async readTo(endByte: number, tree: FieldTree, columns: readonly ColumnPlan[]): Promise<boolean> {
    const select = this.#selectPart(tree, columns);
    if (select === undefined) return false;
    const isSame = select === this.#select;
    const start = isSame ? this.#endByte : 0;
    if (!isSame) await this.drop();
    return this.#read(select, start, endByte);
  }

  /** Reads the rest of a complete scan's file; false if its columns differ from those used so far. */
  async complete(size: number, tree: FieldTree, columns: readonly ColumnPlan[]): Promise<boolean> {
    const select = this.#selectPart(tree, columns);
    if (select === undefined || select !== this.#select) return false;
    return this.#endByte === size || this.#read(select, this.#endByte, size);
  }

  /** Discards what was read. */
  async drop(): Promise<void> {
    this.#select = undefined;
    this.#endByte = 0;
    await this.#database.run(`DROP TABLE IF EXISTS ${INCOMING}`);
  }

  get #partFile(): string {
    return `${this.#recordsFile}.part`;
  }

  #selectPart(tree: FieldTree, columns: readonly ColumnPlan[]): string | undefined {
    return selectStage({ file: this.#partFile, lineLimit: LEAST_LINE_LIMIT }, tree, columns);
  }

  /** False if the part cannot be copied: the disk may be full, and reading the whole file needs no copy. */
  async #read(select: string, start: number, end: number): Promise<boolean> {
    try {
      const isCopied = await copyPart(this.#recordsFile, this.#partFile, start, end).then(
        () => true,
        () => false,
      );
      if (!isCopied) return false;
      const into = start === 0 ? 'CREATE TEMP TABLE "~incoming" AS' : `INSERT INTO ${INCOMING} BY NAME`;
      await this.#database.run(`${into} ${select}`);
    } finally {
      await rm(this.#partFile, { force: true }).catch(() => undefined);
    }
    this.#select = select;
    this.#endByte = end;
    return true;
  }
}

// The engine can only read whole files.
async function copyPart(from: string, to: string, start: number, end: number): Promise<void> {
  const source = await open(from, 'r');
  try {
    const target = await open(to, 'w', 0o600);
    try {
      const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, end - start));
      for (let at = start; at < end;) {
        const { bytesRead } = await source.read(buffer, 0, Math.min(buffer.length, end - at), at);
        if (bytesRead === 0) throw new Error(`the staged records end at byte ${at} of ${end}`);
        await target.appendFile(buffer.subarray(0, bytesRead));
        at += bytesRead;
      }
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}
