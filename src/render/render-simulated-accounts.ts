import { formatCount, formatCountOf } from '../text/format-count.ts';

/** A simulator that serves accounts. */
export interface ServedAccounts {
  readonly baseUrl: string;
  readonly origin: string;
  readonly day: string;
  readonly requestsPerHour: number;
  readonly burstPerSecond: number;
  readonly accounts: readonly { readonly name: string; readonly key: string; readonly revoked: boolean }[];
  /** The lines of a config for it, without comments. */
  readonly settings: readonly string[];
}

/** What to do with it: the config, a file for each key, and the syncs. */
export function describeServedAccounts(served: ServedAccounts): string {
  const { baseUrl, origin, day, requestsPerHour, burstPerSecond, accounts, settings } = served;
  const revoked = accounts.filter((account) => account.revoked).map(({ name }) => name);
  const many = formatCountOf(accounts.length, 'account');
  return [
    `Serving ${baseUrl} to ${many}: data up to ${day}, ${formatCountOf(requestsPerHour, 'request')} an hour ` +
      `and ${formatCount(burstPerSecond)} a second for each key.`,
    ...(revoked.length === 0 ? [] : [`Revoked, answered 401: ${revoked.join(', ')}.`]),
    '',
    'A config for it, e.g. in simulated.yaml, in a folder without keys of your own:',
    '',
    ...settings.map((line) => `  ${line}`),
    '',
    'The made-up keys, in that folder:',
    '  mkdir -p keys',
    // Neither a key nor an account's name holds anything that a shell reads in another way.
    ...accounts.map(({ name, key }) => `  (umask 077; printf '%s\\n' ${key} > keys/${name})`),
    '',
    'Then:',
    '  npx sluice sync -c simulated.yaml',
    `  curl -X POST ${origin}/_simulator/advance-day`,
    '  npx sluice sync --force -c simulated.yaml',
    '',
    'Ctrl-C stops it.',
  ].join('\n');
}
