import { realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { configDefaults } from '../model/config.ts';
import { ConfigError } from '../model/errors.ts';
import type { ConfigPath } from './config-path.ts';
import type { LoadedConfig } from './load-config.ts';
import { buildConfigError } from './problem.ts';

/** The places a run writes to, absolute. */
export interface StoragePaths {
  readonly duckdbPath: string;
  readonly stateDir: string;
}

/** Paths of the command line, already absolute, that win over those of the config. */
export interface PathOverrides {
  readonly duckdb?: string;
  readonly stateDir?: string;
}

/** Resolves the published file and the state folder, and keeps them out of each other's way. */
export function resolveStoragePaths(
  loaded: LoadedConfig,
  home: string | undefined,
  overrides: PathOverrides,
): StoragePaths {
  const { destination, stateDir: configured = configDefaults.stateDir } = loaded.config;
  const duckdbText = overrides.duckdb ?? destination.duckdb;
  const duckdbPath = resolvePath(duckdbText, loaded.baseDir, home);
  const stateDir = resolvePath(overrides.stateDir ?? configured, loaded.baseDir, home);
  const refuse = (key: ConfigPath, message: string, hint: string): never => {
    throw buildConfigError([{ path: key, message, hint }], loaded);
  };
  const duckdbKey = ['destination', 'duckdb'];
  if (/^(?:[a-z][a-z0-9+.-]+:\/\/|md:|:memory:)/i.test(duckdbText))
    refuse(duckdbKey, 'must be a file on this machine', 'Write a path, e.g. ./warehouse.duckdb.');
  if (/[/\\]$/.test(duckdbText) || isFolder(duckdbPath) === true)
    refuse(
      duckdbKey,
      `${duckdbPath} is a folder`,
      `Name a file in it, e.g. ${path.join(duckdbPath, 'warehouse.duckdb')}.`,
    );
  if (isFolder(stateDir) === false)
    refuse(
      ['stateDir'],
      `${stateDir} is a file and must be a folder`,
      'Name another folder, e.g. ./.sluice.',
    );
  const realFile = resolveLinks(duckdbPath);
  const realState = resolveLinks(stateDir);
  // The engine takes what follows for options of the file, and writes its log to another place.
  if (realFile.includes('?'))
    refuse(duckdbKey, `must not lie at a path with a question mark: ${realFile}`, 'Name another file.');
  if (realState.includes('?'))
    refuse(['stateDir'], `must not lie at a path with a question mark: ${realState}`, 'Name another folder.');
  // The state folder is private (0700) and its files are replaced at will: no place for a file others read.
  if (isInside(realFile, realState))
    refuse(
      duckdbKey,
      'must be outside the state folder, which no other user can open',
      `Name a file outside ${stateDir}, or set stateDir to a folder of its own, e.g. ./.sluice.`,
    );
  if (isInside(realState, realFile))
    refuse(
      ['stateDir'],
      'must not be below the path of destination.duckdb, which is a file',
      'Name another folder, e.g. ./.sluice.',
    );
  return { duckdbPath, stateDir };
}

/** A path of the config, absolute: relative ones start at its folder, `~/` at the home folder. */
export function resolvePath(text: string, baseDir: string, home: string | undefined): string {
  // YAML has no shell to expand ~, and a folder of that name is a trap for the next `rm -r ~`.
  if (!/^~[/\\]/.test(text)) return path.resolve(baseDir, text);
  if (home !== undefined) return path.join(home, text.slice(2));
  throw new ConfigError('a path starts with ~ and this user has no home folder', {
    code: 'config_invalid',
    hint: 'Write the path out in full, or set HOME.',
  });
}

function isInside(inner: string, outer: string): boolean {
  const relative = path.relative(outer, inner);
  return relative === '' || (!/^\.\.(?:[/\\]|$)/.test(relative) && !path.isAbsolute(relative));
}

/** Undefined when there is nothing at the path, or nothing this user may see. */
function isFolder(target: string): boolean | undefined {
  try {
    return statSync(target).isDirectory();
  } catch {
    return undefined;
  }
}

/** The path with the links of its existing part followed, so that two names of one place compare equal. */
function resolveLinks(target: string): string {
  try {
    return realpathSync(target);
  } catch {
    const parent = path.dirname(target);
    return parent === target ? target : path.join(resolveLinks(parent), path.basename(target));
  }
}
