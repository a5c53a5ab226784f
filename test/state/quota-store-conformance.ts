import { describe, expect, it, onTestFinished } from 'vitest';
import { initialQuotaState, type QuotaState, type QuotaStore } from '../../src/model/quota.ts';

/** One state, and those who use it. */
export interface QuotaStoreWorld {
  /** A store of the state, as one more process opens it. */
  open(): QuotaStore;
  /** Differs after each write of the state; a store that keeps nothing leaves it out. */
  readonly describeWritten?: () => unknown;
  /** Makes the store fail from now on; one that cannot fail leaves it out. */
  readonly damage?: () => void | Promise<void>;
}

/** What every `QuotaStore` has to keep; `src/model/quota.ts` has the rules. */
export function describeQuotaStore(name: string, makeWorld: () => QuotaStoreWorld): void {
  function setUp() {
    const world = makeWorld();
    const open = (): QuotaStore => {
      const store = world.open();
      onTestFinished(() => store.close());
      return store;
    };
    return { ...world, open };
  }

  describe(`${name} as a quota store`, () => {
    it('begins knowing nothing', async () => {
      const store = setUp().open();
      expect(await read(store)).toEqual(initialQuotaState());
      expect(store.warning).toBeUndefined();
    });

    it('makes changes one after the other, those of one user in their order', async () => {
      const { open } = setUp();
      const users = [open(), open(), open()];
      const asked = Array.from({ length: 60 }, (_, at) => ({ at, user: at % users.length }));
      const results = await Promise.all(asked.map(({ user }) => count(users[user] as QuotaStore)));
      expect(results.toSorted((a, b) => a - b)).toEqual(asked.map(({ at }) => at + 1));
      for (const user of users.keys()) {
        const own = results.filter((_, at) => asked[at]?.user === user);
        expect(own).toEqual(own.toSorted((a, b) => a - b));
      }
      for (const user of users) expect((await read(user)).consecutive429s).toBe(60);
    });

    it('calls a change once, and no other before it has returned', async () => {
      const { open } = setUp();
      let calls = 0;
      const change = (before: QuotaState) => {
        calls += 1;
        return { state: { ...before, movedMs: before.movedMs + 1 }, result: calls };
      };
      const users = [open(), open()];
      const results = await Promise.all([...users, ...users].map((user) => user.update(change)));
      expect(results.toSorted()).toEqual([1, 2, 3, 4]);
      expect(calls).toBe(4);
    });

    it('writes nothing where a change returns the state that it got', async () => {
      const { open, describeWritten } = setUp();
      const [store, other] = [open(), open()];
      await count(store);
      const before = await describeWritten?.();
      await read(store);
      await Promise.all([read(store), read(other)]);
      expect(await describeWritten?.()).toEqual(before);
      await count(store);
      if (describeWritten !== undefined) expect(await describeWritten()).not.toEqual(before);
    });

    it('rejects with what a change throws, and changes nothing', async () => {
      const store = setUp().open();
      const bug = new Error('a bug');
      const fail = () => {
        throw bug;
      };
      const settled = await Promise.allSettled([count(store), store.update(fail), count(store)]);
      expect(settled).toEqual([
        { status: 'fulfilled', value: 1 },
        { status: 'rejected', reason: bug },
        { status: 'fulfilled', value: 2 },
      ]);
      expect(await count(store)).toBe(3);
      expect(store.warning).toBeUndefined();
    });

    it('closes once those before it are written, may be closed again, and leaves others alone', async () => {
      const { open } = setUp();
      const [store, other] = [open(), open()];
      const counted = count(store);
      await store.close();
      expect(await counted).toBe(1);
      await store.close();
      expect(await count(other)).toBe(2);
      expect((await read(open())).consecutive429s).toBe(2);
    });

    it('continues with what it knew when it is used after its end', async () => {
      const store = setUp().open();
      await count(store);
      await store.close();
      expect([await count(store), await count(store)]).toEqual([2, 3]);
      expect(store.warning).toBeUndefined();
      await store.close();
    });

    it('that fails continues with what it knew, and says so', async () => {
      const { open, damage } = setUp();
      if (damage === undefined) return;
      const store = open();
      await count(store);
      await damage();
      expect(store.warning).toBeUndefined();
      expect(await Promise.all([count(store), count(store)])).toEqual([2, 3]);
      expect(store.warning).toMatch(/other processes with this key are not seen/);
      expect(await count(store)).toBe(4);
      await store.close();
      await store.close();
    });
  });
}

export function read(store: QuotaStore): Promise<QuotaState> {
  return store.update((state) => ({ state, result: state }));
}

/** Any change that shows: one more round of 429. */
export function count(store: QuotaStore): Promise<number> {
  return store.update((before) => {
    const state = { ...before, consecutive429s: before.consecutive429s + 1 };
    return { state, result: state.consecutive429s };
  });
}
