import path from 'node:path';
import type { ConfigPath } from './config-path.ts';
import type { LoadedConfig } from './load-config.ts';
import { buildConfigError, type Problem } from './problem.ts';
import { isInside, resolveLinks } from '../files/real-paths.ts';
import type { Destination } from '../model/destination.ts';
import { findDuckLakeProblem } from './ducklake-destination.ts';
import type { IsIn, Neighbourhood } from './lakehouse-settings.ts';
import { READERS_FILE, type StoragePaths } from './storage-paths.ts';

const DUCKDB: ConfigPath = ['destination', 'duckdb'];
const PARQUET: ConfigPath = ['destination', 'parquet'];
const STATE: ConfigPath = ['stateDir'];

/** Paths that must not overlap, with their links followed. */
interface Places {
  readonly duckdb: string | undefined;
  readonly lake: string | undefined;
  readonly state: string;
  readonly ledger: string;
  readonly contracts: string;
  /** Undefined for a config that is not a file. */
  readonly config: string | undefined;
}

/**
 * Rejects destinations that overlap with each other, the state, the quota ledger, or files that people write;
 * throws a ConfigError for the first.
 */
export function assertDistinctPaths(
  loaded: LoadedConfig,
  paths: StoragePaths & { readonly ledgerDir: string },
  platform: NodeJS.Platform,
): void {
  const own = path.join(paths.stateDir, READERS_FILE);
  const find = (kind: Destination['kind']) => {
    const found = paths.destinations.find((one) => one.kind === kind && one.path !== own);
    return found && resolveLinks(found.path);
  };
  const places: Places = {
    duckdb: find('duckdb'),
    lake: find('parquet'),
    state: resolveLinks(paths.stateDir),
    ledger: resolveLinks(paths.ledgerDir),
    contracts: resolveLinks(path.join(loaded.baseDir, 'contracts')),
    config: loaded.path === undefined ? undefined : resolveLinks(loaded.path),
  };
  const isIn: IsIn = (inner, outer) =>
    inner !== undefined && outer !== undefined && isInside(inner, outer, platform);
  const problem =
    findLakeProblem(places, isIn) ??
    findFileProblem(places, isIn, paths.stateDir) ??
    findDuckLakeProblem(paths.destinations, {
      neighbours: listNeighbours(places),
      config: places.config,
      isIn,
    });
  if (problem !== undefined) throw buildConfigError([problem], loaded);
}

function listNeighbours({ duckdb, lake, state, ledger, contracts }: Places): Neighbourhood['neighbours'] {
  return [
    [lake, 'destination.parquet'],
    [state, 'the state folder'],
    [ledger, 'the quota ledger'],
    [contracts, 'the contract files'],
    [duckdb, 'destination.duckdb'],
  ];
}

function findLakeProblem(
  { lake, state, ledger, contracts, config }: Places,
  isIn: IsIn,
): Problem | undefined {
  const overlaps = (other: string) => isIn(lake, other) || isIn(other, lake);
  const refuse = (message: string, hint: string): Problem => ({ path: PARQUET, message, hint });
  if (overlaps(state))
    return refuse(
      'must not be inside the state folder, or the other way round: one is for readers, the other is private',
      'Name folders side by side, e.g. ./lake and ./.sluice.',
    );
  if (overlaps(ledger))
    return refuse(
      `must not be inside the folder of the quota ledger (${ledger}), or the other way round: a lake holds nothing else`,
      'Name folders side by side, e.g. ./lake, and ./quota as source.quota.ledgerDir.',
    );
  if (overlaps(contracts))
    return refuse(
      `must not be inside the folder of the contract files (${contracts}), or the other way round`,
      'Name a folder of its own, e.g. ./lake.',
    );
  if (isIn(config, lake))
    return refuse(
      `must not be a folder that holds the config file (${config ?? ''}): a lake holds nothing else`,
      'Name a folder of its own, e.g. ./lake.',
    );
  return undefined;
}

function findFileProblem(
  { duckdb, lake, state, ledger, contracts, config }: Places,
  isIn: IsIn,
  stateDir: string,
): Problem | undefined {
  const refuse = (message: string, hint: string, at = DUCKDB): Problem => ({ path: at, message, hint });
  // The state folder is private (0700) and Sluice replaces its files at any time, so it cannot hold a file
  // for others.
  if (isIn(duckdb, state))
    return refuse(
      'must be outside the state folder, which no other user can open',
      path.basename(stateDir) === '.sluice'
        ? `Name a file outside ${stateDir}, e.g. ./warehouse.duckdb.`
        : `Name a file outside ${stateDir}, or set stateDir to a folder of its own, e.g. ./.sluice.`,
    );
  if (isIn(state, duckdb))
    return refuse(
      'must not be below the path of destination.duckdb, which is a file',
      'Name another folder, e.g. ./.sluice.',
      STATE,
    );
  if (isIn(duckdb, lake))
    return refuse(
      'must be outside the folder of destination.parquet, which holds only the lake',
      'Name a file next to that folder, e.g. ./warehouse.duckdb.',
    );
  if (isIn(lake, duckdb))
    return refuse(
      'must not be below the path of destination.duckdb, which is a file',
      'Name a folder next to that file, e.g. ./lake.',
      PARQUET,
    );
  if (isIn(duckdb, config))
    return refuse('is the config file itself', 'Name another file, e.g. ./warehouse.duckdb.');
  const taken = [
    [ledger, 'the quota ledger'],
    [contracts, 'the contract files'],
  ].find(([folder]) => isIn(duckdb, folder) || isIn(folder, duckdb));
  if (taken === undefined) return undefined;
  return refuse(
    `must be outside the folder of ${taken[1] ?? ''} (${taken[0] ?? ''}), and not that folder itself`,
    'Name a file elsewhere, e.g. ./warehouse.duckdb.',
  );
}
