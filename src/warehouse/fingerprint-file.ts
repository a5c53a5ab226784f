import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';

/** What a file was when it was left. */
export interface FileMark {
  readonly size?: number | undefined;
  /** Undefined for a large file. */
  readonly fingerprint?: string | undefined;
}

// Read at every sync: 32 MB take less than a tenth of a second.
const MOST_BYTES = 32 * 2 ** 20;
const CHUNK_BYTES = 2 ** 20;

/** A sum over the bytes of a closed file; undefined for one that takes too long to be read at every sync. */
export async function fingerprintFile(path: string): Promise<string | undefined> {
  if (statSync(path).size > MOST_BYTES) return undefined;
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: CHUNK_BYTES }), hash);
  return hash.digest('hex');
}

/**
 * Whether a file still is what its mark says; what the mark does not tell is taken for true. A bad disk changes bytes
 * and no time, so only reading them tells.
 */
export async function isAsMarked(path: string, { size, fingerprint }: FileMark): Promise<boolean> {
  if (size !== undefined && statSync(path).size !== size) return false;
  if (fingerprint === undefined) return true;
  try {
    return (await fingerprintFile(path)) === fingerprint;
  } catch (error) {
    // A disk that does not give it back has lost it; one that may not be read is only not ours to judge.
    return (error as NodeJS.ErrnoException).code !== 'EIO';
  }
}
