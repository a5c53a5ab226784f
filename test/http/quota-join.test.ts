import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinQuotaStates } from '../../src/http/quota-join.ts';
import { reserveSlot, settleSlot } from '../../src/http/quota-rules.ts';
import { moveTimes } from '../../src/http/quota-tidy.ts';
import { initialQuotaState, type QuotaLimits, type QuotaState } from '../../src/model/quota.ts';
import { countRuns } from '../support/seeds.ts';

const start = Date.UTC(2026, 10, 20, 12);
const limits: QuotaLimits = {
  ceilingPerWindow: undefined,
  windowMs: 3_600_000,
  defaultPerWindow: 600,
  burstPerSecond: 10,
  reserve: 0,
};

function reserve(state: QuotaState, id: string, now: number): QuotaState {
  const { state: reserved, decision } = reserveSlot(state, { now, limits, id });
  expect(decision.kind).toBe('granted');
  return reserved;
}

function answer(state: QuotaState, id: string, now: number, remaining: number): QuotaState {
  const observation = { limit: 600, remaining, resetAtMs: start + 3_000_000 };
  return settleSlot(state, { id, now, limits, outcome: { kind: 'answered', observation } });
}

const base = reserve(
  reserve(answer(reserve(initialQuotaState(), 'first', start), 'first', start + 50, 599), 'a', start + 100),
  'b',
  start + 100,
);
const none: ReadonlySet<string> = new Set();

describe('two states that went apart', () => {
  it('come together with the lowest Remaining, and what is still in flight in either', () => {
    const shared = reserve(answer(base, 'b', start + 200, 598), 'c', start + 5_000);
    const own = reserve(answer(base, 'a', start + 300, 597), 'd', start + 6_000);
    const joined = joinQuotaStates({ base, shared, own, reserved: none });
    expect(joined.window?.remaining).toBe(597);
    expect(joined.inFlight.map(({ id }) => id)).toEqual(['c', 'd']);
    expect(joined.sendsByMinute).toEqual([[start / 60_000, 5]]);
    expect(joined.lastUsedAtMs).toBe(start + 6_000);
    expect(joinQuotaStates({ base, shared: own, own: shared, reserved: none }).sendsByMinute).toEqual(
      joined.sendsByMinute,
    );
  });

  it('forget what this process has settled, though it is not known whether its reservation arrived', () => {
    const reserved = reserve(base, 'x', start + 1_000);
    const own = answer(reserved, 'x', start + 1_100, 590);
    const join = (shared: QuotaState) =>
      joinQuotaStates({ base, shared, own, reserved: new Set(['a', 'b', 'x']) }).inFlight.map(({ id }) => id);
    expect(join(reserved)).toEqual(['a', 'b']);
    expect(join(base)).toEqual(['a', 'b']);
  });

  it('keep the longer pause and the slower pace', () => {
    const deferral = (atMs: number) => ({ atMs, recordedAtMs: start, reason: 'rate-limited' as const });
    const shared = {
      ...base,
      notBefore: deferral(start + 9_000),
      slowedBurst: { perSecond: 5, untilMs: start + 1 },
    };
    const own = {
      ...base,
      notBefore: deferral(start + 7_000),
      slowedBurst: { perSecond: 2, untilMs: start },
      consecutive429s: 2,
    };
    for (const [one, other] of [
      [shared, own],
      [own, shared],
    ] as const) {
      const joined = joinQuotaStates({ base, shared: one, own: other, reserved: none });
      expect(joined.notBefore?.atMs).toBe(start + 9_000);
      expect(joined.slowedBurst).toEqual({ perSecond: 2, untilMs: start + 1 });
      expect(joined.consecutive429s).toBe(2);
    }
  });

  it('count requests without an answer once, unless both lost some', () => {
    const lost = (count: number, lastAtMs: number) => ({ ...base, unaccounted: { count, lastAtMs } });
    const before = lost(2, start);
    const join = (shared: QuotaState, own: QuotaState) =>
      joinQuotaStates({ base: before, shared, own, reserved: none }).unaccounted?.count;
    expect(join(before, before)).toBe(2);
    expect(join(lost(3, start + 1), before)).toBe(3);
    expect(join(before, lost(4, start + 1))).toBe(4);
    expect(join(lost(3, start + 1), lost(4, start + 2))).toBe(7);
    expect(join(before, base)).toBeUndefined();
  });
});

it('a state that is moved and moved back is the same, however often and by whatever', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -1e8, max: 1e8 }), { minLength: 1, maxLength: 40 }), (moves) => {
      const moved = moves.reduce((state, byMs) => moveTimes(state, byMs), base);
      const allMs = moves.reduce((sum, byMs) => sum + byMs, 0);
      expect(moveTimes(moved, -allMs)).toEqual(base);
    }),
    { numRuns: countRuns(200) },
  );
});
