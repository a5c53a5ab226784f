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
 * @param load settings of an account, with its key; called for accounts that were never synced
 */
export async function describeAccounts(
  places: readonly Place[],
  load: (name: string) => Settings | Promise<Settings>,
): Promise<(name: string) => AccountOfConfig> {
  const byKey = new Map<string, AccountSource[]>();
  for (const { account: name, kind, path } of places) {
    if (kind !== 'stateDir' || name === undefined) continue;
    const record = readSourceRecord(path);
    const source = record ?? (await readSource(name, load));
    if (source === undefined) continue;
    const alike = byKey.get(source.key) ?? [];
    if (alike.length === 0) byKey.set(source.key, alike);
    alike.push({ name, ...source, isSynced: record !== undefined });
  }
  return (name) => ({ name, byKey });
}

async function readSource(name: string, load: (name: string) => Settings | Promise<Settings>) {
  try {
    return describeSource(await load(name));
  } catch {
    return undefined;
  }
}
