import { readSourceRecord } from '../../state/source-record.ts';
import type { AccountOfConfig } from '../model/account.ts';
import type { Settings } from '../model/settings.ts';
import { nameSource } from '../storage/other-accounts.ts';

/** A place of one account, or of all together. */
interface Place {
  readonly account: string | undefined;
  readonly kind: string;
  readonly path: string;
}

/**
 * Describes accounts to their runs. An account whose state folder the config does not say is left out, as is one whose
 * settings cannot be read: its own run says why.
 *
 * @param places of all accounts of the config
 * @param load settings of an account, with its key; called for those that were never synced
 */
export async function describeAccounts(
  places: readonly Place[],
  load: (name: string) => Settings | Promise<Settings>,
): Promise<(name: string) => AccountOfConfig> {
  const folders = places.flatMap(({ account, kind, path }) =>
    kind === 'stateDir' && account !== undefined ? [{ name: account, stateDir: path }] : [],
  );
  const sources = new Map<string, string>();
  for (const { name, stateDir } of folders) {
    if (readSourceRecord(stateDir) !== undefined) continue;
    const settings = await new Promise<Settings>((resolve) => resolve(load(name))).catch(() => undefined);
    if (settings !== undefined) sources.set(name, nameSource(settings));
  }
  return (name) => ({
    name,
    alike: [...sources].flatMap(([other, source]) =>
      other !== name && source === sources.get(name) ? [other] : [],
    ),
    others: folders.filter((one) => one.name !== name),
  });
}
