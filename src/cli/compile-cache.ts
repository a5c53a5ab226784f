import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

/** What decides whether and where compiled code is kept. */
export interface CacheSurroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  /** The user id of this process; undefined where files have no owners. */
  readonly userId: number | undefined;
  readonly home: () => string;
}

/**
 * Keeps compiled code between starts, in a folder that only this user can write, because its content is
 * executed. Without such a folder, everything is compiled again at each start.
 */
export function keepCompiledCode(): void {
  const { env, platform } = process;
  const folder = findCacheFolder({ env, platform, userId: process.geteuid?.(), home: homedir });
  if (folder !== undefined) enableCompileCache(folder);
}

/** The folder for compiled code, created if needed; undefined if none may be used. Never throws. */
export function findCacheFolder({ env, platform, userId, home }: CacheSurroundings): string | undefined {
  // These variables are the user's decision, which Node follows, even if they are empty.
  if ('NODE_DISABLE_COMPILE_CACHE' in env || 'NODE_COMPILE_CACHE' in env) return undefined;
  try {
    const root = findCacheRoot(env, platform, home);
    const own = join(root, 'sluice');
    const folder = join(own, 'compiled');
    makePrivate(folder);
    // Anyone who can write to a folder can replace what is in it.
    return [root, own, folder].every((path) => isPrivate(path, userId)) ? folder : undefined;
  } catch {
    return undefined;
  }
}

// As `makeFolders` does, which is not imported: what is loaded before the cache is there is compiled at each start.
function makePrivate(folder: string): void {
  if (existsSync(folder)) return;
  makePrivate(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
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
  // Windows restricts a user's folders to that user, but the mode here does not show it.
  return userId === undefined || (found.uid === userId && (found.mode & OTHERS_MAY_WRITE) === 0);
}
