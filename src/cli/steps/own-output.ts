import { isAbsolute } from 'node:path';
import { isInside, resolveLinks } from '../../files/real-paths.ts';
import type { Destination } from '../../model/destination.ts';
import { ConfigError } from '../../model/errors.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { CliContext } from '../frame/context.ts';
import type { OutputTarget } from './output-file.ts';

/** A file, or a folder with all that is in it, and what it is for people. */
type OwnPlace = readonly [path: string, title: string];

/** Refuses to write where the config, the state or published data are: whatever is there is needed, or not for others. */
export function refuseOwnPlace(
  { account }: Pick<CliContext, 'account'>,
  settings: OfflineSettings,
  { path, absolute }: OutputTarget,
): void {
  const { configPath, stateDir, ledgerDir, destinations } = settings;
  const files = [configPath, account?.shared.path, account?.ownFile.path];
  const places: readonly OwnPlace[] = [
    ...files.flatMap((file): readonly OwnPlace[] => (file === undefined ? [] : [[file, 'the config']])),
    [stateDir, 'the state folder'],
    [ledgerDir, 'the folder of the quota ledger'],
    ...destinations.flatMap(listPlaces),
  ];
  const real = resolveLinks(absolute);
  const taken = places.find(([place]) => isInside(real, resolveLinks(place)));
  if (taken === undefined) return;
  const [place, title] = taken;
  throw new ConfigError(
    real === resolveLinks(place)
      ? `${path} is ${title} itself; it was not touched`
      : `${path} is inside ${title} (${place}); nothing was written`,
    {
      code: 'usage_invalid',
      hint: 'Name a file somewhere else with --output.',
      context: { path },
    },
  );
}

function listPlaces(destination: Destination): readonly OwnPlace[] {
  switch (destination.kind) {
    case 'duckdb':
      return [
        [destination.path, 'the published file'],
        [`${destination.path}.wal`, 'the log of the published file'],
      ];
    case 'parquet':
      return [[destination.path, 'the lake']];
    case 'ducklake': {
      const { catalog, data } = destination;
      return [
        ...(catalog.kind === 'sqlite' ? [[catalog.file, 'the catalog of the lake'] as const] : []),
        ...(isAbsolute(data) ? [[data, 'the lake'] as const] : []),
      ];
    }
    default:
      return [];
  }
}
