import { constants, existsSync } from 'node:fs';
import { copyFile, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StorageError } from '../model/errors.ts';
import { Database } from '../warehouse/database.ts';
import { assertNotAborted } from '../model/abort.ts';
import { workFile } from '../../state/work-file.ts';
import { interruptOnAbort } from '../warehouse/interrupt-on-abort.ts';

/**
 * Lets `work` change a copy of the work file and then replaces the original atomically. The state lock must be held;
 * `database` is open on the work file before and after.
 */
export async function replaceByCopy<T>(
  stateDir: string,
  database: Database,
  signal: AbortSignal | undefined,
  work: (copy: Database, stage: string) => Promise<T>,
): Promise<T> {
  const file = workFile(stateDir);
  const copy = copyOf(stateDir);
  await database.checkpoint();
  await database.release();
  try {
    await removeWorkCopy(stateDir);
    assertNoLog(file);
    // Shares the blocks if the file system supports it, else copies them.
    await copyFile(file, copy, constants.COPYFILE_FICLONE);
    const result = await workOn(stateDir, copy, signal, work);
    assertNoLog(copy);
    await syncToDisk(copy);
    // The state may be in other hands since the last statement.
    assertNotAborted(signal);
    await rename(copy, file);
    await syncToDisk(dirname(file)).catch(() => undefined);
    return result;
  } finally {
    await removeWorkCopy(stateDir).catch(() => undefined);
    await database.reopen();
  }
}

/** Removes what a killed rebuild left; call while the state lock is held. */
export async function removeWorkCopy(stateDir: string): Promise<void> {
  const copy = copyOf(stateDir);
  for (const path of [copy, `${copy}.wal`]) await rm(path, { force: true });
  await rm(stageOf(stateDir), { recursive: true, force: true });
}

async function workOn<T>(
  stateDir: string,
  file: string,
  signal: AbortSignal | undefined,
  work: (copy: Database, stage: string) => Promise<T>,
): Promise<T> {
  const folders = [join(stateDir, 'tmp'), join(stateDir, 'stage')];
  const database = await Database.open({ file, isSizedByFile: true, folders });
  try {
    return await interruptOnAbort(database, signal, async () => {
      const result = await work(database, stageOf(stateDir));
      await database.checkpoint();
      return result;
    });
  } finally {
    await database.release();
  }
}

function copyOf(stateDir: string): string {
  return `${workFile(stateDir)}.rebuild`;
}

// No stream's name begins with a dot.
function stageOf(stateDir: string): string {
  return join(stateDir, 'stage', '.rebuild');
}

function assertNoLog(file: string): void {
  if (!existsSync(`${file}.wal`)) return;
  throw new StorageError(`${file} has changes that are not written into it yet`, {
    code: 'storage_failed',
    hint: 'Run again: committed data is safe.',
    context: { path: file },
  });
}

async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}
