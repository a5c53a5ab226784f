import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeForTerminal, quoteServerText, redact, redactDeep } from '../../src/text/redact.ts';
import { countRuns } from '../support/seeds.ts';

const key = 'sk_live/9f+8e7d6c5b4a3==';

describe('redact', () => {
  it.each([
    ['plain', key],
    ['URL-encoded', encodeURIComponent(key)],
    ['URL-encoded in lower case', encodeURIComponent(key).replaceAll(/%../g, (e) => e.toLowerCase())],
    ['base64', Buffer.from(key).toString('base64')],
    ['base64 for URLs', Buffer.from(key).toString('base64url')],
    ['base64 of a pair', Buffer.from(`user:${key}`).toString('base64')],
    ['base64 of a header', Buffer.from(`X-API-Key: ${key}\r\n`).toString('base64')],
    ['hex', Buffer.from(key).toString('hex')],
    ['hex in capitals', Buffer.from(key).toString('hex').toUpperCase()],
    ['a JSON string with escaped slashes', key.replaceAll('/', String.raw`\/`)],
    ['HTML', key.replaceAll('/', '&#x2F;').replaceAll('+', '&plus;').replaceAll('=', '&#61;')],
    ['URL-encoded twice', encodeURIComponent(encodeURIComponent(key))],
    ['base64 that is URL-encoded', encodeURIComponent(Buffer.from(`:${key}`).toString('base64'))],
    ['in capitals', key.toUpperCase()],
    ['cut at its end', key.slice(0, 14)],
    ['cut at its beginning', key.slice(-14)],
  ])('hides a key that is %s', (_, form) => {
    const text = redact(`before ${form} after`, [key]);
    expect(text).toMatch(/^before .*\[redacted\].* after$/);
    expect(text).not.toContain(form);
  });

  it('hides every occurrence, and the longer of two secrets first', () => {
    expect(redact('abcdef abcdefghi abcdef', ['abcdef', 'abcdefghi'])).not.toMatch(/abc|ghi/);
  });

  it('leaves a text alone when there is no secret, or one too short to be a key', () => {
    expect(redact('a b c', [])).toBe('a b c');
    expect(redact('a b c', ['', 'b'])).toBe('a b c');
  });

  it('leaves short pieces and other words alone', () => {
    for (const text of ['sk_live', 'the key 9f+8e7', 'a %20 b &amp; c \\u0041']) {
      expect(redact(text, [key])).toBe(text);
    }
  });

  it('keeps words that are a part of a secret: a weak password must not black out every path', () => {
    const text = '/data/warehouse.duckdb of analytics-read, 2026-01-31, 1,234,567 rows';
    expect(redact(text, ['warehouse-password', 'analytics-read-key-prod', '2026-01-31-x9'])).toBe(text);
  });

  it('looks into every text of a value and changes nothing else', () => {
    const value = { a: [key, 1, null, undefined, { b: `x ${key}` }], c: true, d: 12n };
    expect(redactDeep(value, [key])).toEqual({
      a: ['[redacted]', 1, null, undefined, { b: 'x [redacted]' }],
      c: true,
      d: 12n,
    });
  });

  it('leaves no half of any key, however its characters are escaped and wherever it is cut', () => {
    const url = [
      (character: string) => `%${hexOf(character)}`,
      (character: string) => `%${hexOf(character).toUpperCase()}`,
      (character: string) => `%25${hexOf(character)}`,
    ];
    const string = [
      (character: string) => String.raw`\u00${hexOf(character)}`,
      (character: string) => String.raw`\x${hexOf(character)}`,
    ];
    const page = [
      (character: string) => `&#x${hexOf(character)};`,
      (character: string) => `&#${character.charCodeAt(0)};`,
    ];
    const asIs = (character: string) => character;
    const loud = (character: string) => character.toUpperCase();
    const usual = [...'abcxyzABCXYZ0189-_.~+/=!$*()<>{}|^@:?,'];
    // An encoder escapes the characters of its own escapes, and need not know those of others.
    const encoder = fc.constantFrom(
      { ways: [asIs, loud], alphabet: [...usual, '%', '\\', '&', ';', '#'] },
      { ways: [asIs, ...url], alphabet: [...usual, '\\', '&', ';', '#'] },
      { ways: [asIs, ...string], alphabet: [...usual, '%', '&', ';', '#'] },
      { ways: [asIs, ...page], alphabet: [...usual, '%', '\\'] },
      { ways: [asIs, loud, ...url, ...string, ...page], alphabet: usual },
    );
    const around = fc.string({
      unit: fc.constantFrom('a', ' ', '"', '%', '\\', '&', '9', ';', 'é'),
      maxLength: 9,
    });
    const echoed = encoder.chain(({ ways, alphabet }) =>
      fc.record({
        units: fc.array(fc.record({ plain: fc.constantFrom(...alphabet), way: fc.constantFrom(...ways) }), {
          minLength: 8,
          maxLength: 50,
        }),
        before: around,
        after: around,
        cut: fc.nat(100),
      }),
    );
    fc.assert(
      fc.property(echoed, ({ units, before, after, cut }) => {
        const anyKey = units.map(({ plain }) => plain).join('');
        const written = units.map(({ plain, way }) => way(plain));
        const from = cut % Math.ceil(units.length / 2);
        const least = Math.max(8, Math.min(12, Math.ceil(units.length / 2)));
        const shown = redact(`${before} ${written.slice(from).join('')} ${after}`, [anyKey]);
        if (from === 0) expect(shown).not.toContain(written.join(''));
        for (let at = from; at + least <= units.length; at += 1) {
          const piece = anyKey.slice(at, at + least);
          if (!/[a-z]/i.test(piece) || !/[A-Z0-9]/.test(piece)) continue;
          expect(shown).not.toContain(written.slice(at, at + least).join(''));
        }
      }),
      { numRuns: countRuns(500) },
    );
  });

  it('finds an encoded key after a sign that looks like the start of an escape', () => {
    expect(redact('%aaaaaaa%3D', ['aaaaaaa='])).toBe('%[redacted]');
    expect(redact('100%abcdef0%2b', ['abcdef0+'])).toBe('100%[redacted]');
  });

  it('leaves no form of any key in any text', () => {
    const secret = fc.string({ unit: fc.constantFrom(...'abcXYZ019-_.~+/='), minLength: 8, maxLength: 60 });
    const around = fc.string({ unit: 'grapheme', maxLength: 40 });
    fc.assert(
      fc.property(secret, around, around, fc.nat(2), (anyKey, before, after, offset) => {
        const padded = Buffer.concat([Buffer.alloc(offset, 0x20), Buffer.from(anyKey)]);
        const forms = [anyKey, encodeURIComponent(anyKey), Buffer.from(anyKey).toString('base64')];
        const text = [...forms, padded.toString('base64')].map((form) => before + form + after).join(' ');
        const shown = quoteServerText(text, [anyKey], 1_000_000);
        for (const form of forms) expect(shown).not.toContain(form);
      }),
    );
  });
});

function hexOf(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(2, '0');
}

describe('text of a server', () => {
  it('cannot steer a terminal or forge a line', () => {
    const shown = escapeForTerminal(
      '\u001b[2Jok\r\nlevel=info\u0007\u009b31m\u202eevil\u200b\ufeff\u2028x\ud800',
    );
    expect(shown).toBe(
      String.raw`\x1b[2Jok\r\nlevel=info\x07\x9b31m\u{202e}evil\u{200b}\u{feff}\u{2028}x\u{d800}`,
    );
  });

  it('keeps letters of every script', () => {
    expect(escapeForTerminal('Größe, 価格, цена, 😀')).toBe('Größe, 価格, цена, 😀');
  });

  it('is cut to 500 characters after the key is gone from it', () => {
    const shown = quoteServerText(`${'x'.repeat(495)}${key}`, [key]);
    expect(shown).toBe(`${'x'.repeat(495)}[reda...`);
    expect(quoteServerText('y'.repeat(1_000_000), [key])).toHaveLength(503);
  });
});

describe('the keys of hundreds of accounts', () => {
  const line = 'globex: visibility_mentions, offset 300: the server answered 500 five times. '.repeat(3);
  const measure = (count: number) => {
    const keys = Array.from({ length: count }, (_, at) => `sk-${(at * 7_919).toString(36)}-Key-of-${at}-X9`);
    const tries = Array.from({ length: 10 }, () => {
      const startMs = performance.now();
      expect(redact(`${line}${keys.at(-1)}`, keys)).toBe(`${line}[redacted]`);
      return performance.now() - startMs;
    });
    return Math.min(...tries);
  };

  it('cost a line in proportion to their number', () => {
    const fewMs = measure(40);
    const manyMs = measure(400);
    // Ten times as many, with room for a busy machine; two hundred where their forms are made for each line.
    expect(manyMs / fewMs).toBeLessThan(70);
  });
});
