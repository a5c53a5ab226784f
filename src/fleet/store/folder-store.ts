import { randomUUID } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { makeFolders } from '../../files/make-folders.ts';
import { syncFolder } from '../../files/sync-to-disk.ts';
import { StorageError, SyncError } from '../../model/errors.ts';
import { openLocal, readChunks, writeChunks } from './local-file.ts';
import { assertObjectName, isObjectName } from './object-name.ts';
import type { StateStore, StoredObject } from './state-store.ts';

/** Files that are being written; no name begins with a dot. */
const INCOMING = '.incoming';
/** Older ones were left by a process that was killed. */
const LONGEST_PUT_MS = 24 * 3_600_000;

/** Keeps objects as files of a folder that all machines see, such as a network disk. */
export class FolderStore implements StateStore {
  readonly place: string;
  readonly #makeId: () => string;

  /** @param folder absolute; it must be there, since a disk that is not mounted would look like an empty store */
  constructor(folder: string, makeId: () => string = randomUUID) {
    this.place = path.resolve(folder);
    this.#makeId = makeId;
  }

  async put(name: string, file: string): Promise<void> {
    assertObjectName(name);
    // Here, so that a missing file is not taken for a fault of the store.
    await (await openLocal(file)).close();
    await this.#guard(async () => {
      const target = path.join(this.place, name);
      await this.#assertThere();
      makeFolders(path.join(this.place, INCOMING), 0o700);
      makeFolders(path.dirname(target), 0o700);
      const temporary = path.join(this.place, INCOMING, this.#makeId());
      await writeChunks({ file: target, temporary }, readChunks(file));
      for (let folder = path.dirname(target); ; folder = path.dirname(folder)) {
        await syncFolder(folder);
        if (folder === this.place) break;
      }
      // By the clock of the disk, which has these times.
      const written = await stat(target).catch(ignoreMissing);
      if (written !== undefined) await this.#removeLeftovers(written.mtimeMs - LONGEST_PUT_MS);
    });
  }

  async get(name: string, file: string): Promise<boolean> {
    assertObjectName(name);
    return this.#guard(async () => {
      await this.#assertThere();
      const source = path.join(this.place, name);
      const found = await stat(source).catch(ignoreMissing);
      if (found?.isFile() !== true) return false;
      const bytes = await writeChunks({ file, isScratch: true }, readChunks(source));
      if (bytes !== found.size) throw new Error(`${name} has ${found.size} bytes, and ${bytes} were read`);
      return true;
    });
  }

  async list(prefix: string): Promise<readonly StoredObject[]> {
    return this.#guard(async () => {
      await this.#assertThere();
      const start = prefix.slice(0, Math.max(0, prefix.lastIndexOf('/')));
      if (start !== '' && !isObjectName(start)) return [];
      return this.#walk(start, prefix);
    });
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) assertObjectName(name);
    await this.#guard(async () => {
      await this.#assertThere();
      for (const name of names) await rm(path.join(this.place, name), { force: true }).catch(ignoreMissing);
    });
  }

  async close(): Promise<void> {}

  async #walk(below: string, prefix: string): Promise<readonly StoredObject[]> {
    const folder = path.join(this.place, below);
    const entries: readonly Dirent[] = await readdir(folder, { withFileTypes: true }).catch(
      (error: unknown) => ignoreMissing(error) ?? [],
    );
    const found: StoredObject[] = [];
    for (const entry of entries) {
      const name = below === '' ? entry.name : `${below}/${entry.name}`;
      if (!isObjectName(name)) continue;
      if (entry.isDirectory() && (`${name}/`.startsWith(prefix) || prefix.startsWith(`${name}/`)))
        found.push(...(await this.#walk(name, prefix)));
      if (!entry.isFile() || !name.startsWith(prefix)) continue;
      // Another machine may have removed it by now.
      const stats = await stat(path.join(this.place, name)).catch(ignoreMissing);
      if (stats !== undefined) found.push({ name, bytes: stats.size, storedAtMs: stats.mtimeMs });
    }
    return found;
  }

  async #removeLeftovers(beforeMs: number): Promise<void> {
    const incoming = path.join(this.place, INCOMING);
    for (const name of await readdir(incoming)) {
      const stats = await stat(path.join(incoming, name)).catch(ignoreMissing);
      if (stats !== undefined && stats.mtimeMs < beforeMs)
        await rm(path.join(incoming, name), { force: true });
    }
  }

  async #assertThere(): Promise<void> {
    const found = await stat(this.place).catch(ignoreMissing);
    if (found?.isDirectory() === true) return;
    throw new StorageError(`${this.place}: the folder of the store is not there`, {
      code: 'storage_failed',
      hint: 'Mount it, create it once (mkdir -m 700), or fix fleet.store. Nothing was changed.',
      context: { path: this.place },
    });
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      if (thrown instanceof SyncError) throw thrown;
      const said = thrown instanceof Error ? thrown.message : String(thrown);
      throw new StorageError(`${this.place}: the folder of the store refuses: ${said}`, {
        code: 'storage_failed',
        hint: 'Free some space, fix its permissions or its mount, and run again. What was stored before is unchanged.',
        context: { path: this.place },
        cause: thrown,
      });
    }
  }
}

function ignoreMissing(error: unknown): undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
}
