/** Neighbouring elements of an array: their bytes, commas between them, and how many they are. */
export interface RecordRun {
  readonly bytes: Buffer;
  readonly count: number;
}

export interface CutOptions {
  /** Most elements of one run. */
  readonly mostRecords: number;
  /** Longest element, bytes. */
  readonly mostBytes: number;
  /** Makes the error for the element at this index, which is longer. */
  readonly tooLong: (index: number) => Error;
}

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;

/**
 * Cuts an array into runs of whole elements. The chunks hold the array from its bracket on, as a part of a
 * document known to be valid JSON; chunks that end within the array give the elements that are whole. Holds
 * one chunk and one element at most.
 */
export async function* cutRecords(
  chunks: AsyncIterable<Buffer>,
  options: CutOptions,
): AsyncGenerator<RecordRun> {
  const borders = new BorderFinder();
  let rest: Buffer[] = [];
  let restBytes = 0;
  let index = 0;
  for await (const chunk of chunks) {
    let runStart = borders.isOpen ? 0 : 1;
    // Negative for an element that began in an earlier chunk.
    let elementStart = runStart - restBytes;
    let count = 0;
    const takeRun = (end: number): RecordRun => {
      const run = { bytes: Buffer.concat([...rest, chunk.subarray(runStart, end)]), count };
      rest = [];
      index += count;
      count = 0;
      runStart = end + 1;
      return run;
    };
    for (let border = borders.next(chunk, 0); border !== -1; border = borders.next(chunk, border + 1)) {
      if (border - elementStart > options.mostBytes) throw options.tooLong(index + count);
      const isEmpty =
        borders.isLast && index + count === 0 && isBlank([...rest, chunk.subarray(runStart, border)]);
      if (isEmpty) return;
      count += 1;
      elementStart = border + 1;
      if (borders.isLast || count === options.mostRecords) yield takeRun(border);
      if (borders.isLast) return;
    }
    if (count > 0) yield takeRun(elementStart - 1);
    rest.push(chunk.subarray(runStart));
    restBytes = chunk.length - elementStart;
    if (restBytes > options.mostBytes) throw options.tooLong(index);
  }
}

/** Finds where the elements of one array end, chunk by chunk. */
class BorderFinder {
  #level = 0;
  #isInString = false;
  #isEscaped = false;
  isLast = false;

  get isOpen(): boolean {
    return this.#level > 0;
  }

  /** Position of the comma (or the closing bracket, then `isLast`) behind the next element; -1: none in this chunk. */
  next(chunk: Buffer, from: number): number {
    const { length } = chunk;
    let level = this.#level;
    let at = from;
    while (at < length) {
      if (this.#isInString) {
        at = this.#skipString(chunk, at);
        continue;
      }
      const byte = chunk[at] as number;
      if (byte === QUOTE) this.#isInString = true;
      // Brackets and braces differ in one bit each: 0x5b [ 0x7b { and 0x5d ] 0x7d }.
      else if ((byte | 32) === 0x7b) level += 1;
      else if ((byte | 32) === 0x7d) {
        level -= 1;
        if (level === 0) {
          this.#level = 0;
          this.isLast = true;
          return at;
        }
      } else if (byte === COMMA && level === 1) {
        this.#level = 1;
        return at;
      }
      at += 1;
    }
    this.#level = level;
    return -1;
  }

  #skipString(chunk: Buffer, from: number): number {
    const { length } = chunk;
    let at = from;
    if (this.#isEscaped) {
      this.#isEscaped = false;
      at += 1;
    }
    for (; at < length; at += 1) {
      const byte = chunk[at] as number;
      if (byte === QUOTE) {
        this.#isInString = false;
        return at + 1;
      }
      if (byte === BACKSLASH) {
        at += 1;
        if (at === length) this.#isEscaped = true;
      }
    }
    return length;
  }
}

function isBlank(parts: readonly Buffer[]): boolean {
  return parts.every((part) => part.every((byte) => byte <= 32));
}
