import { closeSync, fsyncSync, openSync, renameSync, statSync, writeFileSync } from 'node:fs';

/** Added to the length of the file, so that a longer version has room as well. */
const SPARE_BYTES = 32_768;

/** Keeps disk space next to a small file, for a version of it that must be written while the disk is full. */
export function keepSpare(file: string): void {
  try {
    const size = statSync(file).size + SPARE_BYTES;
    // Not a hole: what was never written has no space on the disk.
    if (sizeOf(spareOf(file)) < size) writeFileSync(spareOf(file), ' '.repeat(size), { mode: 0o600 });
  } catch {
    // A full disk is reported by writes that matter.
  }
}

/** How long a text the spare space takes, in bytes; 0 if there is none. */
export function measureSpare(file: string): number {
  return sizeOf(spareOf(file));
}

/**
 * Replaces the file atomically without new disk space: written into the spare, which takes the file's name. The text is
 * padded with spaces; it must fit. Throws what the system refuses.
 */
export function writeIntoSpare(file: string, text: string): void {
  const spare = spareOf(file);
  const bytes = Buffer.alloc(sizeOf(spare), ' ');
  bytes.write(text);
  const descriptor = openSync(spare, 'r+');
  try {
    writeFileSync(descriptor, bytes);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(spare, file);
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function spareOf(file: string): string {
  return `${file}.spare`;
}
