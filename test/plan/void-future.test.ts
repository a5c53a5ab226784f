import { expect, it } from 'vitest';
import { LONG_AGO } from '../../src/model/dates.ts';
import { limitFuture, withoutFutureTimes } from '../../src/plan/void-future.ts';
import { DAY_MS, HOUR_MS, makeCheckpoint, NOW_MS } from '../support/fixtures.ts';

const at = (ms: number) => new Date(NOW_MS + ms).toISOString();

function makeProved(ms: number) {
  const counts = { inApi: 3, inTable: 3, kept: 0, suspected: 0, unloaded: 0, quarantined: 0, difference: 0 };
  return makeCheckpoint({
    lastVerifiedAt: at(ms),
    lastFullScanAt: at(ms),
    wholeAt: at(ms),
    counts: { ...counts, at: at(ms), broughtForwardAt: at(ms) },
  });
}

it.each([true, false])('leaves a checkpoint of the past as it is (far ahead: %s)', (isFarAhead) => {
  const checkpoint = makeProved(-HOUR_MS);
  expect(withoutFutureTimes(checkpoint, limitFuture(NOW_MS, isFarAhead))).toBe(checkpoint);
  expect(withoutFutureTimes(undefined, limitFuture(NOW_MS, isFarAhead))).toBeUndefined();
});

it.each([
  ['a moment', 1, true],
  ['more than a day', DAY_MS + 1, false],
])('takes every proof back that a clock recorded which was ahead by %s', (_, ms, isFarAhead) => {
  const { counts, ...rest } = withoutFutureTimes(makeProved(ms), limitFuture(NOW_MS, isFarAhead));
  expect(rest).toMatchObject({ lastVerifiedAt: undefined, lastFullScanAt: LONG_AGO, wholeAt: undefined });
  expect(counts).toMatchObject({ inApi: 3, broughtForwardAt: undefined });
});

it('takes a clock that is ahead by hours for one that may be read in full later, and not for fresh', () => {
  const voided = withoutFutureTimes(makeProved(2 * HOUR_MS), limitFuture(NOW_MS, false));
  expect(voided).toMatchObject({ lastVerifiedAt: undefined, lastFullScanAt: at(2 * HOUR_MS) });
  const agreeing = makeProved(HOUR_MS / 2);
  expect(withoutFutureTimes(agreeing, limitFuture(NOW_MS, false))).toBe(agreeing);
});
