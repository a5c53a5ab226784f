const STEP_BYTES = 1 << 16;
/** Kept for later, bytes. */
const MOST_FREE_BYTES = 1 << 21;

/**
 * Memory for pages on their way to the disk, used again: allocated for each page, it would make the collector look
 * at everything every few hundred pages.
 */
export class BufferPool {
  readonly #free: Buffer[] = [];

  /** A buffer of at least a size; its content is arbitrary. */
  take(size: number): Buffer {
    const at = this.#free.findIndex(({ length }) => length >= size);
    const [found] = at === -1 ? [] : this.#free.splice(at, 1);
    return found ?? Buffer.allocUnsafeSlow(Math.ceil(size / STEP_BYTES) * STEP_BYTES);
  }

  /** Takes a buffer back that nobody reads or writes any longer. */
  give(buffer: Buffer): void {
    const free = this.#free.reduce((sum, { length }) => sum + length, 0);
    if (free + buffer.length <= MOST_FREE_BYTES) this.#free.push(buffer);
  }
}
