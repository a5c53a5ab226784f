import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type QuotaMark, TravellingLedger } from '../../../src/fleet/quota/travelling-ledger.ts';
import { reserveSlot, settleSlot } from '../../../src/http/quota-rules.ts';
import { initialQuotaState, type QuotaState, type QuotaStore } from '../../../src/model/quota.ts';
import { createMemoryQuotaStore } from '../../../state/memory-quota-store.ts';
import { countRuns } from '../../support/seeds.ts';

const HOUR_MS = 3_600_000;
const LEASE_MS = 5_000;
const limits = {
  burstPerSecond: 10,
  reserve: 0,
  defaultPerWindow: 600,
  windowMs: HOUR_MS,
  ceilingPerWindow: undefined,
};

interface Run {
  readonly wanted: number;
  readonly atOnce: number;
  /** Killed once so many requests were sent: nothing of it is put away but its notes. */
  readonly killedAfter: number | undefined;
  readonly pauseMs: number;
}

const run: fc.Arbitrary<Run> = fc.record({
  wanted: fc.integer({ min: 1, max: 80 }),
  atOnce: fc.integer({ min: 1, max: 10 }),
  killedAfter: fc.option(fc.integer({ min: 0, max: 80 }), { nil: undefined }),
  pauseMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: HOUR_MS })),
});

/** The server's own count, and what runs leave for the next one. */
class Fleet {
  nowMs = Date.UTC(2026, 10, 25, 3);
  refused = 0;
  sent = 0;
  #state: QuotaState = initialQuotaState();
  #mark: QuotaMark | undefined;
  #isStale = false;
  #resetAtMs = 0;
  #remaining = 0;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  async run({ wanted, atOnce, killedAfter = Infinity, pauseMs }: Run): Promise<void> {
    this.nowMs += pauseMs;
    const own = createMemoryQuotaStore({ state: this.#state });
    const ledger = new TravellingLedger(own, {
      isStale: this.#isStale,
      marks: this.#mark === undefined ? [] : [this.#mark],
      note: (mark) => {
        this.#mark = mark;
        return Promise.resolve();
      },
    });
    for (let sent = 0; sent < wanted;) {
      const ids = await this.#reserve(ledger, Math.min(atOnce, wanted - sent), sent);
      if (ids.length === 0) break;
      const answers = ids.map(() => this.#answer());
      sent += ids.length;
      // Its answers are lost with it.
      if (sent > killedAfter) {
        this.#isStale = true;
        this.nowMs += LEASE_MS;
        return;
      }
      for (const [at, id] of ids.entries()) await this.#settle(ledger, id, answers[at] ?? 0);
      this.nowMs += 1_100;
    }
    this.#state = await own.update((state) => ({ state, result: state }));
    this.#isStale = false;
  }

  async #reserve(ledger: QuotaStore, most: number, from: number): Promise<readonly string[]> {
    const ids: string[] = [];
    for (let at = 0; at < most; at += 1) {
      const id = `request-${from + at}`;
      const kind = await ledger.update((before) => {
        const { state, decision } = reserveSlot(before, { now: this.nowMs, limits, id });
        return { state, result: decision.kind };
      });
      if (kind === 'granted') ids.push(id);
    }
    return ids;
  }

  /** Counts a request, and says how many are left; below zero it was refused. */
  #answer(): number {
    if (this.nowMs >= this.#resetAtMs) {
      this.#resetAtMs = this.nowMs + HOUR_MS;
      this.#remaining = this.#limit;
    }
    this.sent += 1;
    if (this.#remaining === 0) this.refused += 1;
    else this.#remaining -= 1;
    return this.#remaining;
  }

  async #settle(ledger: QuotaStore, id: string, remaining: number): Promise<void> {
    const observation = { limit: this.#limit, remaining, resetAtMs: this.#resetAtMs };
    await ledger.update((before) => ({
      state: settleSlot(before, { id, now: this.nowMs, limits, outcome: { kind: 'answered', observation } }),
      result: undefined,
    }));
  }
}

it('no request is refused, whenever runs are killed', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 25, max: 120 }),
      fc.array(run, { minLength: 2, maxLength: 12 }),
      async (limit, runs) => {
        const fleet = new Fleet(limit);
        for (const one of runs) await fleet.run(one);
        expect(fleet.sent).toBeGreaterThan(0);
        expect(fleet.refused).toBe(0);
      },
    ),
    { numRuns: countRuns(800) },
  );
});

it('a killed run costs the rest of the window only where little was left', async () => {
  const fleet = new Fleet(100);
  const next = { wanted: 500, atOnce: 5, killedAfter: undefined, pauseMs: 0 };
  await fleet.run({ wanted: 500, atOnce: 5, killedAfter: 40, pauseMs: 0 });
  await fleet.run(next);
  expect([fleet.sent, fleet.refused]).toEqual([100, 0]);

  const late = new Fleet(100);
  await late.run({ wanted: 500, atOnce: 5, killedAfter: 94, pauseMs: 0 });
  await late.run(next);
  expect([late.sent, late.refused]).toEqual([96, 0]);
  // The next window is used in full.
  await late.run({ ...next, pauseMs: HOUR_MS });
  expect([late.sent, late.refused]).toEqual([196, 0]);
});

it('what is left last is noted last, however long a note takes', async () => {
  const noted: number[] = [];
  const notes: (() => void)[] = [];
  const ledger = new TravellingLedger(createMemoryQuotaStore(), {
    isStale: false,
    marks: [],
    note: ({ remaining }) => {
      noted.push(remaining);
      return new Promise((resolve) => notes.push(resolve));
    },
  });
  const leave = (remaining: number) =>
    ledger.update((state) => ({
      state: { ...state, window: { limit: 100, remaining, resetAtMs: 5_000, seenAtMs: 1 } },
      result: undefined,
    }));
  await leave(21);
  await leave(20);
  await leave(19);
  await leave(18);
  expect(noted).toEqual([20]);
  notes[0]?.();
  await leave(18);
  expect(noted).toEqual([20, 18]);
  notes[1]?.();
  await leave(18);
  await leave(17);
  expect(noted).toEqual([20, 18, 17]);
});

it('a ledger that knows every request stays as it is', async () => {
  const window = { limit: 100, remaining: 3, resetAtMs: 5_000, seenAtMs: 1 };
  const state: QuotaState = { ...initialQuotaState(), lastUsedAtMs: 1, window };
  const ledger = new TravellingLedger(createMemoryQuotaStore({ state }), {
    isStale: false,
    // Of its own run, when more was left.
    marks: [{ remaining: 5, resetAtMs: 5_000 }],
    note: () => Promise.resolve(),
  });
  expect(await ledger.update((known) => ({ state: known, result: known.window }))).toEqual(window);
});

it('a window counts as spent that was noted where its key was shared, or was not yet', async () => {
  const nowMs = Date.UTC(2026, 10, 25, 3);
  const ask = async (marks: readonly QuotaMark[]) => {
    const note = () => Promise.resolve();
    const ledger = new TravellingLedger(createMemoryQuotaStore(), { isStale: false, marks, note });
    return ledger.update((before) => {
      const { state, decision } = reserveSlot(before, { now: nowMs, limits, id: 'first' });
      return { state, result: decision.kind };
    });
  };
  const spent = { remaining: 0, resetAtMs: nowMs + HOUR_MS };
  expect(await ask([])).toBe('granted');
  expect(await ask([{ remaining: 3, resetAtMs: nowMs + HOUR_MS }, spent])).not.toBe('granted');
  expect(await ask([{ remaining: 0, resetAtMs: nowMs - HOUR_MS }])).toBe('granted');
});
