import { existsSync } from 'node:fs';

/** Columns of a table with their engine types. */
export type Columns = ReadonlyMap<string, string>;

const CHANGES_TABLES = /^\s*(?:ALTER|ATTACH|CREATE|DETACH|DROP|USE)\b/i;
// The engine may fail to replay these from its log; it replays CREATE, DROP and COMMENT.
const ALTERS = /^\s*ALTER\b/i;
const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"/g;
const MAKES_COLUMNS = /^\s*(?:CREATE (?:OR REPLACE )?TABLE|ALTER TABLE .* ADD COLUMN)\b/is;
const TEMPORARY_ONLY = /^\s*(?:CREATE (?:OR REPLACE )?TEMP|DROP TABLE (?:IF EXISTS )?temp\.)/i;

/**
 * What the tables of an open file are like. The connection that follows each of its statements here is the only one
 * that writes, so columns are read once until a statement may have changed them.
 */
export class FileShape {
  readonly #columns = new Map<string, Columns>();
  #version = 0;
  #isLogRisky = false;
  #width = 0;

  /** Columns that the widest table of the file may have; rather too many than too few. */
  get width(): number {
    return this.#width;
  }

  /** Whether the log of the file may have a statement that the engine cannot replay. */
  get isLogRisky(): boolean {
    return this.#isLogRisky;
  }

  /** Call before a file is opened: a process that was killed may have left a log with any statement. */
  opening(file: string): void {
    this.forget();
    this.#isLogRisky = existsSync(`${file}.wal`);
  }

  /** Call with the columns of the file's widest table. */
  opened(width: number): void {
    this.#width = width;
  }

  /** Call once before a statement, which may make a table or a column. */
  widen(sql: string): void {
    if (!MAKES_COLUMNS.test(sql)) return;
    const listed = sql.split(',').length;
    this.#width = /^\s*C/i.test(sql) ? Math.max(this.#width, listed) : this.#width + 1;
  }

  /** The log is written into the file. */
  settled(): void {
    this.#isLogRisky = false;
  }

  /** Call before a statement and after it, however it ended. */
  follow(sql: string): void {
    // A semicolon in a text or a name, such as a comment has, ends no statement.
    const [first = '', ...others] = sql.includes(';') ? sql.replaceAll(QUOTED, '').split(';') : [sql];
    const isAlone = others.every((text) => text.trim() === '');
    if (ALTERS.test(first) || !isAlone) this.#isLogRisky = true;
    const mayChange = CHANGES_TABLES.test(first) && !TEMPORARY_ONLY.test(first);
    if (mayChange || !isAlone) this.forget();
  }

  /** Call when statements were rolled back, or the file is replaced. */
  forget(): void {
    this.#version += 1;
    this.#columns.clear();
  }

  /** The columns of a table; `read` finds them. */
  async columns(name: string, read: () => Promise<Columns>): Promise<Columns> {
    const known = this.#columns.get(name);
    if (known !== undefined) return known;
    const version = this.#version;
    const found = await read();
    if (version === this.#version) this.#columns.set(name, found);
    return found;
  }
}
