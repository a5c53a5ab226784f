import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { WITHOUT_WAITING } from './without-waiting.ts';

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
    return readOpen(file, most);
  } finally {
    closeSync(file);
  }
}

/** The code of the error for a pipe or a device where a file is needed. */
export const NOT_A_FILE = 'NOT_A_FILE';

/**
 * The same of a file that may be read again later. A pipe can be read once, and one without a writer would hold the
 * process where no signal ends it: pipes and devices are refused at once, with the code `NOT_A_FILE`.
 *
 * @throws as Node's `openSync` and `readSync`
 */
export function readFileAtMost(path: string, most: number): Buffer | undefined {
  const file = openSync(path, constants.O_RDONLY | WITHOUT_WAITING);
  try {
    const found = fstatSync(file);
    // Reading a folder fails with a code of its own.
    if (found.isFile() || found.isDirectory()) return readOpen(file, most);
    throw Object.assign(new Error('it is a pipe or a device, and a file is needed'), { code: NOT_A_FILE });
  } finally {
    closeSync(file);
  }
}

function readOpen(file: number, most: number): Buffer | undefined {
  const parts: Buffer[] = [];
  for (let size = 0; size <= most;) {
    const part = Buffer.allocUnsafe(PART_BYTES);
    const read = readSync(file, part, 0, PART_BYTES, null);
    if (read === 0) return Buffer.concat(parts, size);
    parts.push(part.subarray(0, read));
    size += read;
  }
  return undefined;
}
