import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PublishError } from '../../model/errors.ts';

/** What file systems answer that have no links, and Windows to a user who may not make any. */
const WITHOUT_LINKS: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);
const FIX =
  'A lake needs a file system with symbolic links (on Windows: the developer mode, or an administrator). Set destination.parquet to a folder on another file system.';

type MakeLink = (target: string, path: string, type: 'dir') => Promise<void>;

/** Makes a link to a folder. Throws a PublishError where there can be none, and other errors as they are. */
export async function makeLink(target: string, path: string, make: MakeLink = symlink): Promise<void> {
  try {
    await make(target, path, 'dir');
  } catch (error) {
    if (!hasNoLinks(error)) throw error;
    throw describeNoLinks(dirname(path), error, 'Everything synced is committed in the state folder.');
  }
}

/** Refuses a folder in which no link can be made: what cannot be published is not worth a request. */
export async function assertTakesLinks(folder: string, make: MakeLink = symlink): Promise<void> {
  // What cannot be written at all is told by others.
  const probe = await mkdtemp(join(folder, '.sluice-')).catch(() => undefined);
  if (probe === undefined) return;
  try {
    await make('nowhere', join(probe, 'link'), 'dir');
  } catch (error) {
    if (hasNoLinks(error)) throw describeNoLinks(folder, error, 'Nothing was requested.');
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

function hasNoLinks(error: unknown): boolean {
  return WITHOUT_LINKS.has((error as NodeJS.ErrnoException).code);
}

function describeNoLinks(path: string, error: unknown, safe: string): PublishError {
  return new PublishError(`cannot make a link in ${path}: ${(error as Error).message}`, {
    code: 'publish_failed',
    hint: `${FIX} ${safe}`,
    context: { path },
    cause: error,
  });
}
