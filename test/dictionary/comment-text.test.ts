import { describe, expect, it } from 'vitest';
import { cleanText, isOurs, writeComment } from '../../src/dictionary/comment-text.ts';

describe('text in comments', () => {
  it('is one line without controls, marks of direction and half characters', () => {
    expect(cleanText(' a\r\n\tb\u0000\u2028c \u202edcba\u200b \ud800')).toBe('a b c dcba \ufffd');
  });

  it('keeps letters of any language, and joiners within words', () => {
    expect(cleanText('größe 値 👨‍👩‍👧 می‌خواهم')).toBe('größe 値 👨‍👩‍👧 می‌خواهم');
  });

  it('is cut between characters', () => {
    expect(cleanText('😀'.repeat(9), 4)).toBe('😀😀😀…');
  });

  it('ends each sentence, and the comment with our mark', () => {
    const comment = writeComment(['One', undefined, 'Two?', '']);
    expect(comment).toBe('One. Two? [sluice]');
    expect(isOurs(comment)).toBe(true);
    expect(isOurs('Net of VAT')).toBe(false);
  });
});
