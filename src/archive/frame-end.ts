const MAGIC = 0xfd2fb528;
const CHECKSUM_BYTES = 4;
const DICTIONARY_BYTES = [0, 1, 2, 4];
const SIZE_BYTES = [0, 2, 4, 8];

/** The next bytes of a frame: to look at, or to pass over. */
interface Part {
  readonly bytes: number;
  readonly isRead: boolean;
}

const NO_END: Part = { bytes: Infinity, isRead: false };

/**
 * Finds where a Zstandard frame ends. The engine's reader gives all records of a file that lacks its last bytes, or has
 * bytes after them, and how many bytes a frame has depends on the pieces its text came in.
 */
export class FrameEnd {
  #parts = walkFrame();
  #part = this.#parts.next().value;
  /** Bytes of the part that came already: their number, and those to look at. */
  #passed = 0;
  #read = Buffer.alloc(0);

  /** Takes the next bytes of the file. */
  take(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      // The packer may add a frame that holds nothing; anything else is no frame, and has no end.
      if (this.#part === undefined) this.#begin();
      const part = this.#part ?? NO_END;
      const end = Math.min(chunk.length, at + part.bytes - this.#passed);
      if (part.isRead) this.#read = Buffer.concat([this.#read, chunk.subarray(at, end)]);
      this.#passed += end - at;
      at = end;
      this.#goOn();
    }
  }

  /** Whether the bytes so far are one whole frame and nothing else. */
  get isReached(): boolean {
    return this.#part === undefined;
  }

  #begin(): void {
    this.#parts = walkFrame();
    this.#part = this.#parts.next().value;
  }

  #goOn(): void {
    while (this.#part !== undefined && this.#passed === this.#part.bytes) {
      const read = this.#read;
      this.#passed = 0;
      this.#read = Buffer.alloc(0);
      this.#part = this.#parts.next(read).value;
    }
  }
}

/** The parts of a frame, each of which is asked for with what the one before held (RFC 8878, section 3.1.1). */
function* walkFrame(): Generator<Part, undefined, Buffer> {
  const start = yield { bytes: 5, isRead: true };
  // Whatever follows, such a file has no end.
  if (start.readUInt32LE(0) !== MAGIC) yield { bytes: Infinity, isRead: false };
  const flags = start.readUInt8(4);
  const isSingle = (flags & 0x20) !== 0;
  const sizeBytes = SIZE_BYTES[flags >> 6] ?? 0;
  const rest = (isSingle ? 0 : 1) + (DICTIONARY_BYTES[flags & 3] ?? 0) + (sizeBytes || (isSingle ? 1 : 0));
  yield { bytes: rest, isRead: false };
  for (let isLast = false; !isLast;) {
    const header = (yield { bytes: 3, isRead: true }).readUIntLE(0, 3);
    const isRepeated = ((header >> 1) & 3) === 1;
    yield { bytes: isRepeated ? 1 : header >> 3, isRead: false };
    isLast = (header & 1) === 1;
  }
  if ((flags & 4) !== 0) yield { bytes: CHECKSUM_BYTES, isRead: false };
  return undefined;
}
