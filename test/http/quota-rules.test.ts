import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BLIND_PROBE_MS,
  type Decision,
  readSnapshot,
  reserveSlot,
  settleSlot,
  type SlotOutcome,
} from '../../src/http/quota-rules.ts';
import { forgetDeadReservations, tidyState } from '../../src/http/quota-tidy.ts';
import { RESET_SLACK_MS } from '../../src/http/quota-window.ts';
import {
  initialQuotaState,
  parseQuotaState,
  type QuotaLimits,
  type QuotaState,
  type WindowObservation,
} from '../../src/model/quota.ts';

const HOUR_MS = 3_600_000;
const start = Date.UTC(2026, 10, 20, 12);
const base: QuotaLimits = {
  ceilingPerWindow: undefined,
  windowMs: 3_600_000,
  defaultPerWindow: 600,
  burstPerSecond: 10,
  reserve: 0,
};
const noHeaders: WindowObservation = { limit: undefined, remaining: undefined, resetAtMs: undefined };

/** Plays the rules step by step; `at` is ms after the start. */
function play(limits: Partial<QuotaLimits> = {}) {
  const merged = { ...base, ...limits };
  let state: QuotaState = initialQuotaState();
  let lastId = 0;
  return {
    get state() {
      return state;
    },
    reserve(at: number): Decision & { readonly id: string } {
      const id = `r${++lastId}`;
      const reserved = reserveSlot(state, { now: start + at, limits: merged, id });
      state = reserved.state;
      return { ...reserved.decision, id };
    },
    settle(at: number, id: string, outcome: SlotOutcome): void {
      state = settleSlot(state, { id, now: start + at, limits: merged, outcome });
    },
    /** Reserves and settles at once. */
    ask(at: number, outcome: SlotOutcome): void {
      const { kind, id } = this.reserve(at);
      expect(kind).toBe('granted');
      this.settle(at, id, outcome);
    },
    set(next: QuotaState): void {
      state = next;
    },
  };
}

function answered(observation: WindowObservation): SlotOutcome {
  return { kind: 'answered', observation };
}

function window(limit: number, remaining: number, resetAt: number): WindowObservation {
  return { limit, remaining, resetAtMs: start + resetAt };
}

function limited(parts: Partial<Extract<SlotOutcome, { kind: 'rate-limited' }>> = {}): SlotOutcome {
  return { kind: 'rate-limited', observation: noHeaders, hintMs: undefined, random: 0, ...parts };
}

function waitUntil(at: number, reason: string) {
  return { kind: 'wait', untilMs: start + at, reason };
}

describe('before the first answer of a window', () => {
  it('one request goes and every other waits for its answer', () => {
    const quota = play();
    const { id } = quota.reserve(0);
    expect(quota.reserve(5)).toMatchObject({ kind: 'wait', reason: 'first-response' });
    quota.settle(50, id, answered(window(600, 599, HOUR_MS)));
    expect(quota.reserve(60).kind).toBe('granted');
    expect(quota.reserve(60).kind).toBe('granted');
  });

  it('is the state again once the reset has passed', () => {
    const quota = play();
    quota.ask(0, answered(window(600, 300, 60_000)));
    const late = 60_000 + RESET_SLACK_MS;
    expect(quota.reserve(late - 1).kind).toBe('granted');
    expect(quota.reserve(late)).toMatchObject({ reason: 'first-response' });
  });

  it('one that cannot be answered any more lets the next one ask, and still counts', () => {
    const quota = play();
    quota.reserve(0);
    expect(quota.reserve(41_999)).toMatchObject({ kind: 'wait', reason: 'first-response' });
    const { kind, id } = quota.reserve(42_000);
    expect(kind).toBe('granted');
    expect(quota.reserve(42_001)).toMatchObject({ kind: 'wait', reason: 'first-response' });
    quota.settle(42_050, id, answered(window(600, 2, HOUR_MS)));
    expect(readSnapshot(quota.state).remaining).toBe(1);
    expect([quota.reserve(42_060).kind, quota.reserve(42_060).kind]).toEqual(['granted', 'wait']);
  });

  it('an answer that only another run can get is named, with the time by which it came', () => {
    const state = reserveSlot(initialQuotaState(), { now: start, limits: base, id: 'a/1' }).state;
    expect(reserveSlot(state, { now: start + 5, limits: base, id: 'a/2' }).decision).toMatchObject({
      reason: 'first-response',
      latestMs: start + 42_000,
    });
    expect(reserveSlot(state, { now: start + 5, limits: base, id: 'b/1' }).decision).toMatchObject({
      reason: 'other-run',
      latestMs: start + 42_000,
    });
  });

  it('a lost request lets the next one ask', () => {
    const quota = play();
    quota.ask(0, { kind: 'failed' });
    expect(quota.reserve(10).kind).toBe('granted');
  });
});

describe('in a known window', () => {
  it('what is in flight is taken off what remains', () => {
    const quota = play();
    quota.ask(0, answered(window(600, 2, HOUR_MS)));
    const first = quota.reserve(1);
    expect([first.kind, quota.reserve(1).kind]).toEqual(['granted', 'granted']);
    expect(quota.reserve(1)).toMatchObject({ kind: 'wait', reason: 'first-response' });
    quota.settle(40, first.id, answered(window(600, 1, HOUR_MS)));
    expect(quota.reserve(50)).toMatchObject({ kind: 'wait', reason: 'first-response' });
  });

  it('Remaining 0 holds everything until the reset', () => {
    const quota = play();
    quota.ask(0, answered(window(600, 0, 1_800_000)));
    expect(quota.reserve(1)).toMatchObject(waitUntil(1_800_000 + RESET_SLACK_MS, 'hourly-quota'));
    expect(quota.reserve(1_800_000)).toMatchObject({ kind: 'wait', reason: 'hourly-quota' });
    expect(quota.reserve(1_800_000 + RESET_SLACK_MS).kind).toBe('granted');
  });

  it('the lowest Remaining and the earliest reset hold, in whatever order answers come', () => {
    const quota = play();
    quota.ask(0, answered(window(600, 590, HOUR_MS)));
    const [a, b] = [quota.reserve(1).id, quota.reserve(1).id];
    quota.settle(40, b, answered(window(600, 588, HOUR_MS + 900)));
    quota.settle(50, a, answered(window(600, 589, HOUR_MS + 400)));
    expect(quota.state.window).toMatchObject({ remaining: 588, resetAtMs: start + HOUR_MS });
  });

  it('a lower limit is kept', () => {
    const quota = play();
    quota.ask(0, answered(window(600, 590, HOUR_MS)));
    quota.ask(10, answered(window(100, 80, HOUR_MS)));
    quota.ask(20, answered(window(600, 79, HOUR_MS)));
    expect(readSnapshot(quota.state)).toMatchObject({ limit: 100, remaining: 79 });
  });

  it('a later window replaces it near its end, and a late answer of the one before is ignored', () => {
    const quota = play();
    quota.ask(0, answered(window(600, 300, 60_000)));
    const late = quota.reserve(59_000).id;
    quota.ask(60_200, answered(window(600, 599, 60_000 + HOUR_MS)));
    expect(quota.state.window).toMatchObject({ remaining: 599 });
    quota.settle(60_400, late, answered(window(600, 0, 61_000)));
    expect(quota.state.window).toMatchObject({ remaining: 599, resetAtMs: start + 60_000 + HOUR_MS });
  });

  it('of two that both seem to run the stricter one holds', () => {
    const quota = play();
    quota.ask(0, answered(window(600, 300, HOUR_MS)));
    const [a, b] = [quota.reserve(5).id, quota.reserve(5).id];
    quota.settle(50, a, answered(window(600, 500, HOUR_MS + 60_000)));
    quota.settle(60, b, answered(window(600, 200, HOUR_MS - 60_000)));
    // The first was sent after every answer then known: the server counted it last, and it is believed.
    expect(quota.state.window).toMatchObject({ remaining: 200, resetAtMs: start + HOUR_MS - 60_000 });
  });

  it('a request without an answer is spent until an answer to a later one counts it', () => {
    const quota = play();
    quota.ask(0, answered(window(600, 1, HOUR_MS)));
    quota.ask(1, { kind: 'failed' });
    expect(quota.reserve(2)).toMatchObject({ reason: 'hourly-quota' });
    const another = play();
    another.ask(0, answered(window(600, 10, HOUR_MS)));
    another.ask(1, { kind: 'failed' });
    expect(readSnapshot(another.state).remaining).toBe(9);
    another.ask(2, answered(window(600, 9, HOUR_MS)));
    expect(readSnapshot(another.state).remaining).toBe(9);
  });

  it('a request that never left costs nothing', () => {
    const quota = play();
    quota.ask(0, answered(window(600, 1, HOUR_MS)));
    quota.ask(1, { kind: 'unsent' });
    expect(quota.state.sendsByMinute).toEqual([[start / 60_000, 1]]);
    expect(quota.reserve(2).kind).toBe('granted');
  });

  it('a ceiling applies to everything used, and the reserve stays', () => {
    const used = answered(window(600, 505, HOUR_MS));
    const ceiling = play({ ceilingPerWindow: 100 });
    ceiling.ask(0, used);
    const granted = Array.from({ length: 8 }, () => ceiling.reserve(1).kind);
    expect(granted.filter((kind) => kind === 'granted')).toHaveLength(5);
    const reserve = play({ reserve: 504 });
    reserve.ask(0, used);
    expect([reserve.reserve(1).kind, reserve.reserve(1).kind]).toEqual(['granted', 'wait']);
  });

  it('a limit above the default is used when no ceiling is set, and a ceiling above it changes nothing', () => {
    for (const ceilingPerWindow of [undefined, 5_000]) {
      const quota = play({ ceilingPerWindow });
      quota.ask(0, answered(window(1_200, 1_199, HOUR_MS)));
      expect(readSnapshot(quota.state)).toMatchObject({ limit: 1_200, remaining: 1_199 });
      expect(quota.reserve(1).kind).toBe('granted');
    }
  });

  it('a reserve that leaves nothing is impossible, not a wait for ever', () => {
    const quota = play({ reserve: 600 });
    quota.ask(0, answered(window(600, 599, HOUR_MS)));
    expect(quota.reserve(1)).toMatchObject({ kind: 'impossible', limit: 600 });
    expect(play({ ceilingPerWindow: 5, reserve: 5 }).reserve(0)).toMatchObject({ kind: 'impossible' });
  });
});

describe('the burst limit', () => {
  it('lets ten leave at once and the eleventh a second and a margin after the first has arrived', () => {
    const quota = play();
    quota.ask(0, answered(window(600, 599, HOUR_MS)));
    const slots = Array.from({ length: 9 }, () => quota.reserve(2_000));
    expect(slots.every(({ kind }) => kind === 'granted')).toBe(true);
    quota.reserve(2_000);
    expect(quota.reserve(2_010)).toMatchObject({ kind: 'wait', reason: 'burst' });
    quota.settle(2_030, slots[0]?.id ?? '', answered(window(600, 598, HOUR_MS)));
    expect(quota.reserve(2_031)).toMatchObject(waitUntil(2_030 + 1_020, 'burst'));
    expect(quota.reserve(2_030 + 1_020).kind).toBe('granted');
  });

  it('takes a request for arrived when its answer begins, however slow that is', () => {
    const quota = play({ burstPerSecond: 1 });
    const { id } = quota.reserve(0);
    quota.settle(5_000, id, answered(window(9, 8, HOUR_MS)));
    expect(quota.reserve(5_000)).toMatchObject(waitUntil(5_000 + 1_020, 'burst'));
  });

  it('frees the slots of a dead process once no answer to it can begin any more', () => {
    const quota = play({ burstPerSecond: 1 });
    quota.ask(0, answered(window(600, 599, HOUR_MS)));
    quota.reserve(2_000);
    expect(quota.reserve(2_000 + 41_999)).toMatchObject({ kind: 'wait', reason: 'burst' });
    expect(quota.reserve(2_000 + 42_000).kind).toBe('granted');
  });

  it('keeps the state small however many leave', () => {
    const quota = play({ burstPerSecond: 1_000_000 });
    quota.ask(0, answered(window(1e9, 1e9 - 1, HOUR_MS)));
    for (let at = 1; at < 20_000; at++) quota.ask(at / 10, answered(window(1e9, 1e9 - at, HOUR_MS)));
    expect(quota.state.burstBusy.length).toBeLessThanOrEqual(60);
    expect(JSON.stringify(quota.state).length).toBeLessThan(2_000);
  });
});

describe('while headers are missing', () => {
  it('the own count over a sliding hour holds, against the documented limit', () => {
    const quota = play({ defaultPerWindow: 4 });
    quota.ask(0, answered(noHeaders));
    for (const at of [2_000, 4_000, 6_000]) quota.ask(at, answered(noHeaders));
    // The minute of the first sends ends at 60 s, and they count for an hour and their way from then on.
    const freeAt = 60_000 + HOUR_MS + 10_500;
    expect(quota.reserve(8_000)).toMatchObject(waitUntil(freeAt, 'hourly-quota'));
    expect(quota.reserve(freeAt).kind).toBe('granted');
  });

  it('the last known limit holds instead of the documented one, and a ceiling above both does not', () => {
    const quota = play({ defaultPerWindow: 2, ceilingPerWindow: 100 });
    quota.ask(0, answered(window(4, 3, 1_000)));
    for (const at of [3_000, 5_000, 7_000]) quota.ask(at, answered(noHeaders));
    expect(quota.reserve(9_000)).toMatchObject({ kind: 'wait', reason: 'hourly-quota' });
  });

  it('a single valid header only makes it stricter', () => {
    const wide = play({ defaultPerWindow: 2 });
    wide.ask(0, answered({ ...noHeaders, limit: 1_200 }));
    wide.ask(2_000, answered(noHeaders));
    expect(wide.reserve(4_000)).toMatchObject({ kind: 'wait', reason: 'hourly-quota' });
    const narrow = play();
    narrow.ask(0, answered({ ...noHeaders, limit: 1 }));
    expect(narrow.reserve(4_000)).toMatchObject({ kind: 'wait', reason: 'hourly-quota' });
  });

  it('Remaining 0 without a usable reset lets one request a minute look for the new window', () => {
    const quota = play();
    quota.ask(0, answered({ ...noHeaders, remaining: 0 }));
    expect(quota.reserve(10)).toMatchObject(waitUntil(BLIND_PROBE_MS, 'hourly-quota'));
    const { kind, id } = quota.reserve(BLIND_PROBE_MS);
    expect(kind).toBe('granted');
    expect(quota.reserve(BLIND_PROBE_MS)).toMatchObject({ reason: 'first-response' });
    quota.settle(BLIND_PROBE_MS + 50, id, answered({ ...noHeaders, remaining: 599 }));
    expect(quota.reserve(BLIND_PROBE_MS + 60).kind).toBe('granted');
  });

  it('Remaining 0 with a reset and no limit holds until the reset', () => {
    const quota = play();
    quota.ask(0, answered({ limit: undefined, remaining: 0, resetAtMs: start + 900_000 }));
    expect(quota.reserve(10)).toMatchObject(waitUntil(900_000 + RESET_SLACK_MS, 'hourly-quota'));
  });

  it('a valid answer makes a window again', () => {
    const quota = play({ defaultPerWindow: 1 });
    quota.ask(0, answered(noHeaders));
    quota.ask(2 * HOUR_MS, answered(window(600, 599, 3 * HOUR_MS)));
    expect(quota.reserve(2 * HOUR_MS + 1).kind).toBe('granted');
  });
});

describe('after a 429', () => {
  it('the whole key pauses for the hint', () => {
    const quota = play();
    quota.ask(0, limited({ hintMs: 3_000 }));
    expect(quota.reserve(1)).toMatchObject(waitUntil(3_000, 'rate-limited'));
    expect(quota.reserve(3_000).kind).toBe('granted');
  });

  it('with requests left in the hour a short pause counts as the burst', () => {
    const quota = play();
    quota.ask(0, limited({ observation: window(600, 400, HOUR_MS), random: 0.5 }));
    expect(quota.reserve(1)).toMatchObject(waitUntil(1_500, 'burst'));
  });

  it('without a hint and with nothing left it waits for the reset', () => {
    const quota = play();
    quota.ask(0, limited({ observation: window(600, 0, 900_000) }));
    expect(quota.reserve(1)).toMatchObject({ kind: 'wait', untilMs: start + 900_000 + RESET_SLACK_MS });
  });

  it('one request goes alone until an answer is not a 429', () => {
    const quota = play();
    quota.ask(0, limited({ observation: window(600, 400, HOUR_MS), hintMs: 1_000 }));
    const probe = quota.reserve(1_000);
    expect(probe.kind).toBe('granted');
    expect(quota.reserve(1_001)).toMatchObject({ kind: 'wait', reason: 'first-response' });
    quota.settle(1_050, probe.id, answered(window(600, 399, HOUR_MS)));
    expect(quota.reserve(1_060).kind).toBe('granted');
  });

  it('those that were on the way together count as one, and the longest pause holds', () => {
    const quota = play();
    quota.ask(0, answered(window(600, 400, HOUR_MS)));
    const ids = [1, 2, 3].map(() => quota.reserve(10).id);
    quota.settle(50, ids[0] ?? '', limited({ hintMs: 9_000 }));
    quota.settle(60, ids[1] ?? '', limited({ hintMs: 1_000 }));
    quota.settle(70, ids[2] ?? '', answered(window(600, 397, HOUR_MS)));
    expect(quota.state).toMatchObject({ consecutive429s: 1, notBefore: { atMs: start + 9_050 } });
  });

  it('every round that follows waits longer, and a success ends the row', () => {
    const quota = play();
    const waits: number[] = [];
    let at = 0;
    for (let round = 0; round < 4; round++) {
      quota.ask(at, limited({ hintMs: 1_000, random: 0.999 }));
      const until = (quota.state.notBefore?.atMs ?? 0) - start;
      waits.push(until - at);
      at = until;
    }
    expect(waits).toEqual([1_000, 1_500, 1_999, 2_998]);
    quota.ask(at, answered(window(600, 400, HOUR_MS)));
    expect(quota.state.consecutive429s).toBe(0);
  });
});

describe('a clock that was set back', () => {
  it('leaves every wait as long as it was', () => {
    const quota = play();
    quota.ask(0, limited({ observation: window(600, 0, 1_800_000), hintMs: 60_000 }));
    const back = -7 * 86_400_000;
    expect(quota.reserve(back)).toMatchObject(waitUntil(back + 1_800_000 + RESET_SLACK_MS, 'hourly-quota'));
    expect(quota.state.notBefore).toMatchObject({ atMs: start + back + 60_000 });
  });

  it('by a moment holds the time still', () => {
    const quota = play({ burstPerSecond: 1 });
    quota.ask(0, answered(window(600, 599, HOUR_MS)));
    expect(quota.reserve(-1_500)).toMatchObject(waitUntil(1_020, 'burst'));
  });
});

describe('reservations of a dead process', () => {
  it('expire after 42 s and count as spent', () => {
    const quota = play();
    quota.ask(0, answered(window(600, 500, HOUR_MS)));
    quota.reserve(1_000);
    quota.set(tidyState(quota.state, start + 42_999, 3_600_000));
    expect(quota.state.inFlight).toHaveLength(1);
    quota.set(tidyState(quota.state, start + 43_000, 3_600_000));
    expect(quota.state.inFlight).toHaveLength(0);
    expect(readSnapshot(quota.state).remaining).toBe(499);
  });

  it('are spent at once when the process is known to be gone', () => {
    const quota = play();
    quota.ask(0, answered(window(600, 500, HOUR_MS)));
    const { id } = quota.reserve(1_000);
    quota.set(
      forgetDeadReservations(
        quota.state,
        { nowMs: start + 1_100, windowMs: 3_600_000 },
        (other) => other === id,
      ),
    );
    expect(quota.state.inFlight).toHaveLength(0);
    expect(readSnapshot(quota.state).remaining).toBe(499);
    expect(quota.state.burstBusy).toEqual([[start + 2_120, 1]]);
  });

  it('that settle after all teach, and are not spent twice', () => {
    const quota = play();
    const { id } = quota.reserve(0);
    quota.settle(200_000, id, answered(window(600, 599, HOUR_MS)));
    expect(readSnapshot(quota.state)).toMatchObject({ limit: 600, remaining: 598 });
    quota.ask(201_000, answered(window(600, 598, HOUR_MS)));
    expect(readSnapshot(quota.state).remaining).toBe(598);
  });
});

describe('the state', () => {
  const time = fc.integer({ min: -10_000, max: 2 * HOUR_MS });
  const observation = fc.record({
    limit: fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }),
    remaining: fc.option(fc.nat(50), { nil: undefined }),
    resetAtMs: fc.option(
      time.map((ms) => start + ms),
      { nil: undefined },
    ),
  });
  const outcome: fc.Arbitrary<SlotOutcome> = fc.oneof(
    observation.map(answered),
    fc.record({
      kind: fc.constant('rate-limited' as const),
      observation,
      hintMs: fc.option(fc.nat(5_000_000), { nil: undefined }),
      random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    }),
    fc.constant<SlotOutcome>({ kind: 'failed' }),
    fc.constant<SlotOutcome>({ kind: 'unsent' }),
  );
  const step = fc.record({ byMs: time, pick: fc.nat(5), outcome: fc.option(outcome, { nil: undefined }) });

  it('is a plain value that JSON keeps, and every wait lies ahead, whatever happens in whatever order', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.nat(20), (steps, reserve) => {
        const limits = { ...base, reserve };
        let state = initialQuotaState();
        let now = start;
        steps.forEach(({ byMs, pick, outcome }, index) => {
          now += byMs;
          if (outcome === undefined) {
            const reserved = reserveSlot(state, { now, limits, id: `r${index}` });
            state = reserved.state;
            const { decision } = reserved;
            if (decision.kind === 'wait') {
              expect(Number.isFinite(decision.untilMs)).toBe(true);
              expect(decision.untilMs).toBeGreaterThan(now);
            }
          } else {
            const id = state.inFlight[pick]?.id ?? 'unknown';
            state = settleSlot(state, { id, now, limits, outcome });
          }
          expect(parseQuotaState(JSON.stringify(state))).toEqual(state);
        });
      }),
    );
  });

  it('is refused when it is not what this version writes', () => {
    const state = initialQuotaState();
    expect(parseQuotaState(JSON.stringify(state))).toEqual(state);
    const broken: unknown[] = [
      null,
      [],
      {},
      { ...state, version: 2 },
      { ...state, window: null },
      { ...state, window: { limit: 600, remaining: -1, resetAtMs: 1, seenAtMs: 1 } },
      { ...state, consecutive429s: 'many' },
      { ...state, inFlight: [{ id: 'a' }] },
      { ...state, burstBusy: [[1]] },
      { ...state, notBefore: { atMs: 1, recordedAtMs: 1, reason: 'whim' } },
    ];
    for (const value of broken) expect(parseQuotaState(JSON.stringify(value))).toBeUndefined();
    expect(parseQuotaState('{"version":1')).toBeUndefined();
  });
});
