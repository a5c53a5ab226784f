import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { FleetDatabase } from '../../src/fleet/database/sql.ts';
import { sealParcel } from '../../src/fleet/parcel/seal-parcel.ts';
import { FolderStore } from '../../src/fleet/store/folder-store.ts';
import { writeChunks } from '../../src/fleet/store/local-file.ts';
import { tryEncryptionKey } from '../../src/fleet/try-store.ts';
import type { FleetSettings } from '../../src/model/fleet.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const KEY = 'the key of the fleet';
const name = 'acme/1-1.state';

/** A store with the state of an account, and what a machine with a key finds in it. */
async function openWith(object: string | undefined) {
  const folder = makeTempFolder();
  const store = new FolderStore(folder);
  const file = join(makeTempFolder(), 'state');
  async function* chunks() {
    await mkdir(folder, { recursive: true });
    yield Buffer.from('rows');
  }
  await writeChunks({ file }, sealParcel(chunks(), { key: KEY, name }, randomBytes));
  await store.put(name, file);
  const database = {
    query: () => Promise.resolve(object === undefined ? [] : [{ object }]),
  } as unknown as FleetDatabase;
  const find = (encryptionKey: string) =>
    tryEncryptionKey(
      { store: { kind: 'folder', path: folder }, reach: {}, encryptionKey } as unknown as FleetSettings,
      database,
    );
  return { folder, find };
}

it('finds that another key has encrypted the state that was put away last', async () => {
  const { find } = await openWith(name);
  expect(await find(KEY)).toBe(true);
  await expect(find('another key, as long')).rejects.toMatchObject({
    exitCode: 2,
    message: 'the stored state acme/1-1.state was encrypted with another key',
    hint: expect.stringContaining('docs/fleet.md') as string,
  });
});

it('leaves a state that is missing or damaged to the run of its account', async () => {
  const { find, folder } = await openWith(name);
  writeFileSync(join(folder, name), 'short');
  expect(await find('another key, as long')).toBe(true);
  rmSync(join(folder, name));
  expect(await find('another key, as long')).toBe(true);
});

it('has nothing to try before the first run', async () => {
  const { find } = await openWith(undefined);
  expect(await find('another key, as long')).toBe(false);
});
