import { open } from 'node:fs/promises';

/** Flushes a file to disk. Its mode is left as the engine created it. */
export async function syncFile(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  await handle.sync().finally(() => handle.close());
}

/** Flushes a folder's entries to disk. */
export async function syncFolder(folder: string): Promise<void> {
  // Some systems cannot open folders; renames are atomic there as well.
  const handle = await open(folder, 'r').catch(() => undefined);
  try {
    await handle?.sync().catch(() => undefined);
  } finally {
    await handle?.close();
  }
}
