import { createCipheriv, randomBytes } from 'node:crypto';

const BLOCK_BYTES = 16;

/**
 * Encrypts bytes on their way to the disk and decrypts them on the way back, with a key that exists only in this
 * process: unmasked data must never be readable on the disk.
 */
export class BodyCipher {
  #key = randomBytes(32);
  #start = randomBytes(BLOCK_BYTES);

  /** Replaces the key: two bodies encrypted with the same key stream could be decrypted. */
  renew(): void {
    this.#key = randomBytes(32);
    this.#start = randomBytes(BLOCK_BYTES);
  }

  /** Encrypts or decrypts the bytes at a position of the body. */
  apply(bytes: Buffer, position: number): Buffer {
    const skipped = position % BLOCK_BYTES;
    const cipher = createCipheriv(
      'aes-256-ctr',
      this.#key,
      this.#counterAt((position - skipped) / BLOCK_BYTES),
    );
    if (skipped > 0) cipher.update(Buffer.alloc(skipped));
    return cipher.update(bytes);
  }

  #counterAt(block: number): Buffer {
    const counter = (BigInt(`0x${this.#start.toString('hex')}`) + BigInt(block)) % 2n ** 128n;
    return Buffer.from(counter.toString(16).padStart(2 * BLOCK_BYTES, '0'), 'hex');
  }
}
