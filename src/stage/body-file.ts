import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../files/make-folders.ts';
import type { BodyCipher } from './body-cipher.ts';
import { wrapStorageError } from './storage-errors.ts';

// Small enough to be collected while young: objects that survive one collection stay for long.
const READ_CHUNK_BYTES = 1 << 17;

/**
 * A response body on the disk: an unlinked file, so that a crash leaves nothing behind (where open files cannot be
 * unlinked, it is removed on close).
 */
export class BodyFile {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #cipher: BodyCipher | undefined;
  #size = 0;

  private constructor(path: string, handle: FileHandle, cipher: BodyCipher | undefined) {
    this.#path = path;
    this.#handle = handle;
    this.#cipher = cipher;
  }

  /** Creates an empty file in a folder, encrypted if a cipher is given; throws StorageError. */
  static async create(folder: string, cipher?: BodyCipher): Promise<BodyFile> {
    const path = join(folder, 'body');
    try {
      makeFolders(folder, 0o700);
      await rm(path, { force: true });
      const handle = await open(path, 'wx+', 0o600);
      await rm(path, { force: true }).catch(() => undefined);
      return new BodyFile(path, handle, cipher);
    } catch (error) {
      throw wrapStorageError(path, error);
    }
  }

  /** Truncates the file for another attempt. */
  async clear(): Promise<void> {
    this.#size = 0;
    this.#cipher?.renew();
    await this.#guard(() => this.#handle.truncate(0));
  }

  async append(plain: Buffer): Promise<void> {
    const chunk = this.#cipher?.apply(plain, this.#size) ?? plain;
    let written = 0;
    while (written < chunk.length) {
      const { bytesWritten } = await this.#guard(() =>
        this.#handle.write(chunk, written, chunk.length - written, this.#size),
      );
      written += bytesWritten;
      this.#size += bytesWritten;
    }
  }

  /** The bytes from `start` up to `end`, in chunks of at most 128 KiB. */
  async *read(start: number, end: number): AsyncGenerator<Buffer> {
    let at = start;
    while (at < end) {
      const chunk = Buffer.allocUnsafeSlow(Math.min(READ_CHUNK_BYTES, end - at));
      const { bytesRead } = await this.#guard(() => this.#handle.read(chunk, 0, chunk.length, at));
      if (bytesRead === 0) throw wrapStorageError(this.#path, new Error(`it ends at ${at} of ${end} bytes`));
      const bytes = chunk.subarray(0, bytesRead);
      yield this.#cipher?.apply(bytes, at) ?? bytes;
      at += bytesRead;
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
    await rm(this.#path, { force: true });
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw wrapStorageError(this.#path, error);
    }
  }
}
