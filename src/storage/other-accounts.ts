import { createHash } from 'node:crypto';
import { type SourceRecord, writeSourceRecord } from '../../state/source-record.ts';
import type { AccountOfConfig, AccountSource } from '../model/account.ts';
import { ConfigError } from '../model/errors.ts';
import type { Settings, SyncOptions } from '../model/settings.ts';
import { listNames } from '../text/list-names.ts';
import { adviseReset, type Identity, nameAcceptance } from './identity.ts';
import { nameKey } from '../model/hash-key.ts';
import { hashAddress } from './state-folder.ts';

interface KeyOptions extends Pick<SyncOptions, 'acceptNewKey'> {
  readonly ofAccount?: AccountOfConfig | undefined;
}

/**
 * Refuses a key with which another account of the config reads: rows of two accounts in one table could never be
 * separated again. Call it before a request. Two accounts may have one key only if they ask for different things.
 *
 * @throws ConfigError (2)
 */
export function refuseKeyOfOther(
  settings: Settings,
  { key, isBlank }: Pick<Identity, 'key' | 'isBlank'>,
  { ofAccount: account, acceptNewKey = false }: KeyOptions,
): void {
  if (account === undefined || (isBlank && acceptNewKey)) return;
  const { name, byKey } = account;
  const own = describeSource(settings);
  if (!isBlank && key === 'same') {
    const alike = acceptNewKey ? [] : findNewlyAlike(own, account);
    if (alike.length > 0) throw describeShared(settings, account, alike);
    return;
  }
  // Rows that are there already would be mixed with others, whatever the user accepts.
  const others = (byKey.get(own.key) ?? []).filter(
    (one) => one.name !== name && (isBlank ? one.asks === own.asks : one.isSynced),
  );
  const reader = others.find(({ isSynced }) => isSynced);
  if (reader !== undefined) throw describeReader(settings, account, reader.name);
  if (others.length > 0)
    throw describeShared(
      settings,
      account,
      others.map((one) => one.name),
    );
  const taker = isBlank ? findTaker(own, account) : undefined;
  if (taker !== undefined) throw describeTaken(settings, account, taker);
}

/** Other accounts that ask for the same since the config changed, and were not accepted before. */
function findNewlyAlike(own: SourceRecord, { name, byKey }: AccountOfConfig): readonly string[] {
  const alike = byKey.get(own.key) ?? [];
  const { asked, shares = false } = alike.find((one) => one.name === name) ?? {};
  if (shares || asked === undefined || asked === own.asks) return [];
  return alike
    .filter((one) => one.name !== name && one.asks === own.asks && one.shares !== true && one.asked !== asked)
    .map((one) => one.name);
}

/** Without rows, only this shows that two keys were swapped: another account has the key that this one had. */
function findTaker(own: SourceRecord, { name, byKey }: AccountOfConfig): string | undefined {
  const alike = [...byKey.values()].find((all) => all.some((one) => one.name === name && one.isSynced)) ?? [];
  const isSame = alike.some(({ key }) => key === own.key);
  return isSame ? undefined : alike.find((one) => !one.isSynced && one.asks === own.asks)?.name;
}

const SAFE = 'Nothing was requested, and nothing was written.';

function describeReader(settings: Settings, account: AccountOfConfig, other: string): ConfigError {
  const { name } = account;
  return new ConfigError(`the key of ${name} reads the rows of ${other}`, {
    code: 'identity_mismatch',
    hint: `Give ${name} its own key: the keys of two accounts may be swapped, or one was copied. If it has its own key now, but the tables of one of them were read with the wrong key, ${adviseReset(account)}; or do the same for ${other}. ${SAFE}`,
    context: { path: settings.stateDir },
  });
}

function describeTaken(settings: Settings, account: AccountOfConfig, other: string): ConfigError {
  const { name } = account;
  return new ConfigError(`the key that ${name} had is now the key of ${other}`, {
    code: 'identity_mismatch',
    hint: `Give each its own key: the two may be swapped. Where the key of ${name} is right, run ${nameAcceptance(account)} once. ${SAFE}`,
    context: { path: settings.stateDir },
  });
}

function describeShared(
  settings: Settings,
  account: AccountOfConfig,
  others: readonly string[],
): ConfigError {
  const names = [account.name, ...others];
  return new ConfigError(
    `${listNames(names)} have the same key and send the same requests: they would have the same rows`,
    {
      code: 'identity_mismatch',
      hint: `Give each its own key, e.g. "apiKey: \${file:./keys/\${account}}" and a file with a different key for each, or let them ask for different data. If they are meant to share one, run ${nameAcceptance(account)} once. ${SAFE}`,
      context: { path: settings.stateDir },
    },
  );
}

/** Records what this account reads with, once it is accepted. */
export function recordSource(settings: Settings, { ofAccount, acceptNewKey = false }: KeyOptions): void {
  const source = describeSource(settings);
  const alike = ofAccount?.byKey.get(source.key) ?? [];
  const held = alike.find((one) => one.name === ofAccount?.name);
  const isAccepted = (one: AccountSource) =>
    one.asks === source.asks && (acceptNewKey || (one.asked !== undefined && one.asked === held?.asked));
  const shares = held?.shares === true || alike.some((one) => one !== held && isAccepted(one));
  writeSourceRecord(settings.stateDir, { ...source, ...(shares && { shares }) });
}

/** What a config reads with: equal for accounts that would have the same rows. */
export function describeSource(settings: Settings): SourceRecord {
  const asked = settings.streams.map((stream) => hashAddress(settings, stream)).toSorted();
  const asks = createHash('sha256').update(JSON.stringify(asked)).digest('hex').slice(0, 32);
  return { key: nameKey(settings), asks };
}
