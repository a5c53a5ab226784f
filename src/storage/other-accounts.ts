import { createHash } from 'node:crypto';
import { readDestinationRecord } from '../../state/destination-record.ts';
import { readSourceRecord, type SourceRecord, writeSourceRecord } from '../../state/source-record.ts';
import type { AccountOfConfig } from '../model/account.ts';
import { ConfigError } from '../model/errors.ts';
import type { Settings, SyncOptions } from '../model/settings.ts';
import { listNames } from '../text/list-names.ts';
import type { Identity } from './identity.ts';
import { hashAddress, nameKey } from './state-folder.ts';

interface KeyOptions extends Pick<SyncOptions, 'acceptNewKey'> {
  readonly ofAccount?: AccountOfConfig | undefined;
}

type KeyIdentity = Pick<Identity, 'key' | 'isBlank'>;

/**
 * Records what this account reads with, and refuses a key with which another account of the config reads: rows of two
 * accounts in one table could never be separated again. Call it after the key is known, before a request. Two accounts
 * may have one key only if they ask for different things.
 *
 * @throws ConfigError (2)
 */
export function refuseKeyOfOther(settings: Settings, identity: KeyIdentity, options: KeyOptions): void {
  // Recorded first: of two accounts that begin at the same moment, at least one finds the other.
  if (identity.isBlank) recordSource(settings);
  assertOwnKey(settings, identity, options);
}

/** The same for a command that writes nothing. */
export function assertOwnKey(
  settings: Settings,
  { key, isBlank }: KeyIdentity,
  { ofAccount: account, acceptNewKey = false }: KeyOptions,
): void {
  const own = describeSource(settings);
  const mayDiffer = isBlank || key !== 'same';
  // Rows that are there already would be mixed with others, whatever anybody accepts.
  if (account === undefined || !mayDiffer || (isBlank && acceptNewKey)) return;
  const { name, alike, others } = account;
  if (isBlank && alike.length > 0) throw describeShared(settings, [name, ...alike]);
  const other = others.find(({ stateDir }) => {
    const record = readSourceRecord(stateDir);
    return record?.key === own.key && (!isBlank || record.asks === own.asks);
  });
  if (other === undefined) return;
  // Recorded only by a run that went on.
  if (isBlank && readDestinationRecord(other.stateDir) === undefined)
    throw describeShared(settings, [name, other.name]);
  throw new ConfigError(`the key of ${name} is the one that reads the rows of ${other.name}`, {
    code: 'identity_mismatch',
    hint: `Give ${name} its own key: the keys of two accounts may be swapped, or one was copied. Where it has its own key now, and the tables of one of them were read with the wrong key, empty those and sync again: \`sluice state reset --drop-tables --accounts ${name}\`, or the same for ${other.name}. ${SAFE}`,
    context: { path: settings.stateDir },
  });
}

const SAFE = 'Nothing was requested, and nothing was written.';

function describeShared(settings: Settings, names: readonly string[]): ConfigError {
  const [name = ''] = names;
  return new ConfigError(
    `${listNames(names)} have the same key and ask for the same: they would have the same rows`,
    {
      code: 'identity_mismatch',
      hint: `Give each its own key, e.g. "apiKey: \${file:./keys/\${account}}" and a file for each. Where they are to share one, run \`sluice sync --accounts ${name} --accept-new-key\` once. ${SAFE}`,
      context: { path: settings.stateDir },
    },
  );
}

/** Records what this account reads with, once it is accepted. */
export function recordSource(settings: Settings): void {
  writeSourceRecord(settings.stateDir, describeSource(settings));
}

/** Names what a config reads: equal for accounts that would have the same rows. */
export function nameSource(settings: Settings): string {
  const { key, asks } = describeSource(settings);
  return `${key} ${asks}`;
}

function describeSource(settings: Settings): SourceRecord {
  const asked = settings.streams.map((stream) => hashAddress(settings, stream)).toSorted();
  const asks = createHash('sha256').update(JSON.stringify(asked)).digest('hex').slice(0, 32);
  return { key: nameKey(settings), asks };
}
