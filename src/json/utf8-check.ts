import { isUtf8 } from 'node:buffer';

/** Checks bytes that come in chunks: a character may begin in one of them and end in the next. */
export class Utf8Check {
  /** The beginning of a character that the next chunk has to end. */
  #rest: Uint8Array = new Uint8Array(0);

  /** False when the bytes so far are not UTF-8 text, nor the beginning of one. */
  push(chunk: Uint8Array): boolean {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const end = findWholeEnd(bytes);
    // A copy: a view would keep the whole chunk in memory.
    this.#rest = Uint8Array.prototype.slice.call(bytes, end);
    return isUtf8(bytes.subarray(0, end));
  }

  /** False when the last character was cut. */
  finish(): boolean {
    return this.#rest.length === 0;
  }
}

/** Where the last whole character ends; a character has at most four bytes. */
function findWholeEnd(bytes: Uint8Array): number {
  const { length } = bytes;
  for (let back = 1; back <= Math.min(3, length); back += 1) {
    const byte = bytes[length - back] as number;
    if (byte < 0x80) return length;
    if (byte >= 0xc0) return lengthOf(byte) > back ? length - back : length;
  }
  return length;
}

function lengthOf(lead: number): number {
  if (lead >= 0xf0) return 4;
  return lead >= 0xe0 ? 3 : 2;
}
