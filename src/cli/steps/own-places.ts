import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { readFileAtMost } from '../../files/read-at-most.ts';

/** Where a new config's files go, as written in it; without `stateDir` the default is free. */
export interface OwnPlaces {
  readonly duckdb: string;
  readonly stateDir: string | undefined;
}

/** Configs are smaller by far. */
const MOST_BYTES = 2 ** 20;

const FIRST: OwnPlaces = { duckdb: './warehouse.duckdb', stateDir: undefined };

/** Gives the second and later configs of a folder a state folder and a destination of their own. */
export function chooseOwnPlaces(configPath: string): OwnPlaces {
  const folder = dirname(configPath);
  const wanted = basename(configPath, extname(configPath));
  // Without another config, this is most likely the first one being written again.
  const isUsed = ['.sluice', 'warehouse.duckdb'].some((name) => existsSync(join(folder, name)));
  const isTaken = hasOtherConfig(folder, basename(configPath)) || (isUsed && wanted !== 'sluice');
  if (!isTaken) return FIRST;
  let name = wanted;
  for (let number = 2; existsSync(join(folder, name)); number += 1) name = `${wanted}-${number}`;
  return { duckdb: `./${name}/warehouse.duckdb`, stateDir: `./${name}/.sluice` };
}

function hasOtherConfig(folder: string, own: string): boolean {
  try {
    return readdirSync(folder).some(
      (name) => name !== own && /\.ya?ml$/.test(name) && isConfig(join(folder, name)),
    );
  } catch {
    // An unreadable folder is reported when the file is written.
    return false;
  }
}

function isConfig(file: string): boolean {
  try {
    const text = readFileAtMost(file, MOST_BYTES)?.toString() ?? '';
    return /^\s+["']?connector["']?:/m.test(text);
  } catch {
    return false;
  }
}
