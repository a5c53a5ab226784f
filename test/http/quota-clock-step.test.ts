import { describe, expect, it } from 'vitest';
import { createOwner } from '../../src/http/quota-owner.ts';
import { Quota } from '../../src/http/quota.ts';
import { followStepBefore } from '../../src/http/quota-tidy.ts';
import { initialQuotaState, type QuotaState } from '../../src/model/quota.ts';
import { createMemoryQuotaStore } from '../../state/memory-quota-store.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const forward = [38_100, 45_000, HOUR_MS, 2 * DAY_MS];
const limits = {
  ceilingPerWindow: undefined,
  windowMs: HOUR_MS,
  defaultPerWindow: 600,
  burstPerSecond: 1,
  reserve: 0,
};

function setUp() {
  const clock = createVirtualClock();
  const store = createMemoryQuotaStore();
  const start = (owner: string) => new Quota({ store, limits, clock, maxWaitMs: 0, owner });
  return { clock, store, start };
}

describe('a process that starts after the clock was set while another has a request on its way', () => {
  it.each([...forward, -38_100, -2 * DAY_MS])('waits for its answer (%i ms)', async (stepMs) => {
    const { clock, start } = setUp();
    const first = start(createOwner());
    const slot = await first.acquire();
    clock.stepWall(stepMs);
    const second = start(createOwner());
    const seen: number[] = [];
    const waiting = second.acquire().then(() => seen.push(clock.monotonic()));
    await clock.sleep(39_000);
    expect(seen).toEqual([]);
    const observation = { limit: 600, remaining: 599, resetAtMs: clock.now() + HOUR_MS };
    first.settle(slot, { kind: 'answered', observation });
    await waiting;
    expect(seen[0]).toBeGreaterThanOrEqual(40_000);
    expect((await second.snapshot()).resetAtMs).toBe(observation.resetAtMs);
    expect((await first.snapshot()).resetAtMs).toBe(observation.resetAtMs);
  });

  it.each(forward)('waits no longer than an answer may take (%i ms)', async (stepMs) => {
    const { clock, start } = setUp();
    await start(createOwner()).acquire();
    await clock.sleep(5_000);
    clock.stepWall(stepMs);
    await start(createOwner()).acquire();
    expect(clock.monotonic()).toBeGreaterThanOrEqual(42_000);
    expect(clock.monotonic()).toBeLessThan(42_200);
  });

  it.each(forward)('keeps the pause that the server asked for (%i ms)', async (stepMs) => {
    const { clock, store, start } = setUp();
    await start(createOwner()).acquire();
    const untilMs = clock.now() + 900_000;
    const notBefore = { atMs: untilMs, recordedAtMs: clock.now(), reason: 'rate-limited' as const };
    await store.update((state) => ({ state: { ...state, notBefore }, result: undefined }));
    clock.stepWall(stepMs);
    expect((await start(createOwner()).snapshot()).notBeforeMs).toBe(untilMs + stepMs);
  });

  it('believes the wall clock where nobody can tell whether the other runs', async () => {
    const { clock, start } = setUp();
    await start('00000000.1.abcdef').acquire();
    clock.stepWall(38_100);
    await start(createOwner()).acquire();
    expect(clock.monotonic()).toBeLessThan(4_000);
  });
});

describe('a reservation that tells of a step of the clock', () => {
  const now = Date.UTC(2026, 10, 20, 12);
  const isHere = () => true;
  const make = (...inFlight: QuotaState['inFlight']): QuotaState => ({
    ...initialQuotaState(),
    lastUsedAtMs: now - 60_000,
    inFlight,
  });

  it('moves the state by the longest of several', () => {
    const state = make(
      { id: 'a', sentAtMs: now - 60_000, offsetMs: 10_000 },
      { id: 'b', sentAtMs: now - 60_000, offsetMs: 20_000 },
      { id: 'c', sentAtMs: now - 60_000 },
    );
    const moved = followStepBefore(state, { now, offsetMs: 60_000 }, isHere);
    expect(moved).toMatchObject({ movedMs: 50_000, lastUsedAtMs: now - 10_000 });
    expect(moved.inFlight).toEqual([
      { id: 'a', sentAtMs: now - 10_000, offsetMs: 60_000 },
      { id: 'b', sentAtMs: now - 10_000, offsetMs: 70_000 },
      { id: 'c', sentAtMs: now - 10_000 },
    ]);
    expect(followStepBefore(moved, { now, offsetMs: 60_000 }, isHere)).toBe(moved);
  });

  it.each([
    ['was sent by the same clock', now - 30_000, 60_000],
    ['was sent by a clock that was ahead', now - 30_000, 90_000],
    ['would have been answered by now', now - 60_000, 50_000],
    ['would be of the future', now - 1_000, 50_000],
  ])('moves nothing where it %s', (_, sentAtMs, offsetMs) => {
    const state = make({ id: 'a', sentAtMs, offsetMs });
    expect(followStepBefore(state, { now, offsetMs: 60_000 }, isHere)).toBe(state);
  });
});
