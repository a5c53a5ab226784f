import { ACCOUNT_NAME, accountNameMessage } from '../../model/account.ts';
import { usageError } from './usage-error.ts';

/** Reads the names of accounts to be made, separated by commas; `flag` is what the error shows them with. */
export function readAccountNames(text: string, flag: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !ACCOUNT_NAME.test(name));
  if (wrong !== undefined) throw usageError(accountNameMessage(wrong), `For example: ${flag} acme,globex`);
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice === undefined) return names;
  throw usageError(
    `${flag} names the account "${twice}" twice`,
    `Write each name once: ${flag} ${[...new Set(names)].join(',')}`,
  );
}
