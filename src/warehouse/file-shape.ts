/** Columns of a table with their engine types. */
export type Columns = ReadonlyMap<string, string>;

const CHANGES_TABLES = /^\s*(?:ALTER|ATTACH|CREATE|DETACH|DROP|USE)\b/i;
const TEMPORARY_ONLY = /^\s*(?:CREATE (?:OR REPLACE )?TEMP|DROP TABLE (?:IF EXISTS )?temp\.)/i;

/**
 * What the tables of an open file are like. The connection that follows each of its statements here is the only one
 * that writes, so columns are read once until a statement may have changed them.
 */
export class FileShape {
  readonly #columns = new Map<string, Columns>();
  #version = 0;
  // A process that was killed may have left a log with any statement.
  #isInLog = true;

  /** Whether the log of the file may have a statement that changes tables. */
  get isInLog(): boolean {
    return this.#isInLog;
  }

  /** The log is written into the file. */
  settled(): void {
    this.#isInLog = false;
  }

  /** Call before a statement and after it, however it ended. */
  follow(sql: string): void {
    const [first = '', ...others] = sql.split(';');
    const mayChange = CHANGES_TABLES.test(first) && !TEMPORARY_ONLY.test(first);
    if (!mayChange && others.every((text) => text.trim() === '')) return;
    this.#isInLog = true;
    this.forget();
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
