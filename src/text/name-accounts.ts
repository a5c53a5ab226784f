import { mapTexts } from './map-texts.ts';

/** Commands that work on every account of the config unless some are named. */
export const ACCOUNT_COMMANDS: readonly string[] = [
  'check',
  'config show',
  'discover',
  'export',
  'lake maintain',
  'plan',
  'quarantine list',
  'quarantine retry',
  'quarantine show',
  'rebuild',
  'report',
  'runs',
  'schema diff',
  'schema export',
  'schema show',
  'state export',
  'state import',
  'state reset',
  'state show',
  'status',
  'sync',
  'verify',
];
// With more names than these, the command would be longer than what it is about.
const MOST_NAMES = 12;
const COMMAND = new RegExp(
  `\\bsluice(?: -c (?:'[^']*'|\\S+))? (?:${ACCOUNT_COMMANDS.join('|')})\\b(?![-\\w])(?! --help)(?![^\`\\n.;]*\\s--accounts\\b)`,
  'g',
);

/** Names the accounts that a text is about in every command in it: copied as it stands, it would work on all of them. */
export function nameAccountsIn(text: string, names: readonly string[]): string {
  if (names.length === 0 || names.length > MOST_NAMES) return text;
  return text.replace(COMMAND, (command) => `${command} --accounts ${names.join(',')}`);
}

/** The same for every text in a plain value. */
export function nameAccountsDeep<T>(value: T, names: readonly string[]): T {
  return mapTexts(value, (text) => nameAccountsIn(text, names));
}
