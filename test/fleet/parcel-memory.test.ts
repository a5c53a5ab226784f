import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { packState } from '../../src/fleet/parcel/pack-state.ts';
import { unpackState } from '../../src/fleet/parcel/unpack-state.ts';
import { openStore } from '../../src/fleet/store/open-store.ts';
import { makeTempFolder } from '../support/temp-folder.ts';
import { makeFile } from './object-store-conformance.ts';

const MB = 2 ** 20;
const SIZE = 300 * MB;
/** What is in use; the file in memory would be far above. */
const MOST = 100 * MB;

it('packs, stores and unpacks a large state without holding it in memory', async () => {
  const home = makeTempFolder();
  mkdirSync(join(home, 'state'));
  mkdirSync(join(home, 'store'));
  await makeFile(join(home, 'state', 'work.duckdb'), SIZE);
  const seal = { key: 'correct horse battery staple', name: 'acme/1' };
  expect(await measure(() => packState(join(home, 'state'), join(home, 'parcel'), seal))).toBeLessThan(MOST);
  expect(await measure(() => unpackState(join(home, 'parcel'), join(home, 'copy'), seal))).toBeLessThan(MOST);
  expect(statSync(join(home, 'copy', 'work.duckdb')).size).toBe(SIZE);

  const store = await openStore({ kind: 'folder', path: join(home, 'store') }, { reach: { store: {} } });
  const stored = join(home, 'copy', 'work.duckdb');
  expect(await measure(() => store.put('acme/1', stored))).toBeLessThan(MOST);
  expect(await measure(() => store.get('acme/1', stored))).toBeLessThan(MOST);
  expect(statSync(stored).size).toBe(SIZE);
});

// Chunks that are not collected yet are no longer in use.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The most memory that values and buffers took while something was done, above what they took before. */
async function measure(work: () => Promise<unknown>): Promise<number> {
  const before = readMemory();
  let most = 0;
  const look = () => {
    if (readMemory() - before >= MOST) collect();
    most = Math.max(most, readMemory() - before);
  };
  const watch = setInterval(look, 1);
  try {
    await work();
    look();
  } finally {
    clearInterval(watch);
  }
  return most;
}

function readMemory(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
