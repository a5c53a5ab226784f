import { readSourceRecord } from '../../state/source-record.ts';
import type { AccountOfConfig, AccountSource } from '../model/account.ts';
import type { Settings } from '../model/settings.ts';
import { describeSource } from '../storage/other-accounts.ts';

/** A place of one account, or of all together. */
interface Place {
  readonly account: string | undefined;
  readonly kind: string;
  readonly path: string;
}

/**
 * Describes accounts to their runs. Accounts whose state folder or settings cannot be read are left out: their own run
 * says why.
 *
 * @param places of all accounts of the config
 * @param load settings of an account, with its key; called for accounts that were never synced, or share a key
 */
export async function describeAccounts(
  places: readonly Place[],
  load: (name: string) => Settings | Promise<Settings>,
): Promise<(name: string) => AccountOfConfig> {
  const found: AccountSource[] = [];
  for (const { account: name, kind, path } of places) {
    if (kind !== 'stateDir' || name === undefined) continue;
    const record = readSourceRecord(path);
    const source = record ?? (await readSource(name, load));
    if (source === undefined) continue;
    found.push({ name, ...source, asked: record?.asks, isSynced: record !== undefined });
  }
  const groups = Map.groupBy(found, ({ key }) => key);
  const byKey = new Map<string, readonly AccountSource[]>();
  for (const [key, alike] of groups)
    byKey.set(key, alike.length === 1 ? alike : await addCurrent(alike, load));
  return (name) => ({ name, byKey });
}

/** The config of accounts with one key may have changed since their last run. */
function addCurrent(
  alike: readonly AccountSource[],
  load: (name: string) => Settings | Promise<Settings>,
): Promise<readonly AccountSource[]> {
  return Promise.all(
    alike.map(async (one) => {
      const current = one.isSynced ? await readSource(one.name, load) : undefined;
      return current?.key === one.key ? { ...one, asks: current.asks } : one;
    }),
  );
}

async function readSource(name: string, load: (name: string) => Settings | Promise<Settings>) {
  try {
    return describeSource(await load(name));
  } catch {
    return undefined;
  }
}
