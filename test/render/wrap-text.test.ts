import { expect, it } from 'vitest';
import { wrapText } from '../../src/render/wrap-text.ts';

it.each([
  ['fits', 'as it is', 20, 'as it is'],
  ['breaks between words', 'one two three four', 9, 'one two\nthree\nfour'],
  ['keeps long words whole', 'see /a/very/long/path now', 10, 'see\n/a/very/long/path\nnow'],
  ['indents what follows', '  next: do this and that', 16, '  next: do this\n    and that'],
  ['keeps lines apart', 'a b c\nd', 3, 'a b\nc\nd'],
])('a text that %s', (_, text, columns, wrapped) => {
  expect(wrapText(text, columns)).toBe(wrapped);
});

it('is left alone where there is no terminal', () => {
  expect(wrapText('one two three', undefined)).toBe('one two three');
});
