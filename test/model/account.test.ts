import { describe, expect, it } from 'vitest';
import { ACCOUNT_NAME, accountNameMessage } from '../../src/model/account.ts';

describe('ACCOUNT_NAME', () => {
  it.each(['acme', '0', 'a-b_c', '3m', `a${'-'.repeat(62)}`])('takes %s', (name) => {
    expect(ACCOUNT_NAME.test(name)).toBe(true);
  });

  it.each([
    '',
    'Acme',
    '-acme',
    '_acme',
    '.',
    '..',
    '../acme',
    'a/b',
    'a\\b',
    'a.b',
    'a b',
    'acme\n',
    'a\0',
    'à',
    'a*',
    '${account}',
    'a'.repeat(64),
  ])('refuses %j', (name) => {
    expect(ACCOUNT_NAME.test(name)).toBe(false);
  });
});

describe('accountNameMessage', () => {
  it('names the name on one line, and says what to write', () => {
    expect(accountNameMessage('../a\nb')).toBe(
      '"../a\\nb" is not an account name: write 1 to 63 lower-case letters, digits, - and _, beginning with a letter or a digit',
    );
  });

  it('shows the start of a long one', () => {
    expect(accountNameMessage('A'.repeat(1000))).toContain(`"${'A'.repeat(80)}…"`);
  });
});
