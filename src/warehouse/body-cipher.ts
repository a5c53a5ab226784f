import { createCipheriv, randomBytes } from 'node:crypto';

const BLOCK_BYTES = 16;

/**
 * Makes bytes unreadable on their way to the disk and readable on their way back, with a key that exists in
 * this process only: what a masked stream's answer holds must never be found on the disk.
 */
export class BodyCipher {
  #key = randomBytes(32);
  #start = randomBytes(BLOCK_BYTES);

  /** Forgets the key. Two bodies under one key would give each other away. */
  renew(): void {
    this.#key = randomBytes(32);
    this.#start = randomBytes(BLOCK_BYTES);
  }

  /** Bytes that stand at a position of the body, from plain to secret or back. */
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
