import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyCipher } from '../../src/stage/body-cipher.ts';

const body = fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => Buffer.from(bytes));
const size = fc.integer({ min: 1, max: 40 });

/** The pieces of a buffer, with their positions. */
function cut(buffer: Buffer, length: number): readonly (readonly [Buffer, number])[] {
  return Array.from({ length: Math.ceil(buffer.length / length) }, (_, at) => [
    buffer.subarray(at * length, (at + 1) * length),
    at * length,
  ]);
}

describe('BodyCipher', () => {
  it('gives bytes back from any position, however they were cut', () => {
    fc.assert(
      fc.property(body, size, size, (plain, written, read) => {
        const cipher = new BodyCipher();
        const secret = Buffer.concat(cut(plain, written).map(([piece, at]) => cipher.apply(piece, at)));
        const back = Buffer.concat(cut(secret, read).map(([piece, at]) => cipher.apply(piece, at)));
        expect(back).toEqual(plain);
      }),
    );
  });

  it('shows nothing of the bytes, and never the same for another body', () => {
    const plain = Buffer.from('person@example.com '.repeat(10));
    const cipher = new BodyCipher();
    const first = cipher.apply(plain, 0);
    expect(first.toString('latin1')).not.toContain('example');
    expect(cipher.apply(plain, 0)).toEqual(first);
    cipher.renew();
    expect(cipher.apply(plain, 0)).not.toEqual(first);
  });

  it('counts on past the last counter', () => {
    const plain = Buffer.alloc(64, 7);
    for (let round = 0; round < 50; round += 1) {
      const cipher = new BodyCipher();
      const position = 2 ** 40 + round;
      expect(cipher.apply(cipher.apply(plain, position), position)).toEqual(plain);
    }
  });
});
