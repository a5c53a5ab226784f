import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';

/** How a file is written. */
export interface WholeFile {
  /** Written next to the file first; in the same folder. */
  readonly temporary?: string;
  /** Permissions, less the umask unless `ignoresUmask`. */
  readonly mode: number;
  /** For readers that are other users. */
  readonly ignoresUmask?: boolean;
  /** Called once it is written, before the rename; throws if it must not get its name any more. */
  readonly lookAgain?: (() => Promise<void>) | undefined;
}

/** Writes a file whole or not at all: flushed, then renamed. Throws what the system refuses, and leaves nothing behind. */
export async function writeWhole(file: string, text: string | Uint8Array, how: WholeFile): Promise<void> {
  const { temporary = `${file}.tmp`, mode, ignoresUmask = false, lookAgain } = how;
  // Never through a link that somebody else has laid there.
  await rm(temporary, { force: true });
  try {
    const handle = await open(temporary, 'wx', mode);
    try {
      await handle.writeFile(text);
      if (ignoresUmask) await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await lookAgain?.();
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** The same for small files, where nothing may happen in between. */
export function writeWholeSync(file: string, text: string, how: Pick<WholeFile, 'temporary' | 'mode'>): void {
  const { temporary = `${file}.tmp`, mode } = how;
  rmSync(temporary, { force: true });
  const descriptor = openSync(temporary, 'wx', mode);
  try {
    // Not `writeSync`, which may write only a part on a full disk without an error.
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
}
