import { StorageError } from '../model/errors.ts';

/** Runs file operations of a stage's folder; their errors become StorageErrors. */
export async function storageGuard<T>(folder: string, work: () => Promise<T>): Promise<T> {
  return work().catch((error: unknown) => {
    throw wrapStorageError(folder, error);
  });
}

/** Wraps the error of a failed file operation on a stage. */
export function wrapStorageError(path: string, error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  return new StorageError(`cannot stage pages in ${path}: ${(error as Error).message}`, {
    code: 'storage_failed',
    hint: 'Free some disk space or fix the permissions of the state folder, then run again; complete pages are kept.',
    context: { path },
    cause: error,
  });
}
