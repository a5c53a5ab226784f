import { StorageError } from '../model/errors.ts';

/** A file of the archive that cannot be read, or is not what was written. */
export function damagedFile(path: string, reason: string, cause?: unknown): StorageError {
  return new StorageError(`${path} of the archive is damaged: ${reason}`, {
    code: 'archive_damaged',
    hint: 'The tables are unchanged, and syncs continue without it. `sluice sync --full-refresh` archives the stream again.',
    context: { path },
    ...(cause === undefined ? {} : { cause }),
  });
}
