import { describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { ACCOUNT_COMMANDS, nameAccountsDeep, nameAccountsIn } from '../../src/text/name-accounts.ts';

describe('commands in what is said of an account', () => {
  it.each([
    [
      'start over: `sluice state reset prompts --drop-tables`, then `sluice sync --streams prompts`',
      'start over: `sluice state reset --accounts acme prompts --drop-tables`, then `sluice sync --accounts acme --streams prompts`',
    ],
    [
      'sluice rebuild a, or sluice sync.',
      'sluice rebuild --accounts acme a, or sluice sync --accounts acme.',
    ],
    ["sluice -c 'my config.yaml' verify", "sluice -c 'my config.yaml' verify --accounts acme"],
    ['`sluice -c other.yaml runs x`', '`sluice -c other.yaml runs --accounts acme x`'],
  ])('name it: %s', (text, named) => {
    expect(nameAccountsIn(text, ['acme'])).toBe(named);
  });

  it.each([
    '`sluice state reset --drop-tables --accounts globex`',
    '`sluice sync --accept-new-key --accounts globex` once',
    '`sluice query "SELECT 1"`',
    '`sluice fleet run acme`',
    'See sluice sync --help',
    'sluice synchronises',
    'sluice state-of-the-art',
  ])('stay as they are where they name accounts, or know none: %s', (text) => {
    expect(nameAccountsIn(text, ['acme'])).toBe(text);
  });

  it('name all accounts that it is said of, but no long list of them', () => {
    expect(nameAccountsIn('`sluice sync`', ['acme', 'globex'])).toBe('`sluice sync --accounts acme,globex`');
    const many = Array.from({ length: 13 }, (_, index) => `account-${index}`);
    expect(nameAccountsIn('`sluice sync`', many)).toBe('`sluice sync`');
  });

  it('are found in a whole report, whose other values stay', () => {
    const report = {
      at: 1,
      rows: 2n,
      none: undefined,
      error: { hint: 'Run `sluice sync`.' },
      warnings: ['a'],
    };
    expect(nameAccountsDeep(report, ['acme'])).toEqual({
      ...report,
      error: { hint: 'Run `sluice sync --accounts acme`.' },
    });
  });

  it('are those that have the option', async () => {
    const having = await Promise.all(
      commands.map(async ({ name, load }) =>
        (await load()).options.some(({ flag }) => flag === 'accounts') ? [name] : [],
      ),
    );
    // These take the data of all accounts together, or start no work on them by being printed.
    const others = ['docs', 'mcp', 'query', 'schedule', 'demo', 'init', 'simulate'];
    expect(
      having
        .flat()
        .filter((name) => !others.includes(name))
        .toSorted(),
    ).toEqual(ACCOUNT_COMMANDS.toSorted());
  });
});
