import { describe, expect, it } from 'vitest';
import type { SyncOptions } from '../../src/model/settings.ts';
import type { Checkpoint, Stream } from '../../src/model/stream.ts';
import { decideAbsent, describeKept, refuseLoss } from '../../src/load/absent-rows.ts';
import { windowOf } from '../../src/load/asked-days.ts';
import type { FetchedScan, PreparedLoad } from '../../src/run/scan.ts';
import type { ColumnPlan } from '../../src/schema/resolve-columns.ts';
import { makeCheckpoint, makeLoad, makeScan, makeStream } from '../support/fixtures.ts';

interface Facts {
  readonly stream?: Partial<Stream>;
  readonly scan?: Partial<FetchedScan>;
  readonly load?: Partial<PreparedLoad>;
  readonly next?: Partial<Checkpoint>;
  readonly options?: SyncOptions;
  readonly keyInDoubt?: boolean;
}

const date: ColumnPlan = {
  path: ['date'],
  name: 'date',
  type: 'DATE',
  existingType: 'DATE',
  takes: 0,
  companion: false,
};
const since: Partial<FetchedScan> = {
  plan: { mode: 'incremental', from: '2026-01-28', trial: false, reason: '', warnings: [] },
};
const tried: Partial<FetchedScan> = {
  plan: { mode: 'incremental', from: '2026-01-28', trial: true, reason: '', warnings: [] },
};
const rejected = { ...makeLoad().rejected, count: 3 };
const keyless: Partial<PreparedLoad> = { key: undefined };

/** What becomes of absent rows, in a word, and why they stay where `deletes` would let them go. */
function decide({ stream, scan, load, next, options = {}, keyInDoubt = false }: Facts): string {
  const decision = decideAbsent({
    stream: makeStream(stream),
    scan: makeScan(scan),
    load: makeLoad({ columns: [date], oldestCursor: '2026-01-28', ...load }),
    next: makeCheckpoint(next),
    options,
    keyInDoubt,
  });
  const { absent, keptBecause, replaces } = decision;
  if (absent === 'keep') return keptBecause === undefined ? 'keep' : `keep: ${keptBecause}`;
  const from = absent.window === undefined ? '' : ` from ${absent.window.date}`;
  return `${replaces ? 'replace' : 'delete'} ${absent.how}${from}`;
}

describe('rows that did not come', () => {
  it.each<[string, Facts, string]>([
    ['are kept by default', {}, 'keep'],
    ['go hard', { stream: { deletes: 'hard' } }, 'delete hard'],
    ['go softly', { stream: { deletes: 'soft' } }, 'delete soft'],
    ['go from the window', { stream: { deletes: 'hard' }, scan: since }, 'delete hard from 2026-01-29'],
    ['stay in the window by default', { scan: since }, 'keep'],
    [
      'go from the window of a first table by no means',
      {
        stream: { deletes: 'hard' },
        scan: since,
        load: { tableExisted: false },
        options: { from: '2026-01-28' },
      },
      'keep',
    ],
    ['stay where append', { stream: { deletes: 'hard', write: 'append' } }, 'keep'],
    ['stay where drifted', { stream: { deletes: 'hard' }, scan: { verdict: 'drifted' } }, 'keep'],
    ['stay where partial', { stream: { deletes: 'hard' }, scan: { verdict: 'partial' } }, 'keep'],
    [
      'stay where unverified',
      { stream: { deletes: 'hard' }, scan: { verdict: 'unverified' } },
      'keep: the scan is not verified',
    ],
    [
      'stay where records were rejected',
      { stream: { deletes: 'soft' }, load: { rejected } },
      'keep: 3 records of this scan are in quarantine',
    ],
    [
      'stay where the cursor is only tried',
      { stream: { deletes: 'hard' }, scan: tried, next: { cursorState: 'candidate' } },
      'keep: the cursor is not proved yet',
    ],
    [
      'stay where rows from before the start date came',
      { stream: { deletes: 'hard' }, scan: since, load: { oldestCursor: '2026-01-27' } },
      'keep: it also returned rows from before its start date',
    ],
    [
      'go where the trial proved it',
      { stream: { deletes: 'hard' }, scan: tried, next: { cursorState: 'proved' } },
      'delete hard from 2026-01-29',
    ],
    ['without a key are replaced', { load: keyless }, 'replace hard'],
    [
      'without a key are replaced in the window',
      { load: keyless, scan: since },
      'replace hard from 2026-01-29',
    ],
    ['without a key are replaced softly', { load: keyless, stream: { deletes: 'soft' } }, 'replace soft'],
    [
      'without a key are replaced if unverified',
      { load: keyless, scan: { verdict: 'unverified' } },
      'replace hard',
    ],
    ['without a key are replaced by rejects too', { load: { ...keyless, rejected } }, 'replace hard'],
    ['without a key stay where drifted', { load: keyless, scan: { verdict: 'drifted' } }, 'keep'],
    ['are replaced with write: replace', { stream: { write: 'replace' } }, 'replace hard'],
    [
      'stay with write: replace where records were rejected',
      { stream: { write: 'replace' }, load: { rejected } },
      'keep: 3 records of this scan are in quarantine',
    ],
    ['are replaced where the key is in doubt', { keyInDoubt: true }, 'replace hard'],
  ])('%s', (_, facts, expected) => {
    expect(decide(facts)).toBe(expected);
  });

  it('are in a window from the first day that surely came whole', () => {
    const load = (type: ColumnPlan['type']) => makeLoad({ columns: [{ ...date, type }] });
    expect(windowOf(makeScan(since), load('DATE'))?.date).toBe('2026-01-29');
    expect(windowOf(makeScan(since), load('VARCHAR'))?.date).toBe('2026-01-30');
    expect(windowOf(makeScan(since), load('TIMESTAMPTZ'))?.date).toBe('2026-01-30');
    expect(windowOf(makeScan(since), makeLoad({ columns: [] }))).toBeUndefined();
    expect(windowOf(makeScan(), load('DATE'))).toBeUndefined();
  });
});

describe('the guard', () => {
  const policy = {
    absent: { how: 'hard', window: undefined },
    replaces: false,
    keptBecause: undefined,
  } as const;
  const change = {
    held: 100,
    inserted: 0,
    updated: 0,
    unchanged: 0,
    deleted: 0,
    markedGone: 0,
    returned: 0,
    superseded: 0,
  };

  const factsOf = (stream: Stream) => ({ stream, scan: makeScan(), load: makeLoad(), options: {} });

  it.each<[string, Partial<typeof change>, boolean, boolean]>([
    ['nothing went from nothing', { held: 0 }, false, true],
    ['a fifth', { deleted: 20 }, false, true],
    ['more than a fifth', { deleted: 21 }, false, false],
    ['more than a fifth, others came', { deleted: 21, inserted: 50 }, false, false],
    ['all, replaced', { deleted: 100, inserted: 80 }, true, true],
    ['all, too few came for them', { deleted: 100, inserted: 79 }, true, false],
    ['older versions of rows that came', { deleted: 60, superseded: 40 }, false, true],
  ])('judges %s', (_, parts, replaces, isAllowed) => {
    const judge = () => refuseLoss(factsOf(makeStream()), { ...policy, replaces }, { ...change, ...parts });
    if (isAllowed) expect(judge).not.toThrow();
    else expect(judge).toThrow(/more than the allowed 20 %/);
  });

  it('is the share of the stream', () => {
    const judge = (maxDeleteRatio: number, deleted: number) => () =>
      refuseLoss(factsOf(makeStream({ maxDeleteRatio })), policy, { ...change, deleted });
    expect(judge(0, 1)).toThrow(/streams\.items|allowed 0 %/);
    expect(judge(1, 100)).not.toThrow();
  });
});

describe('what is reported about kept rows', () => {
  const kept = { absent: 'keep', replaces: false } as const;
  it.each<[string, Partial<FetchedScan>, string | undefined, number, readonly string[]]>([
    ['none', {}, undefined, 0, []],
    ['some', {}, undefined, 2, ['2 rows of the table no longer come from the API; they are kept']],
    ['some, and why', {}, 'so', 2, ['2 rows of the table no longer come from the API; they are kept: so']],
    ['some of an incremental scan', since, undefined, 2, []],
    ['why of an incremental scan', since, 'so', 2, ['nothing was deleted: so']],
    ['some of an unverified scan', { verdict: 'unverified' }, undefined, 2, []],
    ['some of a drifted scan', { verdict: 'drifted' }, undefined, 2, []],
  ])('%s', (_, scan, keptBecause, count, expected) => {
    expect(describeKept(makeScan(scan), { ...kept, keptBecause }, count)).toEqual(expected);
  });
});
