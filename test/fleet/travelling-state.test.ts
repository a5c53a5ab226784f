import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { TravellingState } from '../../src/fleet/run/travelling-state.ts';
import type { StateStore } from '../../src/fleet/store/state-store.ts';
import { ConfigError, StorageError } from '../../src/model/errors.ts';
import { makeFolder } from '../support/sync-harness.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const AWAY = new StorageError('the store is away', { code: 'storage_failed', hint: 'Wait.' });
const MINUTE_MS = 60_000;

/** Puts a state away into a store that answers each try so. */
async function putInto(answer: (atMs: number) => Error | undefined) {
  const clock = createVirtualClock();
  const [lost, stop] = [new AbortController(), new AbortController()];
  const tries: number[] = [];
  const put = () => {
    tries.push(clock.monotonic());
    const error = answer(clock.monotonic());
    return error === undefined ? Promise.resolve() : Promise.reject(error);
  };
  const state = new TravellingState(
    {
      store: { place: 'a store', put } as unknown as StateStore,
      parcels: {
        pack: (_, { file }) => writeFile(file, 'packed'),
        packStage: () => Promise.resolve(),
        unpack: () => Promise.resolve(),
      },
      clock,
      readClockLead: () => Promise.resolve(0),
    },
    { account: 'acme', token: 3, scratch: makeFolder() },
  );
  await state.fetch(undefined, []);
  const signals = { lost: lost.signal, stop: stop.signal };
  return { clock, lost, stop, tries, put: () => state.put(false, signals) };
}

describe('a state that is put away while the store is away', () => {
  it('is put away when the store is back, however long that takes', async () => {
    const { put, tries } = await putInto((atMs) => (atMs < 30 * MINUTE_MS ? AWAY : undefined));
    expect(await put()).toEqual({ name: 'acme/3-1.state', bytes: 6 });
    expect(tries.length).toBeGreaterThan(30);
    const pauses = tries.slice(1).map((atMs, at) => atMs - (tries[at] ?? 0));
    expect(Math.max(...pauses)).toBe(30_000);
  });

  it('is waited for a minute by a worker that stops, and not longer', async () => {
    const { put, stop, clock, tries } = await putInto(() => AWAY);
    const stopped = clock.sleep(10 * MINUTE_MS).then(() => stop.abort());
    await expect(put()).rejects.toBe(AWAY);
    await stopped;
    const lastMs = tries.at(-1) ?? 0;
    expect(lastMs).toBe(11 * MINUTE_MS);
    // It is asked at once when the worker stops, and not all the time after it.
    expect(tries).toContain(10 * MINUTE_MS);
    expect(tries.filter((atMs) => atMs > 10 * MINUTE_MS).length).toBeLessThan(10);
  });

  it('is put away by a worker that stops if the store is back within that minute', async () => {
    const { put, stop } = await putInto((atMs) => (atMs < 40_000 ? AWAY : undefined));
    stop.abort();
    expect(await put()).toMatchObject({ name: 'acme/3-1.state' });
  });

  it('is not waited for once the lease is lost, or where waiting does not help', async () => {
    const { put, lost, clock } = await putInto(() => AWAY);
    void clock.sleep(MINUTE_MS).then(() => lost.abort());
    await expect(put()).rejects.toBe(AWAY);
    expect(clock.monotonic()).toBeLessThan(2 * MINUTE_MS);
    const wrong = new ConfigError('wrong bucket', { code: 'config_invalid', hint: 'Fix it.' });
    const refused = await putInto(() => wrong);
    await expect(refused.put()).rejects.toBe(wrong);
    expect(refused.tries).toHaveLength(1);
  });
});
