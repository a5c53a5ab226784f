import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LockedError } from '../../src/model/errors.ts';
import type { StateLock } from '../../src/model/state-lock.ts';

/** One thing to lock, and those who want it. */
export interface StateLockWorld {
  /** Takes the lock, as one more run does. */
  take(): Promise<StateLock>;
  /** Ends the lock that is held now, as a lease that was not renewed; a lock that cannot be lost leaves it out. */
  readonly lose?: () => void;
}

/** What every `StateLock` has to keep; `src/model/state-lock.ts` has the rules. */
export function describeStateLock(name: string, makeWorld: () => StateLockWorld): void {
  function setUp() {
    const world = makeWorld();
    const take = async (): Promise<StateLock> => {
      const lock = await world.take();
      onTestFinished(() => lock.release());
      return lock;
    };
    return { ...world, take };
  }

  describe(`${name} as a state lock`, () => {
    it('is held by one run at a time, and free again when its release has resolved', async () => {
      const { take } = setUp();
      for (let times = 0; times < 3; times += 1) {
        const lock = await take();
        for (let tries = 0; tries < 2; tries += 1) await expectHeld(take);
        await lock.release();
      }
    });

    it('is given to one of those who ask at once', async () => {
      const { take } = setUp();
      const asked = await Promise.allSettled([take(), take(), take(), take()]);
      expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      await expectHeld(take);
    });

    it('may be released again, which does not free it for the next holder', async () => {
      const { take } = setUp();
      const first = await take();
      await Promise.all([first.release(), first.release()]);
      const second = await take();
      await first.release();
      await expectHeld(take);
      await second.release();
      await take();
    });

    it('is not lost while it is held, nor by its release', async () => {
      const { take } = setUp();
      const lock = await take();
      await expectHeld(take);
      await setImmediate();
      expect(lock.lost?.aborted ?? false).toBe(false);
      await lock.release();
      expect(lock.lost?.aborted ?? false).toBe(false);
    });

    it('that is lost says so before another has it, and leaves that one alone', async () => {
      const { take, lose } = setUp();
      if (lose === undefined) return;
      const lock = await take();
      lose();
      const next = await take();
      expect(lock.lost?.aborted).toBe(true);
      expect(next.lost?.aborted).toBe(false);
      await lock.release();
      await expectHeld(take);
      await next.release();
      expect(next.lost?.aborted).toBe(false);
    });
  });
}

async function expectHeld(take: () => Promise<StateLock>): Promise<void> {
  const refused = take();
  await expect(refused).rejects.toBeInstanceOf(LockedError);
  await expect(refused).rejects.toMatchObject({
    code: 'state_locked',
    exitCode: 75,
    recovery: 'stop-run',
  });
}
