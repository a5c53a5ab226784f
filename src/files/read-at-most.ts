import { closeSync, openSync, readSync } from 'node:fs';

const PART_BYTES = 64 * 2 ** 10;

/**
 * The bytes of a file, or undefined if it has more than `most` of them. Devices and pipes say no size, and some never
 * end: /dev/zero would fill the memory.
 *
 * @throws as Node's `openSync` and `readSync`
 */
export function readAtMost(path: string, most: number): Buffer | undefined {
  const file = openSync(path, 'r');
  try {
    const parts: Buffer[] = [];
    for (let size = 0; size <= most;) {
      const part = Buffer.allocUnsafe(PART_BYTES);
      const read = readSync(file, part, 0, PART_BYTES, null);
      if (read === 0) return Buffer.concat(parts, size);
      parts.push(part.subarray(0, read));
      size += read;
    }
    return undefined;
  } finally {
    closeSync(file);
  }
}
