import { lstatSync, mkdirSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** What decides where compiled code is kept, and whether. */
export interface CacheSurroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  /** Of this process; undefined where files have no owners. */
  readonly userId: number | undefined;
  readonly home: () => string;
}

/**
 * Keeps compiled code from one start to the next, in a folder that nobody but this user can write: what is in it is
 * run. Where there is no such folder, or none can be made, everything is compiled anew.
 */
export function keepCompiledCode(): void {
  const { env, platform } = process;
  const folder = findCacheFolder({ env, platform, userId: process.geteuid?.(), home: homedir });
  if (folder !== undefined) enableCompileCache(folder);
}

/** The folder for compiled code, made if need be; undefined where none is to be used. Never throws. */
export function findCacheFolder({ env, platform, userId, home }: CacheSurroundings): string | undefined {
  // Whoever sets one of these has decided; Node does as they say, also where they are empty.
  if ('NODE_DISABLE_COMPILE_CACHE' in env || 'NODE_COMPILE_CACHE' in env) return undefined;
  try {
    const root = findCacheRoot(env, platform, home);
    const own = join(root, 'sluice');
    const folder = join(own, 'compiled');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Whoever may write a folder may put another one in place of what is in it.
    return [root, own, folder].every((path) => isPrivate(path, userId)) ? folder : undefined;
  } catch {
    return undefined;
  }
}

function findCacheRoot(env: NodeJS.ProcessEnv, platform: NodeJS.Platform, home: () => string): string {
  const named = platform === 'win32' ? env['LOCALAPPDATA'] : env['XDG_CACHE_HOME'];
  if (named !== undefined && isAbsolute(named)) return named;
  const below = { win32: ['AppData', 'Local'], darwin: ['Library', 'Caches'] } as const;
  return join(home(), ...(platform === 'win32' || platform === 'darwin' ? below[platform] : ['.cache']));
}

const OTHERS_MAY_WRITE = 0o022;

function isPrivate(path: string, userId: number | undefined): boolean {
  const found = lstatSync(path);
  if (!found.isDirectory()) return false;
  // Windows gives a user's folders to that user alone, and tells nothing of it here.
  return userId === undefined || (found.uid === userId && (found.mode & OTHERS_MAY_WRITE) === 0);
}
