import { closeSync, lstatSync, openSync, readSync } from 'node:fs';

const MAGIC = 'PAR1';
/** Size of the footer length and the magic word after it, bytes. */
const END_BYTES = 8;

/**
 * Whether a Parquet file exists, has this size in bytes, and has a valid start and end. This detects truncated copies
 * and most lost blocks without reading the file.
 */
export function isWholeFile(path: string, bytes: number): boolean {
  let file;
  try {
    // Opening a pipe would wait for its writer.
    const found = lstatSync(path);
    const { size } = found;
    if (!found.isFile() || size !== bytes || size < MAGIC.length + END_BYTES) return false;
    file = openSync(path, 'r');
    const [start, end] = [Buffer.alloc(MAGIC.length), Buffer.alloc(END_BYTES)];
    readSync(file, start, 0, start.length, 0);
    readSync(file, end, 0, end.length, size - END_BYTES);
    const footerBytes = end.readUInt32LE(0);
    const hasMagic = start.toString('latin1') === MAGIC && end.toString('latin1', MAGIC.length) === MAGIC;
    return hasMagic && footerBytes > 0 && footerBytes <= size - MAGIC.length - END_BYTES;
  } catch {
    return false;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
