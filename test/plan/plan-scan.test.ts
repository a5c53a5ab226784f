import { describe, expect, it } from 'vitest';
import type { SyncOptions } from '../../src/model/settings.ts';
import type { Checkpoint, Stream } from '../../src/model/stream.ts';
import { isFresh, planStream } from '../../src/plan/plan-scan.ts';
import { DAY_MS, HOUR_MS, makeCheckpoint, makeStream, NOW_MS } from '../support/fixtures.ts';

interface Given {
  readonly stream?: Partial<Stream>;
  readonly checkpoint?: Partial<Checkpoint> | null;
  readonly options?: SyncOptions;
}

function plan({ stream, checkpoint = {}, options = {} }: Given) {
  const known = checkpoint === null ? undefined : makeCheckpoint(checkpoint);
  return planStream(makeStream(stream), known, options, { nowMs: NOW_MS, readable: 100 });
}

function ago(ms: number): string {
  return new Date(NOW_MS - ms).toISOString();
}

describe('planStream', () => {
  it.each<readonly [string, Given, string]>([
    ['before the first commit', { checkpoint: null }, 'first sync'],
    ['with --full-refresh', { options: { fullRefresh: true } }, 'asked for with --full-refresh'],
    [
      'with --full-refresh and --from',
      { options: { fullRefresh: true, from: '2026-01-01' } },
      'asked for with --full-refresh',
    ],
    ['when its config changed', { stream: { fingerprint: 'f2' } }, 'its config changed'],
    ['when it is replaced', { stream: { write: 'replace' } }, 'it is replaced as a whole'],
    ['when its cursor is off', { stream: { cursor: { kind: 'off' } } }, 'its cursor is off'],
    ['without a full scan before', { checkpoint: { lastFullScanAt: undefined } }, 'no full scan yet'],
    [
      'without a watermark',
      { checkpoint: { watermark: undefined } },
      'its cursor has no date to continue from yet',
    ],
    [
      'once a full refresh is due',
      { checkpoint: { lastFullScanAt: ago(30 * DAY_MS) } },
      'a full refresh is due',
    ],
    [
      'when the API ignored its cursor',
      { checkpoint: { cursorState: 'refuted' } },
      'the API does not honour its cursor',
    ],
    ['without a field to date rows by', { checkpoint: { cursorField: undefined } }, 'it has no cursor'],
  ])('reads everything %s', (_, given, reason) => {
    expect(plan(given)).toEqual({
      action: 'scan',
      scan: { mode: 'full', from: undefined, trial: false, reason, warnings: [] },
    });
  });

  it('reads everything, and says so, when the watermark lies in the future', () => {
    const scan = {
      mode: 'full',
      from: undefined,
      warnings: [expect.stringContaining('(2031-01-01) lies in the future')],
    };
    expect(plan({ checkpoint: { watermark: '2031-01-01' } })).toMatchObject({ scan });
    // The service may be a day ahead of this machine.
    expect(plan({ checkpoint: { watermark: '2026-02-01' } })).toMatchObject({
      scan: { from: '2026-01-29', warnings: [] },
    });
  });

  it('reads from the watermark less the lookback otherwise', () => {
    expect(plan({})).toEqual({
      action: 'scan',
      scan: {
        mode: 'incremental',
        from: '2026-01-27',
        trial: false,
        reason: 'watermark 2026-01-30 minus the lookback',
        warnings: [],
      },
    });
  });

  it.each([
    [DAY_MS, '2026-01-29'],
    [DAY_MS + 1, '2026-01-28'],
    [0, '2026-01-30'],
  ])('takes a started day of the lookback (%i ms) for a whole one', (lookbackMs, from) => {
    expect(plan({ stream: { lookbackMs } })).toMatchObject({ scan: { from } });
  });

  it.each([
    ['auto', 'candidate', true],
    ['auto', undefined, true],
    ['auto', 'proved', false],
    ['field', 'candidate', false],
  ] as const)('only tries a cursor (%s) in state %s: %s', (kind, cursorState, trial) => {
    const cursor = kind === 'auto' ? { kind, param: 'p' } : { kind, field: 'date', param: 'p' };
    expect(plan({ stream: { cursor }, checkpoint: { cursorState } })).toMatchObject({ scan: { trial } });
    const options = { from: '2026-01-05' };
    expect(plan({ stream: { cursor }, checkpoint: { cursorState }, options })).toMatchObject({
      scan: { mode: 'incremental', from: '2026-01-05', trial },
    });
  });

  it('says what --from leaves out when it begins after the watermark', () => {
    const given = { checkpoint: { watermark: '2026-01-10' } };
    expect(plan({ ...given, options: { from: '2026-01-10' } })).toMatchObject({ scan: { warnings: [] } });
    expect(plan({ ...given, options: { from: '2026-01-12' } })).toMatchObject({
      scan: { warnings: [expect.stringContaining('after 2026-01-10')] },
    });
  });

  it('reads a stream without dates in full, whatever --from says', () => {
    const checkpoint = { cursorField: undefined, cursorState: undefined, watermark: undefined };
    expect(plan({ checkpoint, options: { from: '2026-01-12' } })).toMatchObject({
      scan: { mode: 'full', from: undefined, reason: 'it has no cursor', warnings: [] },
    });
  });

  it('tries the cursor with --from on the first sync', () => {
    expect(plan({ checkpoint: null, options: { from: '2026-01-05' } })).toMatchObject({
      scan: { mode: 'incremental', from: '2026-01-05', trial: true, warnings: [] },
    });
  });

  it.each([
    ['off', { stream: { cursor: { kind: 'off' } } }],
    ['refuted', { checkpoint: { cursorState: 'refuted' } }],
  ] as const)('says that --from means nothing to a cursor that is %s', (_, given) => {
    expect(plan({ ...given, options: { from: '2026-01-05' } })).toMatchObject({
      scan: {
        mode: 'full',
        from: undefined,
        warnings: ['--from is ignored for items: it has no usable cursor'],
      },
    });
  });

  it.each([
    ['2026-02-01', 'incremental', '2026-01-29', 0],
    ['2026-02-02', 'full', undefined, 1],
    ['9999-12-31', 'full', undefined, 1],
  ])('does not wait for a watermark of %s to come true', (watermark, mode, from, warnings) => {
    const planned = plan({ checkpoint: { watermark } });
    expect(planned).toMatchObject({ scan: { mode, from } });
    expect(planned.action === 'scan' && planned.scan.warnings.length).toBe(warnings);
  });

  it('spends nothing on a stream that is fresh', () => {
    expect(plan({ checkpoint: { lastVerifiedAt: ago(1) } })).toEqual({
      action: 'skip',
      reason: 'verified 2026-01-31 11:59:59 UTC, still fresh',
    });
  });
});

describe('isFresh', () => {
  const fresh = (checkpoint: Partial<Checkpoint>, options: SyncOptions = {}, stream: Partial<Stream> = {}) =>
    isFresh(makeStream(stream), makeCheckpoint(checkpoint), options, NOW_MS);

  it.each([
    [0, true],
    [0.9 * HOUR_MS - 1, true],
    [0.9 * HOUR_MS, false],
    [HOUR_MS, false],
    [-1, false],
  ])('of a scan begun %i ms ago, for an hour of freshness: %s', (age, expected) => {
    expect(fresh({ lastVerifiedAt: ago(age) })).toBe(expected);
  });

  it.each<readonly [string, SyncOptions]>([
    ['--force', { force: true }],
    ['--full-refresh', { fullRefresh: true }],
    ['--from', { from: '2026-01-01' }],
    ['--limit', { limit: 5 }],
  ])('is void with %s', (_, options) => {
    expect(fresh({ lastVerifiedAt: ago(1) }, options)).toBe(false);
  });

  it('is void after a config change, before a verified scan and without a checkpoint', () => {
    expect(fresh({ lastVerifiedAt: ago(1) }, {}, { fingerprint: 'f2' })).toBe(false);
    expect(fresh({ lastVerifiedAt: undefined })).toBe(false);
    expect(isFresh(makeStream(), undefined, {}, NOW_MS)).toBe(false);
    expect(fresh({ lastVerifiedAt: ago(0) }, {}, { freshnessMs: 0 })).toBe(false);
  });
});
