import { describe, expect, it } from 'vitest';
import { QuotaError } from '../../src/model/errors.ts';
import { Quota, type QuotaOptions, type Slot } from '../../src/http/quota.ts';
import { RESET_SLACK_MS } from '../../src/http/quota-window.ts';
import type { QuotaLimits, WindowObservation } from '../../src/model/quota.ts';
import { createMemoryQuotaStore } from '../../state/memory-quota-store.ts';
import { createSlowQuotaServer } from '../support/slow-quota-store.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const HOUR_MS = 3_600_000;
const limits: QuotaLimits = {
  ceilingPerWindow: undefined,
  windowMs: 3_600_000,
  defaultPerWindow: 600,
  burstPerSecond: 10,
  reserve: 0,
};

function setUp(options: Partial<QuotaOptions> = {}) {
  const clock = createVirtualClock();
  const store = createMemoryQuotaStore();
  const all = { store, limits, clock, maxWaitMs: Infinity, owner: 'a', ...options };
  return { clock, store, quota: new Quota(all) };
}

function observe(clock: VirtualClock, remaining: number, resetInMs = HOUR_MS): WindowObservation {
  return { limit: 600, remaining, resetAtMs: clock.now() + resetInMs };
}

/** Sends one request that is answered at once. */
async function ask(quota: Quota, clock: VirtualClock, remaining: number, resetInMs = HOUR_MS): Promise<void> {
  const slot = await quota.acquire();
  quota.settle(slot, { kind: 'answered', observation: observe(clock, remaining, resetInMs) });
}

async function fail(promise: Promise<unknown>): Promise<QuotaError> {
  return promise.then(
    () => expect.unreachable('it was admitted'),
    (error: unknown) => error as QuotaError,
  );
}

describe('waiting for the hourly quota', () => {
  it('lasts until the reset and says when it begins and ends', async () => {
    const events: unknown[] = [];
    const { clock, quota } = setUp({
      listener: {
        onWait: (reason, untilMs) => events.push([reason, untilMs]),
        onResume: () => events.push('resumed'),
      },
    });
    await ask(quota, clock, 0, 1_800_000);
    const untilMs = clock.now() + 1_800_000 + RESET_SLACK_MS;
    const startMs = clock.monotonic();
    await quota.acquire();
    expect(clock.monotonic() - startMs).toBeGreaterThanOrEqual(1_800_000);
    expect(clock.monotonic() - startMs).toBeLessThan(1_800_000 + RESET_SLACK_MS + 10);
    expect(events).toEqual([['hourly-quota', untilMs], 'resumed']);
    expect(Math.round(quota.waitedMs)).toBe(1_800_000 + RESET_SLACK_MS);
  });

  it('does not begin when it would be longer than the run may wait', async () => {
    const { clock, quota } = setUp({ maxWaitMs: 1_800_000 });
    await ask(quota, clock, 0, 1_900_000);
    const error = await fail(quota.acquire());
    expect(error).toBeInstanceOf(QuotaError);
    expect(error).toMatchObject({
      code: 'quota_exhausted',
      exitCode: 75,
      resumeAtMs: Date.UTC(2026, 10, 20, 12) + 1_900_000 + RESET_SLACK_MS,
    });
    expect(error.message).toContain('2026-11-20 12:31:42 UTC');
    expect(error.hint).toMatch(/^Progress is saved\. Run again after 2026-11-20 12:31:42 UTC/);
    expect(clock.monotonic()).toBe(0);
  });

  it('counts against the total of the run', async () => {
    const { clock, quota } = setUp({ maxWaitMs: 2 * HOUR_MS });
    await ask(quota, clock, 0, HOUR_MS - 10_000);
    await ask(quota, clock, 0, HOUR_MS - 10_000);
    await ask(quota, clock, 0, HOUR_MS - 10_000);
    expect(await fail(quota.acquire())).toMatchObject({ code: 'quota_exhausted' });
    expect(clock.monotonic()).toBeLessThan(2 * HOUR_MS);
  });

  it('of 0 still lets bursts and first answers be waited for', async () => {
    const { clock, quota } = setUp({ maxWaitMs: 0 });
    for (let n = 1; n <= 25; n++) await ask(quota, clock, 600 - n);
    expect(clock.monotonic()).toBeGreaterThan(2_000);
    expect(quota.waitedMs).toBe(0);
  });

  it('ends at its time although the wall clock was set forward', async () => {
    const { clock, quota } = setUp();
    await ask(quota, clock, 0, 1_800_000);
    const waiting = quota.acquire();
    await clock.sleep(60_000);
    clock.stepWall(2 * 86_400_000);
    await waiting;
    expect(clock.monotonic()).toBeGreaterThanOrEqual(1_800_000);
  });

  it.each([-2 * 86_400_000, -HOUR_MS])(
    'is not doubled when the wall clock is set by %i ms',
    async (stepMs) => {
      const { clock, quota } = setUp();
      await ask(quota, clock, 0, 1_800_000);
      const waiting = quota.acquire();
      await clock.sleep(900_000);
      clock.stepWall(stepMs);
      await waiting;
      expect(clock.monotonic()).toBeGreaterThanOrEqual(1_800_000);
      expect(clock.monotonic()).toBeLessThan(1_800_000 + 60_000);
    },
  );
});

describe('the run', () => {
  it('stops at its deadline instead of sleeping past it', async () => {
    const { clock, quota } = setUp({ deadlineMs: 600_000 });
    await ask(quota, clock, 0, 1_800_000);
    const error = await fail(quota.acquire());
    expect(error).toMatchObject({ code: 'deadline_reached', exitCode: 75 });
    expect(error.resumeAtMs).toBe(clock.now() + 1_800_000 + RESET_SLACK_MS);
    expect(clock.monotonic()).toBe(0);
  });

  it('stops at its deadline with quota left', async () => {
    const { clock, quota } = setUp({ deadlineMs: 600_000 });
    await ask(quota, clock, 500);
    await clock.sleep(600_000);
    expect(await fail(quota.acquire())).toMatchObject({ code: 'deadline_reached' });
    expect(await fail(quota.pause(1))).toMatchObject({ code: 'deadline_reached' });
  });

  it('sends no more requests than it may, and one that never left is given back', async () => {
    const { clock, quota } = setUp({ maxRequests: 2 });
    await ask(quota, clock, 599);
    quota.settle(await quota.acquire(), { kind: 'unsent' });
    await ask(quota, clock, 598);
    expect(await fail(quota.acquire())).toMatchObject({ code: 'request_limit_reached', exitCode: 75 });
    expect(quota.spentRequests).toBe(2);
  });

  it('is reported when config leaves no request', async () => {
    const { clock, quota } = setUp({ limits: { ...limits, reserve: 600 } });
    await ask(quota, clock, 599);
    expect(await fail(quota.acquire())).toMatchObject({
      code: 'config_invalid',
      exitCode: 2,
      message: expect.stringContaining('600 an hour, of which 600 are held in reserve') as unknown,
    });
  });

  it('names the length of a window that is not an hour, when config leaves no request of it', async () => {
    const { clock, quota } = setUp({ limits: { ...limits, reserve: 600, windowMs: 900_000 } });
    await ask(quota, clock, 599);
    expect(await fail(quota.acquire())).toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('600 in 15 min, of which 600 are held in reserve') as unknown,
    });
  });

  it('is interrupted by its signal, in the queue and in the wait, and leaves no slot behind', async () => {
    const { clock, store, quota } = setUp();
    await ask(quota, clock, 0);
    const run = new AbortController();
    const waiting = [quota.acquire(run.signal), quota.acquire(run.signal), quota.acquire(run.signal)];
    await clock.sleep(1_000);
    run.abort(new Error('SIGTERM'));
    for (const promise of waiting) expect(await fail(promise)).toMatchObject({ code: 'aborted' });
    expect(await fail(quota.acquire(run.signal))).toMatchObject({ code: 'aborted' });
    await store.update((state) => {
      expect(state.inFlight).toEqual([]);
      return { state, result: undefined };
    });
    expect(clock.monotonic()).toBe(1_000);
  });
});

describe('the queue', () => {
  it('admits in the order of arrival, a retry first', async () => {
    const { clock, quota } = setUp();
    await ask(quota, clock, 0, 10_000);
    const order: string[] = [];
    const take = async (name: string, isRetry: boolean) => {
      const slot: Slot = await quota.acquire(undefined, { isRetry });
      order.push(name);
      quota.settle(slot, { kind: 'answered', observation: observe(clock, 599 - order.length) });
    };
    await Promise.all([take('a', false), take('b', false), take('c', false), take('retry', true)]);
    expect(order).toEqual(['a', 'retry', 'b', 'c']);
  });

  it('continues as soon as the first answer is here', async () => {
    const { clock, quota } = setUp();
    const first = await quota.acquire();
    const second = quota.acquire();
    await clock.sleep(37);
    quota.settle(first, { kind: 'answered', observation: observe(clock, 599) });
    await second;
    expect(clock.monotonic()).toBe(37);
  });
});

describe('several processes with one key', () => {
  it('send one first request together', async () => {
    const { clock, store, quota } = setUp();
    const other = new Quota({ store, limits, clock, maxWaitMs: 0, owner: 'b' });
    const first = await quota.acquire();
    const second = other.acquire();
    await clock.sleep(250);
    expect(clock.sleeperCount).toBe(1);
    quota.settle(first, { kind: 'answered', observation: observe(clock, 599) });
    await second;
    expect(clock.monotonic()).toBeLessThanOrEqual(350);
  });

  it('see each other spend', async () => {
    const { clock, store, quota } = setUp();
    const other = new Quota({ store, limits, clock, maxWaitMs: 0, owner: 'b' });
    await ask(quota, clock, 1);
    await ask(other, clock, 0);
    await other.flush();
    expect((await quota.snapshot()).remaining).toBe(0);
    expect(await fail(other.acquire())).toMatchObject({ code: 'quota_exhausted' });
  });

  it('obey a 429 that another has got, also one that is long gone', async () => {
    const { clock, store, quota } = setUp();
    const slot = await quota.acquire();
    const observation = { limit: undefined, remaining: undefined, resetAtMs: undefined };
    quota.settle(slot, { kind: 'rate-limited', observation, hintMs: 900_000, random: 0 });
    await quota.flush();
    await clock.sleep(1_000);
    const restarted = new Quota({ store, limits, clock, maxWaitMs: Infinity, owner: 'b' });
    await restarted.acquire();
    expect(clock.monotonic()).toBeGreaterThanOrEqual(900_000);
  });

  it('wait for the answer of one that may be dead for no longer than an answer may take', async () => {
    const { clock, store, quota } = setUp();
    await quota.acquire();
    const restarted = new Quota({ store, limits, clock, maxWaitMs: 0, owner: 'b' });
    await restarted.acquire();
    expect(clock.monotonic()).toBeGreaterThanOrEqual(42_000);
    expect(clock.monotonic()).toBeLessThan(42_200);
    expect(restarted.waitedMs).toBe(clock.monotonic());
  });

  it('wait for it no longer when the clock of that one was two days ahead', async () => {
    const { clock, store, quota } = setUp();
    clock.stepWall(2 * 86_400_000);
    await quota.acquire();
    clock.stepWall(-2 * 86_400_000);
    await new Quota({ store, limits, clock, maxWaitMs: 0, owner: 'b' }).acquire();
    expect(clock.monotonic()).toBeLessThan(42_200);
  });
});

describe('the listener', () => {
  it('hears what was learned', async () => {
    const seen: unknown[] = [];
    const { clock, quota } = setUp({ listener: { onObserved: (snapshot) => seen.push(snapshot) } });
    await ask(quota, clock, 599);
    await quota.flush();
    expect(seen).toEqual([
      { limit: 600, remaining: 599, resetAtMs: clock.now() + HOUR_MS, notBeforeMs: undefined },
    ]);
  });

  it('hears once of a long wait for the answer to another run, and until when it may take', async () => {
    const heard: unknown[] = [];
    const { clock, store, quota } = setUp();
    await quota.acquire();
    const untilMs = clock.now() + 42_000;
    const listener = { onWait: (reason: string, until: number) => heard.push([reason, until]) };
    const other = new Quota({ store, limits, clock, maxWaitMs: 0, owner: 'b', listener });
    const run = new AbortController();
    const waiting = fail(other.acquire(run.signal));
    await clock.sleep(1_900);
    expect(heard).toEqual([]);
    await clock.sleep(10_000);
    expect(heard).toEqual([['other-run', untilMs]]);
    run.abort();
    await waiting;
  });

  it('hears of a long wait for the first response of its own run', async () => {
    const heard: unknown[] = [];
    const { clock, quota } = setUp({ listener: { onWait: (reason) => heard.push(reason) } });
    const first = await quota.acquire();
    const second = quota.acquire();
    await clock.sleep(5_000);
    expect(heard).toEqual(['first-response']);
    quota.settle(first, { kind: 'answered', observation: observe(clock, 599) });
    await second;
    expect(quota.waitedMs).toBe(0);
  });
});

describe('requests that come in one turn', () => {
  /** A quota whose window is known, and a count of the updates of its state. */
  async function setUpCounted(options: Partial<QuotaOptions> = {}) {
    const store = createMemoryQuotaStore();
    const counted = { updates: 0 };
    const watched: typeof store = {
      warning: undefined,
      close: () => store.close(),
      update(change) {
        counted.updates += 1;
        return store.update(change);
      },
    };
    const { clock, quota } = setUp({ store: watched, ...options });
    await ask(quota, clock, 500);
    await quota.flush();
    counted.updates = 0;
    return { clock, quota, counted };
  }

  it('are reserved together, each with a slot of its own', async () => {
    const { quota, counted } = await setUpCounted();
    const slots = await Promise.all(Array.from({ length: 8 }, () => quota.acquire()));
    expect(new Set(slots.map(({ id }) => id)).size).toBe(8);
    expect(counted.updates).toBe(1);
    expect(quota.spentRequests).toBe(9);
  });

  it('get no more slots than the burst and the run allow', async () => {
    const { clock, quota } = await setUpCounted({ maxRequests: 5 });
    const asked = await Promise.allSettled(Array.from({ length: 8 }, () => quota.acquire()));
    expect(asked.map(({ status }) => status)).toEqual([
      ...Array<string>(4).fill('fulfilled'),
      ...Array<string>(4).fill('rejected'),
    ]);
    const unlimited = await setUpCounted();
    const startMs = unlimited.clock.monotonic();
    await Promise.all(Array.from({ length: 10 }, () => unlimited.quota.acquire()));
    // Nine go in addition to the one that was answered just now; the tenth waits out its second.
    expect(unlimited.clock.monotonic() - startMs).toBeGreaterThan(1_000);
    expect(clock.sleeperCount).toBe(0);
  });

  it('leave no slot behind when they are given up', async () => {
    const { clock, quota } = await setUpCounted();
    const controller = new AbortController();
    const first = quota.acquire();
    const others = Array.from({ length: 5 }, () => quota.acquire(controller.signal));
    controller.abort();
    await Promise.allSettled(others);
    quota.settle(await first, { kind: 'answered', observation: observe(clock, 499) });
    await quota.flush();
    expect(quota.spentRequests).toBe(2);
    // Ten a second, of which two are taken.
    const startMs = clock.monotonic();
    await Promise.all(Array.from({ length: 8 }, () => quota.acquire()));
    expect(clock.monotonic()).toBe(startMs);
  });
});

describe('a store that takes its time', () => {
  function setUpSlow(ms = 200) {
    const clock = createVirtualClock();
    const server = createSlowQuotaServer(() => clock.sleep(ms));
    const open = (owner: string) =>
      new Quota({ store: server.open(), limits, clock, maxWaitMs: Infinity, owner });
    const read = () => server.open().update((state) => ({ state, result: state }));
    return { clock, quota: open('a'), open, read };
  }

  it('gets back the slot of a request that is given up while it decides', async () => {
    const { clock, quota, read } = setUpSlow();
    const run = new AbortController();
    const waiting = quota.acquire(run.signal);
    await clock.sleep(100);
    run.abort(new Error('SIGTERM'));
    expect(await fail(waiting)).toMatchObject({ code: 'aborted' });
    await quota.flush();
    expect(await read()).toMatchObject({ inFlight: [], unaccounted: undefined });
    expect(quota.spentRequests).toBe(0);
  });

  it('gives requests slots of their own when one of them is given up while it decides', async () => {
    const { clock, quota, read } = setUpSlow();
    await ask(quota, clock, 500);
    const run = new AbortController();
    const first = quota.acquire(run.signal);
    const others = [quota.acquire(), quota.acquire(), quota.acquire()];
    await clock.sleep(300);
    run.abort();
    await fail(first);
    const slots = await Promise.all(others);
    expect(new Set(slots.map(({ id }) => id)).size).toBe(3);
    await quota.flush();
    expect((await read()).inFlight.map(({ id }) => id).toSorted()).toEqual(
      slots.map(({ id }) => id).toSorted(),
    );
  });

  it('has all that was told it once a flush has ended, in its order', async () => {
    const { clock, quota, read } = setUpSlow();
    await ask(quota, clock, 500);
    const slots = await Promise.all([quota.acquire(), quota.acquire()]);
    for (const [at, slot] of slots.entries())
      quota.settle(slot, { kind: 'answered', observation: observe(clock, 499 - at) });
    // Known here before it is written.
    expect(quota.seen().remaining).toBe(498);
    await quota.flush();
    expect(await read()).toMatchObject({ inFlight: [], window: { remaining: 498 } });
    expect((await quota.snapshot()).remaining).toBe(498);
  });

  it('does not hold up a request whose answer came while it decided', async () => {
    const { clock, quota } = setUpSlow(10);
    const first = await quota.acquire();
    const second = quota.acquire();
    // The store decides after 10 ms that the answer in flight has to come first, and says so after 20.
    await clock.sleep(15);
    quota.settle(first, { kind: 'answered', observation: observe(clock, 599) });
    const startMs = clock.monotonic();
    await second;
    // The update under way, the one that writes the answer, and one more: no poll of 100 ms.
    expect(clock.monotonic() - startMs).toBeLessThan(60);
  });
});

describe('ends of slots that a store refuses', () => {
  it('are kept for the next change', async () => {
    const store = createMemoryQuotaStore();
    const refusal = new Error('a bug of the store');
    let refuses = false;
    const moody: typeof store = {
      warning: undefined,
      close: () => store.close(),
      async update(change) {
        if (!refuses) return store.update(change);
        // The change is made, and its state is not written.
        await store.update((state) => ({ state, result: change(state) }));
        throw refusal;
      },
    };
    const { clock, quota } = setUp({ store: moody });
    const slot = await quota.acquire();
    quota.settle(slot, { kind: 'answered', observation: observe(clock, 12) });
    refuses = true;
    await expect(quota.flush()).rejects.toBe(refusal);
    // Nor does one that is written later by itself end the process.
    await clock.sleep(1_000);
    refuses = false;
    await quota.flush();
    await store.update((state) => {
      expect(state).toMatchObject({ inFlight: [], window: { remaining: 12 } });
      return { state, result: undefined };
    });
  });
});
