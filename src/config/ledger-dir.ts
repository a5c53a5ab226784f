import { existsSync } from 'node:fs';
import path from 'node:path';

/** What the default place of the quota ledger depends on. */
export interface LedgerPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly stateDir: string;
  /** Whether a folder is there; by default on this machine. */
  readonly exists?: (folder: string) => boolean;
}

/** The user's home folder; undefined when there is none to write to, as in many containers. */
export function findHome(env: LedgerPlace['env'], platform: NodeJS.Platform): string | undefined {
  const home = platform === 'win32' ? env.USERPROFILE : env.HOME;
  // Users without an entry in passwd get HOME=/, which is not theirs.
  return isUsable(home, platform) && home !== '/' ? home : undefined;
}

/**
 * The default folder of the quota ledger: a place that all projects of a user share, because they share the
 * key's quota.
 */
export function findLedgerDir({ env, platform, stateDir, exists = existsSync }: LedgerPlace): string {
  const named = findHome(env, platform);
  // Users that only run services get a home folder that does not exist, e.g. /nonexistent.
  const home = named !== undefined && exists(named) ? named : undefined;
  const root = findStateRoot(env, platform, home);
  const paths = pathsOf(platform);
  return root === undefined ? paths.join(stateDir, 'quota') : paths.join(root, 'sluice', 'quota');
}

function findStateRoot(
  env: LedgerPlace['env'],
  platform: NodeJS.Platform,
  home: string | undefined,
): string | undefined {
  if (platform === 'win32') return isUsable(env.LOCALAPPDATA, platform) ? env.LOCALAPPDATA : undefined;
  if (platform === 'darwin')
    return home === undefined ? undefined : pathsOf(platform).join(home, 'Library', 'Application Support');
  // The XDG rules: a relative path there is to be ignored.
  if (isUsable(env.XDG_STATE_HOME, platform)) return env.XDG_STATE_HOME;
  return home === undefined ? undefined : pathsOf(platform).join(home, '.local', 'state');
}

function isUsable(folder: string | undefined, platform: NodeJS.Platform): folder is string {
  return folder !== undefined && pathsOf(platform).isAbsolute(folder);
}

function pathsOf(platform: NodeJS.Platform): path.PlatformPath {
  return platform === 'win32' ? path.win32 : path.posix;
}
