import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeForTerminal, quoteServerText, redact } from '../../src/model/redact.ts';

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
    ['a JSON string with escaped slashes', key.replaceAll('/', String.raw`\/`)],
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
