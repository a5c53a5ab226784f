import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/model/stream.ts';
import { type CheckpointFacts, nextCheckpoint } from '../../src/load/next-checkpoint.ts';
import {
  DAY_MS,
  makeCheckpoint,
  makeLoad,
  makePlan,
  makeScan,
  makeStream,
  NOW_MS,
} from '../support/fixtures.ts';

type Given = Partial<Omit<CheckpointFacts, 'scan' | 'load' | 'checkpoint'>> & {
  readonly scan?: Parameters<typeof makeScan>[0];
  readonly load?: Parameters<typeof makeLoad>[0];
  readonly checkpoint?: Partial<Checkpoint> | null;
};

function next({ scan, load, checkpoint = {}, ...rest }: Given): Checkpoint {
  return nextCheckpoint({
    stream: makeStream(),
    scan: makeScan(scan),
    load: makeLoad(load),
    checkpoint: checkpoint === null ? undefined : makeCheckpoint(checkpoint),
    runId: 'run-2',
    options: {},
    ...rest,
  });
}

const STARTED = new Date(NOW_MS).toISOString();
const since = makePlan({ mode: 'incremental', from: '2026-01-27' });

describe('the checkpoint after a first full scan', () => {
  it('says what was learned and reached', () => {
    expect(next({ checkpoint: null })).toEqual({
      stream: 'items',
      slice: '',
      fingerprint: 'f1',
      cursorField: 'date',
      cursorState: 'candidate',
      watermark: '2026-01-31',
      keyFields: ['date', 'id'],
      keyOrigin: 'learned',
      keyProvedOn: ['2026-01-31'],
      lastFullScanAt: STARTED,
      lastVerifiedAt: STARTED,
      lastVerdict: 'verified',
      rowsDeclared: 1_000,
      rules: 'r1',
      wholeAt: STARTED,
      runId: 'run-2',
    });
  });

  it('claims nothing that a partial or drifted scan did not show', () => {
    for (const verdict of ['partial', 'drifted'] as const) {
      expect(next({ checkpoint: null, scan: { verdict } })).toMatchObject({
        fingerprint: 'f1',
        watermark: undefined,
        keyProvedOn: [],
        lastFullScanAt: undefined,
        lastVerifiedAt: undefined,
        lastVerdict: verdict,
        rowsDeclared: undefined,
      });
    }
  });
});

describe('the watermark', () => {
  it.each<readonly [string, Given, string | undefined]>([
    ['reaches the newest row', { load: { newestCursor: '2026-01-29' } }, '2026-01-29'],
    ['stops at the server’s day', { load: { newestCursor: '2026-03-01' } }, '2026-01-31'],
    ['goes back after a full scan that found less', { load: { newestCursor: '2026-01-10' } }, '2026-01-10'],
    ['stays when a full scan found no dates', { load: { newestCursor: undefined } }, '2026-01-30'],
    ['moves on', { scan: { plan: since } }, '2026-01-31'],
    [
      'does not go back for late rows',
      { scan: { plan: since }, load: { newestCursor: '2026-01-28' } },
      '2026-01-30',
    ],
    [
      'comes back from the future',
      {
        scan: { plan: since },
        load: { newestCursor: '2026-01-28' },
        checkpoint: { watermark: '2026-06-01' },
      },
      '2026-01-28',
    ],
    ['moves with unverified scans', { scan: { plan: since, verdict: 'unverified' } }, '2026-01-31'],
    ['stays with drifted ones', { scan: { plan: since, verdict: 'drifted' } }, '2026-01-30'],
    ['stays with partial ones', { scan: { plan: since, verdict: 'partial' } }, '2026-01-30'],
    ['stays with --limit', { scan: { plan: since }, options: { limit: 10 } }, '2026-01-30'],
    ['stays with --from', { scan: { plan: since }, options: { from: '2026-01-27' } }, '2026-01-30'],
    [
      'stays unset with --from on a first sync',
      { scan: { plan: since }, options: { from: '2026-01-27' }, checkpoint: null },
      undefined,
    ],
  ])('%s', (_, given, watermark) => {
    expect(next(given).watermark).toBe(watermark);
  });

  it('counts the day the server has, not ours', () => {
    const scan = { serverDateMs: NOW_MS - 3 * DAY_MS };
    expect(next({ scan }).watermark).toBe('2026-01-28');
  });
});

describe('the times of the last scans', () => {
  it.each<readonly [string, Given, boolean, boolean]>([
    ['a verified full scan', {}, true, true],
    ['an unverified full scan', { scan: { verdict: 'unverified' } }, true, false],
    ['a verified incremental scan', { scan: { plan: since } }, false, true],
    ['a drifted scan', { scan: { verdict: 'drifted' } }, false, false],
    ['a scan with --limit', { options: { limit: 5 } }, false, false],
    ['a scan with --from', { scan: { plan: since }, options: { from: '2026-01-27' } }, false, false],
  ])('after %s', (_, given, full, verified) => {
    const before = makeCheckpoint();
    const { lastFullScanAt, lastVerifiedAt, rowsDeclared } = next({
      ...given,
      scan: { total: 1_200, ...given.scan },
    });
    expect(lastFullScanAt).toBe(full ? STARTED : before.lastFullScanAt);
    expect(lastVerifiedAt).toBe(verified ? STARTED : before.lastVerifiedAt);
    expect(rowsDeclared).toBe(full ? 1_200 : 1_000);
  });

  it('count the rows where no total was declared', () => {
    expect(next({ scan: { verdict: 'unverified', total: undefined, rows: 70 } }).rowsDeclared).toBe(70);
  });
});

describe('a scan that took longer than a day and drifted', () => {
  const long = { verdict: 'drifted', cause: 'too-long', startedAtMs: NOW_MS - 3 * DAY_MS } as const;

  it('counts as read: the watermark is the day it began, less the lookback', () => {
    expect(next({ checkpoint: null, scan: long })).toMatchObject({
      watermark: '2026-01-25',
      lastFullScanAt: new Date(long.startedAtMs).toISOString(),
      lastVerifiedAt: undefined,
      lastVerdict: 'drifted',
      rowsDeclared: 1_000,
      keyProvedOn: [],
    });
  });

  it('moves no watermark past the newest row, nor back behind one that a trusted scan reached', () => {
    const load = { newestCursor: '2026-01-10' };
    expect(next({ checkpoint: null, scan: long, load }).watermark).toBe('2026-01-10');
    expect(next({ checkpoint: { watermark: '2026-01-26' }, scan: long }).watermark).toBe('2026-01-26');
    expect(next({ checkpoint: { watermark: '2030-01-01' }, scan: long }).watermark).toBe('2026-01-25');
  });

  it('does so neither with --from nor with --limit, nor for any other drift', () => {
    const before = { watermark: '2026-01-20', lastFullScanAt: '2026-01-20T10:00:00.000Z' };
    for (const options of [{ from: '2026-01-29' }, { limit: 10 }])
      expect(next({ checkpoint: before, scan: long, options })).toMatchObject(before);
    for (const cause of ['moved', 'contradiction'] as const)
      expect(next({ checkpoint: before, scan: { ...long, cause } })).toMatchObject(before);
  });
});

describe('the config', () => {
  const stream = makeStream({ fingerprint: 'f2' });

  it('counts as read once a trusted scan read it', () => {
    expect(next({ stream }).fingerprint).toBe('f2');
    expect(next({ stream, scan: { verdict: 'unverified' } }).fingerprint).toBe('f2');
    expect(next({ stream, scan: { verdict: 'drifted' } }).fingerprint).toBe('f1');
    expect(next({ stream, options: { limit: 5 } }).fingerprint).toBe('f1');
  });
});

describe('the state of a cursor', () => {
  const trial = makePlan({ mode: 'incremental', from: '2026-01-27', trial: true });
  const candidate = { cursorState: 'candidate' } as const;

  it.each<readonly [string, Given, Checkpoint['cursorState']]>([
    ['is open while there is no field', { checkpoint: null, load: { cursorColumn: undefined } }, undefined],
    [
      'is none where config named the field',
      { stream: makeStream({ cursor: { kind: 'field', field: 'd', param: 'p' } }) },
      undefined,
    ],
    ['is none where config switched it off', { stream: makeStream({ cursor: { kind: 'off' } }) }, undefined],
    ['stays proved', { scan: { plan: since } }, 'proved'],
    ['stays refuted', { checkpoint: { cursorState: 'refuted' } }, 'refuted'],
    [
      'is proved by later rows only, and fewer',
      { scan: { plan: trial, total: 40 }, load: { oldestCursor: '2026-01-27' }, checkpoint: candidate },
      'proved',
    ],
    [
      'stays open when all rows are later but none fewer',
      { scan: { plan: trial, total: 1_000 }, load: { oldestCursor: '2026-01-28' }, checkpoint: candidate },
      'candidate',
    ],
    [
      'is refuted by an earlier row',
      { scan: { plan: trial, total: 40 }, load: { oldestCursor: '2026-01-26' }, checkpoint: candidate },
      'refuted',
    ],
    [
      'stays open when no row came',
      { scan: { plan: trial, total: 0, rows: 0 }, load: { oldestCursor: undefined }, checkpoint: candidate },
      'candidate',
    ],
    [
      'counts rows where no total was declared',
      {
        scan: { plan: trial, total: undefined, rows: 40 },
        load: { oldestCursor: '2026-01-28' },
        checkpoint: candidate,
      },
      'proved',
    ],
    [
      'stays open when nobody knows how many there were',
      {
        scan: { plan: trial, total: 40 },
        load: { oldestCursor: '2026-01-28' },
        checkpoint: { ...candidate, rowsDeclared: undefined },
      },
      'candidate',
    ],
  ])('%s', (_, given, state) => {
    expect(next(given).cursorState).toBe(state);
  });
});

describe('the key', () => {
  it.each<readonly [string, Given, Partial<Checkpoint>]>([
    [
      'is proved once a day',
      { checkpoint: { keyProvedOn: ['2026-01-31'] } },
      { keyProvedOn: ['2026-01-31'] },
    ],
    ['is proved on another day', {}, { keyProvedOn: ['2026-01-30', '2026-01-31'] }],
    [
      'keeps the last two proofs',
      { checkpoint: { keyProvedOn: ['2026-01-28', '2026-01-30'] } },
      { keyProvedOn: ['2026-01-30', '2026-01-31'] },
    ],
    ['is not proved by one row', { scan: { rows: 1 } }, { keyProvedOn: ['2026-01-30'] }],
    ['is not proved by a scan that moved', { scan: { verdict: 'drifted' } }, { keyProvedOn: ['2026-01-30'] }],
    [
      'begins again when it is another',
      { load: { key: { columns: ['id'], origin: 'learned', duplicates: 0, duplicatePositions: [] } } },
      { keyFields: ['id'], keyProvedOn: ['2026-01-31'] },
    ],
    [
      'of config needs no proof',
      { load: { key: { columns: ['id'], origin: 'config', duplicates: 0, duplicatePositions: [] } } },
      { keyFields: ['id'], keyOrigin: 'config', keyProvedOn: [] },
    ],
    [
      'is dropped when a whole scan found none',
      { load: { key: undefined } },
      { keyFields: undefined, keyOrigin: undefined, keyProvedOn: [] },
    ],
    [
      'stays when a part of the data showed none',
      { load: { key: undefined }, options: { limit: 5 } },
      { keyFields: ['date', 'id'], keyOrigin: 'learned' },
    ],
  ])('%s', (_, given, expected) => {
    expect(next(given)).toMatchObject(expected);
  });
});
