import { type FileHandle, open } from 'node:fs/promises';

// The engine sets twice its line limit aside before it reads anything: a fixed large one would not fit
// into a small container.
export const LEAST_LINE_LIMIT = 2 ** 20;
// Small enough to be gone with the next young collection: what outlives one stays for long.
const WRITE_CHUNK = 1 << 17;

/** Lines in a file, for the engine to read. */
export interface WrittenLines {
  readonly file: string;
  readonly count: number;
  /** What the engine needs as `maximum_object_size`, in bytes. */
  readonly lineLimit: number;
}

/** Writes lines into a file of its own, in large pieces; owns the file while it is open. */
export class LineWriter {
  readonly #path: string;
  #file: FileHandle | undefined;
  #pending = '';
  #count = 0;
  #longest = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Takes a line that ends in a line break; wait for what it returns, if anything. */
  add(line: string): Promise<void> | undefined {
    this.#count += 1;
    // Counted only where it can matter: no character takes more than three bytes.
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

  /** Ends the file, which is there even without a line. */
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

/** Appends buffers to a file as they are, without a copy of all of them. */
export async function appendBuffers(file: FileHandle, buffers: readonly Buffer[]): Promise<void> {
  const wanted = buffers.reduce((sum, { length }) => sum + length, 0);
  if (wanted === 0) return;
  const { bytesWritten } = await file.writev([...buffers]);
  // A disk that is nearly full may take a part of it: writing the rest tells what is wrong.
  if (bytesWritten < wanted) await file.appendFile(Buffer.concat(buffers).subarray(bytesWritten));
}
