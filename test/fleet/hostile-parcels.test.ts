import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { Header, Pax } from 'tar';
import { expect, it } from 'vitest';
import { loadPackage } from '../../src/model/load-package.ts';
import { sealParcel } from '../../src/fleet/parcel/seal-parcel.ts';
import { unpackState } from '../../src/fleet/parcel/unpack-state.ts';
import { writeChunks } from '../../src/fleet/store/local-file.ts';
import { ConfigError } from '../../src/model/errors.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const seal = { key: 'correct horse battery staple', name: 'acme/7' };
const good = { path: 'runs.json', type: 'File', size: 0 } as const;

type Entry = ConstructorParameters<typeof Pax>[0];

/** What a thief of the key could store, or a defect of Sluice: the tag is right. */
it.each<readonly [string, readonly Entry[]]>([
  ['a path that leads out', [good, { path: '../runs.json', type: 'File', size: 0 }]],
  ['a path that leads out from inside', [{ path: 'stage/../../x/scan.json', type: 'File', size: 0 }]],
  ['an absolute path', [{ path: '/tmp/runs.json', type: 'File', size: 0 }]],
  ['a file that no state has', [good, { path: 'notes.txt', type: 'File', size: 0 }]],
  ['a file of one machine', [good, { path: 'lock.sqlite', type: 'File', size: 0 }]],
  ['part of a path in other rooms', [{ path: '.ssh/records.part', type: 'File', size: 0 }]],
  ['a symbolic link', [{ path: 'runs.json', type: 'SymbolicLink', linkpath: '/etc/passwd', size: 0 }]],
  ['a hard link', [good, { path: 'totals.json', type: 'Link', linkpath: 'runs.json', size: 0 }]],
  ['a folder', [{ path: 'stage', type: 'Directory', size: 0 }]],
  ['a device', [{ path: 'runs.json', type: 'CharacterDevice', size: 0 }]],
  ['a file twice', [good, good]],
  ['a file that ends early', [{ ...good, size: 10_000 }]],
])('a parcel with %s is refused, and nothing of it is unpacked', async (_, entries) => {
  const home = makeTempFolder();
  const blocks = entries.map((entry) => {
    const header = new Header({ mode: 0o600, ...entry });
    header.encode();
    return header.block ?? Buffer.alloc(0);
  });
  await storeArchive(join(home, 'parcel'), Buffer.concat([...blocks, Buffer.alloc(1_024)]));
  await expectRefused(home);
});

it('a parcel with a path in an extended header that leads out is refused', async () => {
  const home = makeTempFolder();
  const header = new Header({ ...good, mode: 0o600 });
  header.encode();
  const extended = new Pax({ path: '../runs.json' }).encode();
  await storeArchive(
    join(home, 'parcel'),
    Buffer.concat([extended, header.block ?? extended, Buffer.alloc(1_024)]),
  );
  await expectRefused(home);
});

it.each([
  ['no archive', Buffer.from('x'.repeat(5_000))],
  ['nothing', Buffer.alloc(0)],
])('a parcel with %s in it is refused', async (_, archive) => {
  const home = makeTempFolder();
  await storeArchive(join(home, 'parcel'), archive);
  await expectRefused(home);
});

it('names a package that is missing, and how to get it', async () => {
  const name = 'not-installed-here';
  const error = await loadPackage(
    { name, neededBy: 'this fleet' },
    () => import(name) as Promise<unknown>,
  ).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(ConfigError);
  expect(error).toMatchObject({ exitCode: 2, code: 'config_invalid' });
  expect((error as ConfigError).hint).toContain(`npm install ${name}`);
  const broken = new Error('it is broken');
  await expect(loadPackage({ name, neededBy: 'this fleet' }, () => Promise.reject(broken))).rejects.toBe(
    broken,
  );
});

async function storeArchive(file: string, archive: Buffer): Promise<void> {
  const chunks = (async function* () {
    yield await Promise.resolve(zstdCompressSync(archive));
  })();
  await writeChunks({ file }, sealParcel(chunks, seal, randomBytes));
}

async function expectRefused(home: string): Promise<void> {
  mkdirSync(join(home, 'state'));
  writeFileSync(join(home, 'state', 'totals.json'), 'old');
  const error = await unpackState(join(home, 'parcel'), join(home, 'state'), seal).catch((e: unknown) => e);
  expect(error).toMatchObject({ exitCode: 6, code: 'state_damaged' });
  expect(readdirSync(home, { recursive: true }).toSorted()).toEqual(['parcel', 'state', 'state/totals.json']);
}
