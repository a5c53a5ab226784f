import { chmod, copyFile, open, rename, rm } from 'node:fs/promises';
import { StorageError, toSyncError } from '../../model/errors.ts';

/** Copies a published file to the place of the work file, whole or not at all. */
export async function restoreFile(published: string, file: string): Promise<void> {
  const temporary = `${file}.restore`;
  try {
    await copyFile(published, temporary);
    await chmod(temporary, 0o600);
    const handle = await open(temporary, 'r+');
    await handle.sync().finally(() => handle.close());
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new StorageError(`cannot restore the state from ${published}: ${toSyncError(error).message}`, {
      code: 'storage_failed',
      hint: 'Fix the cause (permissions of both folders, disk space) and run again. Nothing is lost.',
      context: { path: published },
      cause: error,
    });
  }
}
