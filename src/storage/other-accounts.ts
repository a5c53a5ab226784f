import { createHash } from 'node:crypto';
import { readSourceRecord, type SourceRecord, writeSourceRecord } from '../../state/source-record.ts';
import type { AccountOfConfig } from '../model/account.ts';
import { ConfigError } from '../model/errors.ts';
import type { Settings } from '../model/settings.ts';
import type { Identity } from './identity.ts';
import { hashAddress, nameKey } from './state-folder.ts';

type KeyIdentity = Pick<Identity, 'key' | 'isBlank'>;

/**
 * Records what this account reads with, and refuses a key with which another account of the config reads: rows of two
 * accounts in one table could never be separated again. Call it after the key is known, before a request. Two accounts
 * may have one key only if they ask for different things.
 *
 * @throws ConfigError (2)
 */
export function refuseKeyOfOther(
  settings: Settings,
  identity: KeyIdentity,
  account: AccountOfConfig | undefined,
): void {
  // Recorded first: of two accounts that begin at the same moment, at least one finds the other.
  if (identity.isBlank) recordSource(settings);
  assertOwnKey(settings, identity, account);
}

/** The same for a command that writes nothing. */
export function assertOwnKey(
  settings: Settings,
  { key, isBlank }: KeyIdentity,
  account: AccountOfConfig | undefined,
): void {
  const own = describeSource(settings);
  const mayDiffer = isBlank || key !== 'same';
  const other =
    account === undefined || !mayDiffer
      ? undefined
      : account.others.find(({ stateDir }) => {
          const record = readSourceRecord(stateDir);
          return record?.key === own.key && (!isBlank || record.asks === own.asks);
        });
  if (account === undefined || other === undefined) return;
  const { name } = account;
  throw new ConfigError(
    isBlank
      ? `${name} and ${other.name} have the same key and ask for the same: ${name} would have the rows of ${other.name}`
      : `the key of ${name} is the one that reads the rows of ${other.name}`,
    {
      code: 'identity_mismatch',
      hint: `Give ${name} its own key: the keys of two accounts may be swapped, or one was copied. Where both are to use this key, run \`sluice sync --accounts ${name} --accept-new-key\` once. Nothing was requested, and nothing was written.`,
      context: { path: settings.stateDir },
    },
  );
}

/** Records what this account reads with, once it is accepted. */
export function recordSource(settings: Settings): void {
  writeSourceRecord(settings.stateDir, describeSource(settings));
}

function describeSource(settings: Settings): SourceRecord {
  const asked = settings.streams.map((stream) => hashAddress(settings, stream)).toSorted();
  const asks = createHash('sha256').update(JSON.stringify(asked)).digest('hex').slice(0, 32);
  return { key: nameKey(settings), asks };
}
