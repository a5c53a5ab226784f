import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { makeFolders } from '../../files/make-folders.ts';
import { StorageError } from '../../model/errors.ts';
import { isRunning } from '../../model/is-running.ts';

/** Folders of this worker, and of all on this machine. */
export interface Scratch {
  readonly own: string;
  readonly extensions: string;
}

/**
 * Removes what killed workers of this machine left, and makes the folder of this one. Containers may share the folder: each
 * has a host name of its own, and processes of others cannot be looked at.
 *
 * @throws StorageError (6) where runs cannot work
 */
export function prepareScratch(root: string, worker: string): Scratch {
  const own = join(root, `worker-${worker}`);
  try {
    makeFolders(root, 0o700);
    for (const name of readdirSync(root).filter(isLeftOver))
      rmSync(join(root, name), { recursive: true, force: true });
    mkdirSync(own, { mode: 0o700 });
  } catch (error) {
    throw new StorageError(
      `runs cannot work in ${root}: ${error instanceof Error ? error.message : String(error)}`,
      {
        code: 'storage_failed',
        hint: 'Name a folder on a local disk that this user may write to: --scratch. No account was taken.',
        context: { path: root },
        cause: error,
      },
    );
  }
  return { own, extensions: join(root, 'extensions') };
}

function isLeftOver(name: string): boolean {
  const [, host, pid] = /^worker-(.+)-(\d+)-[0-9a-f]{6}$/.exec(name) ?? [];
  // A container that was restarted has the same process id again.
  const isOver = Number(pid) === process.pid || !isRunning(Number(pid));
  return host === hostname() && isOver;
}
