import { mkdirSync, readdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStore } from '../../src/fleet/store/open-store.ts';
import { hookSteps } from '../support/io-steps.ts';
import { makeTempFolder } from '../support/temp-folder.ts';
import { describeStateStore, makeFile } from './object-store-conformance.ts';

const scope = { reach: { store: {} } };

describeStateStore('a folder', async () => {
  const path = join(makeTempFolder(), 'objects');
  mkdirSync(path, { mode: 0o700 });
  const store = await openStore({ kind: 'folder', path }, scope);
  return {
    store,
    cut: async (work) => {
      let writes = 0;
      const before = ({ name }: { readonly name: string }) => {
        if (!name.startsWith('write')) return;
        writes += 1;
        if (writes > 8) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
      };
      const undo = await hookSteps({ before }, (file) => file.includes('.incoming'));
      try {
        await work(store);
      } finally {
        undo();
      }
      expect(writes).toBeGreaterThan(8);
      expect(readdirSync(join(path, '.incoming'))).toEqual([]);
    },
  };
});

it('makes folders and files that only their owner reads', async () => {
  const folder = makeTempFolder();
  const store = await openStore({ kind: 'folder', path: `${folder}/` }, scope);
  await store.put('acme/1', await makeFile(join(makeTempFolder(), 'in'), 1));
  expect(statSync(join(folder, 'acme')).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, '.incoming')).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, 'acme', '1')).mode & 0o777).toBe(0o600);
});

it('takes a folder that is not there for a disk that is not mounted', async () => {
  const folder = makeTempFolder();
  const file = await makeFile(join(folder, 'in'), 1);
  const store = await openStore({ kind: 'folder', path: join(folder, 'mnt') }, scope);
  const calls: readonly (() => Promise<unknown>)[] = [
    () => store.put('acme/1', file),
    () => store.get('acme/1', join(folder, 'out')),
    () => store.list(''),
    () => store.remove(['acme/1']),
  ];
  for (const work of calls) {
    const error = await work().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ exitCode: 6, code: 'storage_failed' });
    expect((error as { hint: string }).hint).toContain('Mount it');
  }
  expect(readdirSync(folder)).toEqual(['in']);
});

it('leaves files of others alone, and does not list them', async () => {
  const folder = makeTempFolder();
  const store = await openStore({ kind: 'folder', path: folder }, scope);
  mkdirSync(join(folder, 'acme'));
  writeFileSync(join(folder, 'acme', '.hidden'), '');
  writeFileSync(join(folder, 'acme', 'with blank'), '');
  symlinkSync('/etc/passwd', join(folder, 'acme', 'link'));
  expect(await store.list('')).toEqual([]);
});

it('removes what a killed put left a day ago, and nothing younger', async () => {
  const folder = makeTempFolder();
  const file = await makeFile(join(makeTempFolder(), 'in'), 1);
  const store = await openStore({ kind: 'folder', path: folder }, scope);
  await store.put('acme/1', file);
  const now = statSync(join(folder, 'acme', '1')).mtimeMs / 1000;
  for (const [name, ageS] of [
    ['old', 90_000],
    ['young', 3_600],
  ] as const) {
    writeFileSync(join(folder, '.incoming', name), 'x');
    utimesSync(join(folder, '.incoming', name), now - ageS, now - ageS);
  }
  await store.put('acme/2', file);
  expect(readdirSync(join(folder, '.incoming'))).toEqual(['young']);
});

it('says which folder refuses', async () => {
  const folder = makeTempFolder();
  const file = await makeFile(join(makeTempFolder(), 'in'), 1);
  const store = await openStore({ kind: 'folder', path: folder }, scope);
  // Permissions would not stop root.
  writeFileSync(join(folder, 'acme'), 'a file in the place of the folder');
  const error = await store.put('acme/1', file).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ exitCode: 6, code: 'storage_failed' });
  expect((error as Error).message).toContain(folder);
});
