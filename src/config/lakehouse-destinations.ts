import { type ConfigAccount, layerAccount } from './accounts.ts';
import { type ConfigPath, valueAt } from './config-path.ts';
import { duckLakePlace, resolveDuckLake } from './ducklake-destination.ts';
import { icebergPlace, resolveIceberg } from './iceberg-destination.ts';
import type { LakehouseScope, SharedPlace } from './lakehouse-settings.ts';
import { motherDuckPlace, resolveMotherDuck } from './motherduck-destination.ts';
import { postgresPlace, resolvePostgres } from './postgres-destination.ts';
import type { Problem } from './problem.ts';
import type { Config } from '../model/config.ts';
import type { Destination } from '../model/destination.ts';

/** The lakehouses that a config publishes to. */
export function resolveLakehouses(config: Config, scope: LakehouseScope): readonly Destination[] {
  return [
    resolveDuckLake(config, scope),
    resolveIceberg(config, scope),
    resolvePostgres(config, scope),
    resolveMotherDuck(config, scope),
  ].filter((one) => one !== undefined);
}

const places: readonly SharedPlace[] = [duckLakePlace, icebergPlace, postgresPlace, motherDuckPlace];

/** Whether an account publishes to a lakehouse. */
export function hasLakehouse(value: unknown): boolean {
  return places.some(
    ({ kind, keys: [first = ''] }) => textAt(value, ['destination', kind, first]) !== undefined,
  );
}

/** The first two accounts that would write the same schema of one lakehouse, as their configs are written. */
export function findSharedLakehouse(accounts: readonly ConfigAccount[]): Problem | undefined {
  const taken = new Map<string, string>();
  const layers = accounts.map((account) => ({ name: account.name, value: layerAccount(account).value }));
  for (const { name, value } of layers)
    for (const { kind, title, keys, own, fallback, simplify } of places) {
      const texts = keys.map((key) => textAt(value, ['destination', kind, key]));
      if (texts[0] === undefined) continue;
      const place = JSON.stringify([
        kind,
        ...texts.map((text = fallback) => {
          const named = text.replaceAll('${account}', name);
          return simplify?.(named) ?? named;
        }),
      ]);
      const other = taken.get(place);
      if (other !== undefined)
        return {
          path: ['destination', kind, own],
          message: `${other} and ${name} would share a ${own} of one ${title}, and each account needs its own`,
          hint: `Write ${own}: "\${account}"`,
        };
      taken.set(place, name);
    }
  return undefined;
}

function textAt(value: unknown, at: ConfigPath): string | undefined {
  const found = valueAt(value, at);
  return typeof found === 'string' && found.trim() !== '' ? found.trim() : undefined;
}
