import { join } from 'node:path';
import type { Destination, ExtensionFolder } from '../../model/destination.ts';
import type { Settings } from '../../model/settings.ts';

/** Where a run of a fleet works. */
export interface ScratchPlaces {
  /** Absolute path of the state folder, of this run alone. */
  readonly stateDir: string;
  /** Absolute path of a folder for the engine's extensions, of all runs on this machine. */
  readonly extensions: string;
}

/**
 * The settings of an account with its state in a scratch folder. Its quota ledger travels with the state. The copy that
 * commands read where nothing else is on this machine is left out: nobody would read it here. Pages are not archived: all of
 * them would travel with each run.
 */
export function moveToScratch(settings: Settings, { stateDir, extensions }: ScratchPlaces): Settings {
  const isOwnCopy = ({ kind, path }: Destination) =>
    kind === 'duckdb' && path.startsWith(join(settings.stateDir, '/'));
  const moveFolder = (folder: ExtensionFolder) =>
    folder.installs ? { folder: extensions, installs: true } : folder;
  const hasServer = settings.destinations.some(isServer);
  const destinations = settings.destinations
    .filter((one) => !hasServer || !isOwnCopy(one))
    .map((one) => (isServer(one) ? { ...one, extensions: moveFolder(one.extensions) } : one));
  const ownCopy = settings.destinations.find(isOwnCopy);
  return {
    ...settings,
    stateDir,
    ledgerDir: join(stateDir, 'quota'),
    destinations,
    retention: { ...settings.retention, archiveMs: 0 },
    readersFile:
      ownCopy?.path === settings.readersFile ? join(stateDir, 'readers.duckdb') : settings.readersFile,
    reach: { ...settings.reach, extensions: moveFolder(settings.reach.extensions) },
  };
}

/** Whether a destination holds the rows and the state for any machine, so that the work file need not travel. */
export function isServer(
  destination: Destination,
): destination is Exclude<Destination, { kind: 'duckdb' | 'parquet' }> {
  return destination.kind !== 'duckdb' && destination.kind !== 'parquet';
}
