import { describe, expect, it } from 'vitest';
import { assertOptions, type OptionsTaker } from '../../src/config/assert-options.ts';
import { ConfigError } from '../../src/model/errors.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const clock = createVirtualClock({ startMs: Date.parse('2026-03-01T12:00:00Z') });

function refusalOf(taker: OptionsTaker, options: unknown): string {
  try {
    assertOptions(taker, options);
  } catch (thrown) {
    if (thrown instanceof ConfigError && thrown.code === 'usage_invalid') return thrown.message;
    throw thrown;
  }
  return 'none';
}

describe('options of the library', () => {
  it.each<[OptionsTaker, object, string]>([
    ['sync', { from: 'yesterday' }, 'from must be a calendar date YYYY-MM-DD'],
    ['sync', { from: '2026-02-30' }, 'from must be a calendar date YYYY-MM-DD'],
    ['sync', { from: '2026-03-05', clock }, 'from must not be in the future'],
    ['sync', { from: '2026-02-01', fullRefresh: true }, 'fullRefresh and from cannot be combined'],
    ['plan', { limit: 0 }, 'limit must be a whole number, 1 or more'],
    ['sync', { limit: 1.5 }, 'limit must be a whole number, 1 or more'],
    ['sync', { maxRequests: Number.NaN }, 'maxRequests must be a whole number, 1 or more'],
    ['sync', { maxWaitMs: '30m' }, 'maxWaitMs must be a number of milliseconds, 0 or more'],
    ['sync', { maxWaitMs: Number.NaN }, 'maxWaitMs must be a number of milliseconds, 0 or more'],
    ['sync', { maxWaitMs: 1e15 }, 'maxWaitMs must be at most 36500d'],
    ['sync', { deadlineMs: 0 }, 'deadlineMs must be a number of milliseconds, more than 0'],
    ['sync', { runId: '../../x' }, 'runId must be 1 to 100 letters, digits, dots, dashes and underscores'],
    ['sync', { streams: 'prompts' }, 'streams must be a list of names'],
    ['sync', { streams: [] }, 'streams must name one at least; leave it out for all'],
    ['check', { signal: {} }, 'signal must be an AbortSignal'],
    ['check', { clock: { now: Date.now } }, 'clock must be a clock: now, monotonic and sleep'],
    ['sync', { observers: {} }, 'observers must be a list of observers'],
    ['sync', { fullrefresh: true }, 'unknown option "fullrefresh"; did you mean "fullRefresh"?'],
    ['sync', { offline: true }, 'unknown option "offline"'],
    ['syncAccounts', { accounts: 'acme' }, 'accounts must be a list of names'],
    ['syncAccounts', { accounts: [] }, 'accounts must name one at least; leave it out for all'],
    ['syncAccounts', { observers: [] }, 'observers must be a function that makes observers'],
    ['syncAccounts', { account: 'acme' }, 'unknown option "account"; did you mean "accounts"?'],
    [
      'sync',
      { limit: 0, force: 'yes' },
      'limit must be a whole number, 1 or more; force must be true or false',
    ],
  ])('refuse, in %s, %j', (taker, options, message) => {
    expect(refusalOf(taker, options)).toBe(`${taker}: ${message}`);
  });

  it('are an object', () => {
    for (const options of [null, 'prompts', 3])
      expect(refusalOf('sync', options)).toBe('sync: its options must be an object');
  });

  it.each<[OptionsTaker, object]>([
    ['sync', { from: undefined, streams: undefined, signal: undefined, clock: undefined }],
    ['sync', { account: 'acme', streams: ['a'], fullRefresh: true, limit: 3, force: true, maxRequests: 1 }],
    ['sync', { maxWaitMs: 0, deadlineMs: 0.5, allowEmpty: false, acceptNewKey: true, strict: true }],
    ['sync', { runId: 'nightly-2026', onProgress: () => undefined, observers: [{ name: 'a' }] }],
    ['check', { signal: AbortSignal.any([]), clock }],
    ['plan', { offline: true, from: '2026-02-01', clock }],
    ['syncAccounts', { accounts: ['eu-*'], onAccount: () => undefined, observers: () => [] }],
  ])('accept, in %s, %j', (taker, options) => {
    expect(refusalOf(taker, options)).toBe('none');
  });
});
