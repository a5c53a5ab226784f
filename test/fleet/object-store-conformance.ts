import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BugError, StorageError } from '../../src/model/errors.ts';
import type { StateStore } from '../../src/fleet/store/state-store.ts';
import { createRandom } from '../support/seeds.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

/** An empty store of one kind. */
export interface StoreCase {
  readonly store: StateStore;
  /** Runs work on the same place, where a put of a large file is cut off after a few megabytes. */
  readonly cut: (work: (store: StateStore) => Promise<unknown>) => Promise<void>;
  readonly close?: () => Promise<void>;
}

const LARGE_BYTES = 200 * 2 ** 20;

/** What every store of objects has to keep. */
export function describeStateStore(name: string, makeCase: () => Promise<StoreCase>): void {
  const using = async (work: (tried: StoreCase, folder: string) => Promise<void>) => {
    const tried = await makeCase();
    try {
      await work(tried, makeTempFolder());
    } finally {
      await tried.store.close();
      await tried.close?.();
    }
  };

  describe(`the store of ${name}`, () => {
    it.each([
      ['an empty file', 0],
      ['a byte', 1],
      ['4 MB', 4 * 2 ** 20],
      ['8 MB and a byte', 8 * 2 ** 20 + 1],
      ['200 MB', LARGE_BYTES],
    ])('gives back %s as it was', async (_, bytes) => {
      await using(async ({ store }, folder) => {
        const file = await makeFile(join(folder, 'in'), bytes);
        await store.put('acme/7', file);
        const copy = join(folder, 'out');
        expect(await store.get('acme/7', copy)).toBe(true);
        expect(statSync(copy)).toMatchObject({ size: bytes, mode: 0o100600 });
        expect(await hashFile(copy)).toBe(await hashFile(file));
        expect(await store.list('')).toMatchObject([{ name: 'acme/7', bytes }]);
      });
    });

    it('lists what begins with a text, and nothing of other accounts', async () => {
      await using(async ({ store }, folder) => {
        const file = await makeFile(join(folder, 'in'), 10);
        const names = ['acme/1', 'acme/2.stage', 'acme/10/x', 'acme2/1', 'globex/1', 'top'];
        for (const each of names) await store.put(each, file);
        const list = async (prefix: string) =>
          (await store.list(prefix)).map((object) => object.name).toSorted();
        expect(await list('acme/')).toEqual(['acme/1', 'acme/10/x', 'acme/2.stage']);
        expect(await list('acme')).toEqual(['acme/1', 'acme/10/x', 'acme/2.stage', 'acme2/1']);
        expect(await list('acme/1')).toEqual(['acme/1', 'acme/10/x']);
        expect(await list('')).toEqual(names.toSorted());
        expect(await list('initech/')).toEqual([]);
        for (const { storedAtMs } of await store.list('')) expect(storedAtMs).toBeGreaterThan(1.5e12);
      });
    });

    it('removes names, those that are missing as well', async () => {
      await using(async ({ store }, folder) => {
        const file = await makeFile(join(folder, 'in'), 10);
        for (const each of ['acme/1', 'acme/2', 'globex/1']) await store.put(each, file);
        await store.remove(['acme/1', 'acme/99', 'initech/1', 'globex/1']);
        await store.remove([]);
        expect((await store.list('')).map((object) => object.name)).toEqual(['acme/2']);
      });
    });

    it('says that an object is missing, and leaves no file', async () => {
      await using(async ({ store }, folder) => {
        const file = join(folder, 'out');
        expect(await store.get('acme/1', file)).toBe(false);
        await store.put('acme/1/x', await makeFile(join(folder, 'in'), 1));
        expect(await store.get('acme/1', file)).toBe(false);
        expect(await store.get('acme/1/x/y', file)).toBe(false);
        expect(readdirSync(folder)).toEqual(['in']);
      });
    });

    it('takes the same name again, and has the last one whole', async () => {
      await using(async ({ store }, folder) => {
        await store.put('acme/1', await makeFile(join(folder, 'first'), 9 * 2 ** 20));
        const second = await makeFile(join(folder, 'second'), 10);
        await store.put('acme/1', second);
        await store.put('acme/1', second);
        expect(await store.list('acme/')).toMatchObject([{ name: 'acme/1', bytes: 10 }]);
        await store.get('acme/1', join(folder, 'out'));
        expect(await hashFile(join(folder, 'out'))).toBe(await hashFile(second));
      });
    });

    it('replaces an old file, and does not follow a link', async () => {
      await using(async ({ store }, folder) => {
        const file = await makeFile(join(folder, 'in'), 10);
        await store.put('acme/1', file);
        writeFileSync(join(folder, 'out'), 'old', { mode: 0o644 });
        symlinkSync(join(folder, 'out'), join(folder, 'link'));
        await store.get('acme/1', join(folder, 'link'));
        expect(readFileSync(join(folder, 'out'), 'utf8')).toBe('old');
        await store.get('acme/1', join(folder, 'out'));
        expect(statSync(join(folder, 'out'))).toMatchObject({ size: 10, mode: 0o100600 });
      });
    });

    it('shows nothing of a put that is cut off', async () => {
      await using(async ({ store, cut }, folder) => {
        const file = await makeFile(join(folder, 'in'), 40 * 2 ** 20);
        await cut(async (broken) => {
          const error = await broken.put('acme/1', file).catch((thrown: unknown) => thrown);
          expect(error).toBeInstanceOf(StorageError);
        });
        expect(await store.list('')).toEqual([]);
        expect(await store.get('acme/1', join(folder, 'out'))).toBe(false);
        expect(existsSync(join(folder, 'out'))).toBe(false);
        await store.put('acme/1', file);
        expect(await store.list('')).toMatchObject([{ name: 'acme/1', bytes: 40 * 2 ** 20 }]);
      });
    });

    it('keeps the object that was there when a put of its name is cut off', async () => {
      await using(async ({ store, cut }, folder) => {
        const old = await makeFile(join(folder, 'old'), 20 * 2 ** 20);
        await store.put('acme/1', old);
        const file = await makeFile(join(folder, 'in'), 40 * 2 ** 20, 2);
        await cut(async (broken) => {
          await expect(broken.put('acme/1', file)).rejects.toThrow(StorageError);
        });
        await store.get('acme/1', join(folder, 'out'));
        expect(await hashFile(join(folder, 'out'))).toBe(await hashFile(old));
      });
    });

    it.each([
      '',
      '/acme',
      'acme/',
      'acme//1',
      '../acme',
      'acme/../1',
      'acme/..',
      '.acme',
      'a\0b',
      'a\\b',
      'a b',
    ])('refuses the name %j', async (bad) => {
      await using(async ({ store }, folder) => {
        const file = await makeFile(join(folder, 'in'), 1);
        await expect(store.put(bad, file)).rejects.toThrow(BugError);
        await expect(store.get(bad, join(folder, 'out'))).rejects.toThrow(BugError);
        await expect(store.remove([bad])).rejects.toThrow(BugError);
        expect(await store.list('')).toEqual([]);
      });
    });

    it('tells a missing local file from a fault of the store', async () => {
      await using(async ({ store }, folder) => {
        const file = join(folder, 'nothing');
        const error = await store.put('acme/1', file).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ exitCode: 6, code: 'storage_failed', context: { path: file } });
        expect(await store.list('')).toEqual([]);
      });
    });
  });
}

/** A file of a length, with random bytes here and there; the rest is a hole. */
export async function makeFile(file: string, bytes: number, seed = 1): Promise<string> {
  const random = createRandom(seed);
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.truncate(bytes);
    for (let at = 0; at < bytes; at += 2 ** 20) {
      const block = Buffer.from(Array.from({ length: Math.min(64, bytes - at) }, () => random() * 256));
      await handle.write(block, 0, block.length, at);
    }
  } finally {
    await handle.close();
  }
  return file;
}

export async function hashFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Everything that people, logs and reports may see of an error. */
export function describeShown(error: unknown): string {
  const shown: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause)
    shown.push(at.message, String(at.stack), JSON.stringify({ ...at }), (at as { hint?: string }).hint ?? '');
  return shown.join('\n');
}
