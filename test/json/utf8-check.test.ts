import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Utf8Check } from '../../src/json/utf8-check.ts';
import { countRuns } from '../support/seeds.ts';

function isUtf8InChunks(bytes: Uint8Array, length: number): boolean {
  const check = new Utf8Check();
  for (let at = 0; at < bytes.length; at += length)
    if (!check.push(bytes.subarray(at, at + length))) return false;
  return check.finish();
}

function isUtf8AtOnce(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

describe('Utf8Check', () => {
  it('decides as a decoder of the whole does, whatever the chunks', () => {
    const lead = fc.constantFrom(
      0x00,
      0x41,
      0x7f,
      0x80,
      0xbf,
      0xc0,
      0xc1,
      0xc2,
      0xdf,
      0xe0,
      0xed,
      0xef,
      0xf0,
      0xf4,
      0xf5,
      0xff,
    );
    const bytes = fc.oneof(
      fc.array(fc.oneof(lead, fc.integer({ min: 0x80, max: 0xbf })), { maxLength: 9 }),
      fc.string({ unit: 'binary' }).map((text) => [...Buffer.from(text)]),
    );
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 6 }), (given, length) => {
        const array = Uint8Array.from(given);
        expect([given, isUtf8InChunks(array, length)]).toEqual([given, isUtf8AtOnce(array)]);
      }),
      { numRuns: countRuns(20_000) },
    );
  });

  it('keeps at most the three bytes that may begin a character', () => {
    const check = new Utf8Check();
    expect(check.push(Uint8Array.of(0xf0, 0x9f, 0x91))).toBe(true);
    expect(check.finish()).toBe(false);
    expect(check.push(Uint8Array.of(0x8d))).toBe(true);
    expect(check.finish()).toBe(true);
  });
});
