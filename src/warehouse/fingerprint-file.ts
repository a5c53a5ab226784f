import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

/** The state of a file when it was last written. */
export interface FileMark {
  readonly size?: number | undefined;
  /** Undefined for a large file. */
  readonly fingerprint?: string | undefined;
}

// Read in every sync: 32 MB take less than a tenth of a second.
export const READ_EACH_SYNC_BYTES = 32 * 2 ** 20;
const CHUNK_BYTES = 2 ** 20;

/** A checksum of a closed file; undefined if it is too large to read in every sync. */
export async function fingerprintFile(path: string): Promise<string | undefined> {
  if (statSync(path).size > READ_EACH_SYNC_BYTES) return undefined;
  const hash = createHash('sha256');
  await readChunks(path, (chunk) => {
    hash.update(chunk);
  });
  return hash.digest('hex');
}

/** The CRC-32 of a closed file of any size. */
export async function checksumFile(path: string): Promise<number> {
  let sum = 0;
  await readChunks(path, (chunk) => {
    sum = crc32(chunk, sum);
  });
  return sum;
}

async function readChunks(path: string, take: (chunk: Buffer) => void): Promise<void> {
  const file = await open(path, 'r');
  try {
    // A stream would leave a buffer behind for each chunk, which costs more than the hash.
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES);
      if (bytesRead === 0) return;
      take(chunk.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

/**
 * Whether a file still matches its mark; missing values always match. A bad disk changes bytes but not times, so only
 * reading them shows it.
 */
export async function isAsMarked(path: string, { size, fingerprint }: FileMark): Promise<boolean> {
  if (size !== undefined && statSync(path).size !== size) return false;
  if (fingerprint === undefined) return true;
  try {
    return (await fingerprintFile(path)) === fingerprint;
  } catch (error) {
    // An unreadable block means that the file is damaged; missing permissions do not.
    return (error as NodeJS.ErrnoException).code !== 'EIO';
  }
}
