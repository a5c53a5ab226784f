import { type FileHandle, open } from 'node:fs/promises';

// The engine allocates twice its line limit up front: a large fixed limit would not fit into a small container.
export const LEAST_LINE_LIMIT = 2 ** 20;
// Small enough to be collected while young: objects that survive one collection stay for long.
const WRITE_CHUNK = 1 << 17;

/** A file of lines for the engine to read. */
export interface WrittenLines {
  readonly file: string;
  readonly count: number;
  /** The `maximum_object_size` that the engine needs, in bytes. */
  readonly lineLimit: number;
}

/** Writes lines to a file in large pieces; owns the file while it is open. */
export class LineWriter {
  readonly #path: string;
  #file: FileHandle | undefined;
  #pending = '';
  #count = 0;
  #longest = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Adds a line that ends with a line break; await the returned promise, if any. */
  add(line: string): Promise<void> | undefined {
    this.#count += 1;
    // Counted only if it can matter: no character takes more than three bytes.
    if (line.length * 3 > LEAST_LINE_LIMIT) this.#longest = Math.max(this.#longest, Buffer.byteLength(line));
    this.#pending += line;
    return this.#pending.length >= WRITE_CHUNK ? this.#write() : undefined;
  }

  async #write(): Promise<void> {
    const text = this.#pending;
    this.#pending = '';
    this.#file ??= await open(this.#path, 'w', 0o600);
    await this.#file.appendFile(text);
  }

  /** Completes the file, which is created even without lines. */
  async finish(): Promise<WrittenLines> {
    await this.#write();
    await this.close();
    return {
      file: this.#path,
      count: this.#count,
      lineLimit: Math.max(LEAST_LINE_LIMIT, this.#longest + 1),
    };
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }
}

/** Appends buffers to a file without concatenating them. */
export async function appendBuffers(file: FileHandle, buffers: readonly Buffer[]): Promise<void> {
  const wanted = buffers.reduce((sum, { length }) => sum + length, 0);
  if (wanted === 0) return;
  const { bytesWritten } = await file.writev([...buffers]);
  // On a nearly full disk a write may be partial: writing the rest gives the error.
  if (bytesWritten < wanted) await file.appendFile(Buffer.concat(buffers).subarray(bytesWritten));
}
