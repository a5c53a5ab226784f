import { open, rm } from 'node:fs/promises';
import type { FieldTree } from '../schema/observe-fields.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import type { Database } from './database.ts';
import { LEAST_LINE_LIMIT } from './line-writer.ts';
import { type EarlyPart, INCOMING } from './project-stage.ts';
import { selectStage } from './read-stage.ts';

const COPY_BYTES = 2 ** 20;

/**
 * The table of a scan's rows, filled while its pages still come: what is whole in the records file is read part by
 * part. Which columns the rows have only the whole scan tells, so what was read early counts only if it was read with
 * the statement that the whole scan asks for; else all of it is read anew.
 */
export class EarlyIncoming implements EarlyPart {
  readonly #database: Database;
  readonly #recordsFile: string;
  /** How the parts are read; undefined before the first. */
  #select: string | undefined;
  #endByte = 0;

  constructor(database: Database, recordsFile: string) {
    this.#database = database;
    this.#recordsFile = recordsFile;
  }

  get endByte(): number {
    return this.#endByte;
  }

  /** Reads on, up to a byte at which a line ends; false where the engine may not read this by itself. */
  async readTo(endByte: number, tree: FieldTree, columns: readonly ColumnPlan[]): Promise<boolean> {
    const select = this.#selectPart(tree, columns);
    if (select === undefined) return false;
    const isSame = select === this.#select;
    const start = isSame ? this.#endByte : 0;
    if (!isSame) await this.drop();
    return this.#read(select, start, endByte);
  }

  /**
   * Reads what is left of a whole scan's file; false where its columns turn out not to be those it was read with.
   */
  async complete(size: number, tree: FieldTree, columns: readonly ColumnPlan[]): Promise<boolean> {
    const select = this.#selectPart(tree, columns);
    if (select === undefined || select !== this.#select) return false;
    return this.#endByte === size || this.#read(select, this.#endByte, size);
  }

  /** Forgets what was read. */
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

  /** False where the part cannot be set apart: a disk may have no room for it, and the whole file needs none. */
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

// The engine reads whole files only.
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
