import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifyState } from '../../src/commands/verify/verify.ts';
import type { Publisher } from '../../src/publish/publisher.ts';
import { Database } from '../../src/warehouse/database.ts';
import { collectCrashStates, keepFolder, restoreCrashState } from '../crash/crash-states.ts';
import { hookSteps, type Step } from '../support/io-steps.ts';
import { chooseStride, seed } from '../support/seeds.ts';
import { makeFolder } from '../support/sync-harness.ts';
import { makeWorld, type PublisherCase, type PublishWorld } from './publish-world.ts';

const OLD = [1, 2, 3];
const NEW = [10, 20, 30, 40];

/** What every publisher has to keep; docs/writing-a-publisher.md has the rules. */
export function describePublisher(name: string, tried: PublisherCase): void {
  const make = (place?: string) => makeWorld(tried, makeFolder(), place);
  const read = ({ place }: PublishWorld) => tried.read(place);

  /** A project whose readers have the old rows, and which has committed the new ones. */
  async function makeDue(): Promise<PublishWorld & { readonly generation: string }> {
    const world = await make();
    await world.commit(OLD);
    expect((await world.publish()).failure).toBeUndefined();
    const generation = await world.commit(NEW);
    return { ...world, generation };
  }

  async function expectWhole(world: PublishWorld, generation: string): Promise<void> {
    const { failure } = await world.publish();
    expect(failure).toBeUndefined();
    expect(await read(world)).toEqual(NEW);
    expect((await world.publisher.inspect())?.generation).toBe(generation);
  }

  describe(`the publisher of ${name}`, () => {
    it('gives readers what was committed, and says which commit it is', async () => {
      const world = await make();
      await world.publisher.claim();
      expect(await world.publisher.inspect()).toBeUndefined();
      expect(await read(world)).toBeUndefined();
      const generation = await world.commit(OLD);
      const { published, failure, events } = await world.publish();
      expect(failure).toBeUndefined();
      expect((published?.bytes ?? 0) > 0).toBe(tried.tellsSize ?? true);
      expect(events).toEqual(['publishing', 'published']);
      expect(await read(world)).toEqual(OLD);
      await world.publisher.claim();
      const found = await world.publisher.inspect();
      expect(found?.generation).toBe(generation);
      expect((await found?.readLineage())?.generation).toBe(generation);
    });

    it('does nothing for a commit that is published', async () => {
      const world = await make();
      await world.commit(OLD);
      await world.publish();
      const before = describePlace(world.place);
      expect(await world.publish()).toEqual({ published: undefined, failure: undefined, events: [] });
      expect(describePlace(world.place)).toEqual(before);
    });

    it('leaves readers who have the old state open what they opened', async () => {
      const world = await makeDue();
      const reader = await tried.openReader(world.place);
      expect(await reader.read()).toEqual(OLD);
      await expectWhole(world, world.generation);
      expect(await reader.read()).toEqual(OLD);
      reader.close();
    });

    it('shows the old state or the new one before each step, and a kill there is made good', async () => {
      const world = await makeDue();
      const states = await collectCrashStates(
        world.folder,
        () => world.publish(),
        () => 0,
      );
      expect(await read(world)).toEqual(NEW);
      expect(states.length).toBeGreaterThanOrEqual(tried.leastStates ?? 4);
      const stride = chooseStride(2);
      for (const state of states.filter((_, at) => at % stride === seed % stride)) {
        const where = `SLUICE_SEED=${seed}: killed before ${state.step?.n ?? ''} ${state.step?.name ?? 'the end'}`;
        restoreCrashState(state, world.folder);
        expect([OLD, NEW], where).toContainEqual(await read(world));
        await world.publisher.claim();
        await expectWhole(world, world.generation).catch((cause: unknown) => {
          throw new Error(where, { cause });
        });
      }
    });

    it('can be killed before each step of its first publish', async () => {
      const world = await make();
      const generation = await world.commit(NEW);
      const states = await collectCrashStates(
        world.folder,
        () => world.publish(),
        () => 0,
      );
      const stride = chooseStride(4);
      for (const state of states.filter((_, at) => at % stride === seed % stride)) {
        const where = `SLUICE_SEED=${seed}: killed before ${state.step?.n ?? ''} ${state.step?.name ?? 'the end'}`;
        restoreCrashState(state, world.folder);
        expect([undefined, NEW], where).toContainEqual(await read(world));
        // What a killed run left is ours.
        await world.publisher.claim();
        await expectWhole(world, generation);
      }
    });

    it('reports a disk that fills up at each step, harms nothing, and is made good', async () => {
      const world = await makeDue();
      const restore = keepFolder(world.folder);
      const stride = chooseStride(tried.diskStride ?? 2);
      for (let n = 1 + (seed % stride); ; n += stride) {
        restore();
        const failed = await fillDiskAt(n, world);
        if (failed === undefined) break;
        const where = `SLUICE_SEED=${seed}: no space left at ${n} ${failed.step.name}`;
        expect([undefined, 6], where).toContain(failed.exitCode);
        expect([OLD, NEW], where).toContainEqual(await read(world));
        if (failed.exitCode === undefined) expect(await read(world), where).toEqual(NEW);
        await expectWhole(world, world.generation);
      }
    });

    it('refuses a place that is not ours, and leaves it as it is', async () => {
      const world = await make();
      await (tried.occupy?.(world.place) ?? occupy(world));
      const before = describePlace(world.place);
      await expect(world.publisher.claim()).rejects.toMatchObject({ exitCode: 2, code: 'publish_refused' });
      expect(describePlace(world.place)).toEqual(before);
    });

    it('refuses a place that holds the rows of another source', async () => {
      const world = await make();
      await world.commit(OLD);
      await world.publish();
      const other = { ...world.settings, baseUrl: new URL('https://other.example.com/api') };
      // In a state folder of its own, where nothing is known of the place.
      const stranger = tried.create({ ...other, stateDir: join(world.folder, 'other') }, world.place);
      await expect(stranger.claim()).rejects.toMatchObject({ exitCode: 2 });
      expect(await read(world)).toEqual(OLD);
    });

    it('does not replace a commit that came from another state folder', async () => {
      const world = await makeDue();
      const other = await make(world.place);
      cpSync(world.file, other.file);
      await other.commit([7]);
      expect((await other.publish()).failure).toBeUndefined();
      const { failure, published } = await world.publish();
      expect(failure).toMatchObject({ exitCode: 2, code: 'publish_refused' });
      expect(published).toBeUndefined();
      expect(await read(world)).toEqual([7]);
    });

    it('proves what it published, and finds damage', async () => {
      const world = await make();
      await world.commit(OLD);
      await world.publish();
      expect(await verify(world.publisher, world)).toMatchObject({ ok: true });
      expect(await world.publisher.findFaults?.()).toEqual(
        world.publisher.findFaults === undefined ? undefined : [],
      );
      await tried.damage(world.place);
      const { ok, items } = await verify(world.publisher, world);
      expect(ok).toBe(false);
      const failed = items.filter(({ status }) => status === 'failed');
      expect(failed.length).toBeGreaterThan(0);
      expect(failed.every(({ fix }) => fix !== undefined)).toBe(true);
    });

    it('says that nothing is published yet', async () => {
      const world = await make();
      await world.commit(OLD);
      const { ok, items } = await verify(world.publisher, world);
      expect(ok).toBe(false);
      expect(items).toContainEqual(
        expect.objectContaining({ name: world.publisher.title, status: 'failed' }),
      );
    });

    it('gives back the state that it published, where it carries one', async () => {
      const world = await make();
      const { state } = world.publisher;
      expect(await state?.isHeld()).not.toBe(true);
      const generation = await world.commit(OLD);
      await world.publish();
      if (state === undefined) return;
      expect(await state.isHeld()).toBe(true);
      expect(await state.findLoss()).toBeUndefined();
      rmSync(world.file);
      await state.restore(world.file);
      expect(await readWork(world.file)).toEqual({ generation, values: OLD });
      expect(readdirSync(dirname(world.file)).filter((name) => name.includes('restore'))).toEqual([]);
      expect(await world.publish()).toMatchObject({ failure: undefined });
      expect(await read(world)).toEqual(OLD);
    });
  });
}

function verify(publisher: Publisher, { settings }: PublishWorld) {
  return verifyState(settings, {}, [publisher]);
}

/** Puts something of somebody else at the place. */
function occupy({ publisher, place }: PublishWorld): void {
  const isFolder = publisher.local?.folder === place;
  mkdirSync(isFolder ? place : dirname(place), { recursive: true });
  writeFileSync(isFolder ? join(place, 'photo.jpg') : place, 'somebody else wrote this');
}

/** Publishes with a disk that has no room for the nth step; undefined if there was no such step. */
async function fillDiskAt(n: number, world: PublishWorld) {
  let step: Step | undefined;
  const before = (one: Step) => {
    if (one.n !== n) return;
    step = one;
    throw noSpace(one);
  };
  const undo = await hookSteps({ before }, (path) => path.startsWith(dirname(world.place)));
  const end = await world
    .publish()
    .catch((failure: unknown) => ({ failure: failure as { readonly exitCode: number } }))
    .finally(undo);
  return step && { step, exitCode: end.failure?.exitCode };
}

function noSpace({ name }: Step): Error {
  const [call = ''] = name.split(' ');
  if (call === 'sql')
    return new Error('IO Error: Could not write file "work.duckdb.wal": No space left on device');
  return Object.assign(new Error(`ENOSPC: no space left on device, ${call}`), { code: 'ENOSPC', errno: -28 });
}

/** Every file of a place, with what is in it. */
function describePlace(place: string): readonly (readonly [string, string])[] {
  const folder = dirname(place);
  if (!existsSync(folder)) return [];
  return (
    readdirSync(folder, { recursive: true, withFileTypes: true })
      // What SQLite keeps beside a file that was read.
      .filter((entry) => entry.isFile() && !/-(?:wal|shm)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted()
      .map((file) => [file, readFileSync(file, 'base64')] as const)
  );
}

async function readWork(file: string) {
  const database = await Database.open({ file, readOnly: true, folders: [] });
  try {
    const items = await database.all('SELECT value FROM main.items ORDER BY value');
    const [meta] = await database.all(`SELECT value FROM _sluice.meta WHERE key = 'generation'`);
    return { generation: meta?.['value'], values: items.map(({ value }) => Number(value)) };
  } finally {
    await database.release();
  }
}
