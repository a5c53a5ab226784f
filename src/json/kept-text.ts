/** The text of one token at a time, put together where it goes over several chunks. */
export class KeptText {
  readonly #maxBytes: number;
  /** Where the token begins in the current chunk; -1: none is kept. */
  #from = -1;
  #parts: Buffer[] = [];
  #byteCount = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isOpen(): boolean {
    return this.#from !== -1;
  }

  begin(at: number): void {
    this.#from = at;
  }

  /** The chunk ends, and the token goes on in the next one. */
  endChunk(chunk: Uint8Array): void {
    if (this.#from === -1) return;
    this.#add(chunk, chunk.length);
    this.#from = 0;
  }

  /** The token that ends just before `end`; cut when it is longer than `maxBytes`. */
  take(chunk: Uint8Array, end: number): { readonly text: string; readonly isCut: boolean } {
    this.#add(chunk, end);
    const isCut = this.#byteCount > this.#maxBytes;
    const text = Buffer.concat(this.#parts).toString('utf8');
    this.#from = -1;
    this.#parts = [];
    this.#byteCount = 0;
    return { text, isCut };
  }

  // One byte beyond the most, to know that there were more. Copied: a view would keep the whole chunk.
  #add(chunk: Uint8Array, end: number): void {
    const length = Math.min(end - this.#from, this.#maxBytes + 1 - this.#byteCount);
    if (length <= 0) return;
    this.#parts.push(Buffer.from(chunk.subarray(this.#from, this.#from + length)));
    this.#byteCount += length;
  }
}
