import { describe, expect, it } from 'vitest';
import type { RefusedRun } from '../../src/model/refused-run.ts';
import type { StatusReport } from '../../src/model/reports.ts';
import {
  type AccountFacts,
  type AccountHealth,
  describeAccounts,
  judgeAccount,
  sortAccounts,
  toAccountFacts,
} from '../../src/report/judge-account.ts';
import { judgeHealth } from '../../src/report/judge-health.ts';
import { makeRunReport, makeStreamReport } from '../cli/support/reports.ts';
import { endWith, MADE_MS, makeBusyData, makeEmptyData, makeRuns, makeStream } from './make-report-data.ts';

const HOUR_MS = 3_600_000;
const runs = makeRuns(3);
const good = makeStream('good', runs);
const { published } = makeBusyData();
const sound: AccountFacts = { streams: [good, good], runs, refused: undefined, published };
const judge = (more: Partial<AccountFacts>) => judgeAccount({ ...sound, ...more }, MADE_MS);
const old = new Date(MADE_MS - 37 * HOUR_MS).toISOString();
const refuse = (code: 'key_missing' | 'state_locked'): RefusedRun => ({
  startedAt: old,
  since: old,
  times: 1,
  error: { code, message: 'no', hint: 'Do.', exitCode: 2 },
});
const ended = (status: string) => runs.map((run, at) => (at === 2 ? { ...run, status } : run));

describe('the health of an account', () => {
  it.each<[string, string, Partial<AccountFacts>]>([
    ['verified', 'good', {}],
    ['damaged', 'bad', { streams: [good, { ...good, isDamaged: true }] }],
    ['damaged', 'bad', { faults: [{ detail: 'changed', fix: 'Do.' } as never] }],
    ['failed', 'bad', { streams: [good, endWith(good, { status: 'failed' })] }],
    ['failed', 'bad', { runs: ended('failed') }],
    ['refused', 'bad', { refused: refuse('key_missing') }],
    ['verified', 'good', { refused: refuse('state_locked') }],
    ['partial', 'bad', { streams: [good, { ...good, verdict: 'partial' }] }],
    ['late', 'bad', { streams: [good, { ...good, verifiedAt: old }] }],
    ['not published', 'bad', { published: undefined }],
    ['killed', 'note', { runs: ended('killed') }],
    ['drifted', 'note', { streams: [good, { ...good, verdict: 'drifted' }] }],
    ['not all synced', 'note', { streams: [good, makeStream('new', [])] }],
    ['never synced', 'note', { streams: [makeStream('new', [])], runs: [], published: undefined }],
    ['reset', 'note', { streams: [good, { ...good, verdict: undefined, isReset: true }] }],
    ['unverified', 'note', { streams: [good, { ...good, verdict: 'unverified' }] }],
    ['differs', 'note', { streams: [good, { ...good, fullRefreshDue: 'one row is missing' }] }],
    [
      'not offered',
      'idle',
      { streams: [{ ...endWith(good, { status: 'unavailable' }), verdict: undefined }] },
    ],
  ])('is %s (%s)', (word, tone, more) => {
    expect(judge(more)).toMatchObject({ word, tone });
  });

  it('is the worst of what is true of it', () => {
    const streams = [{ ...good, verdict: 'drifted' as const }, endWith(good, { status: 'failed' })];
    expect(judge({ streams, refused: refuse('key_missing') }).word).toBe('failed');
  });

  it('counts what is verified, of what the API offers', () => {
    const unavailable = { ...endWith(good, { status: 'unavailable' }), verdict: undefined, rows: undefined };
    const older = { ...good, verifiedAt: new Date(MADE_MS - 20 * HOUR_MS).toISOString() };
    expect(judge({ streams: [good, older, unavailable] })).toMatchObject({
      verified: 2,
      offered: 2,
      rows: 24_800,
      oldestVerifiedAt: older.verifiedAt,
    });
    expect(judge({ streams: [good, makeStream('new', [])] })).toMatchObject({
      verified: 1,
      offered: 2,
      oldestVerifiedAt: undefined,
    });
  });

  it.each([
    ['good', { runs, streams: [good], published }],
    ['bad', { runs, streams: [endWith(good, { status: 'failed' })], published }],
    ['bad', { runs: ended('failed'), streams: [good], published }],
    ['bad', { runs, streams: [good], published: undefined }],
    ['bad', { runs, streams: [good], published, refused: refuse('key_missing') }],
    ['note', { runs: ended('killed'), streams: [good], published }],
    ['note', { runs: [], streams: [makeStream('new', [])] }],
  ] as const)('is %s where the report on it is', (tone, more) => {
    const data = makeEmptyData(more);
    expect(judgeAccount(data, MADE_MS).tone).toBe(tone);
    expect(judgeHealth(data).tone).toBe(tone);
  });
});

describe('the same from what status reads', () => {
  const streams = [makeStreamReport({ stream: 'good', status: 'complete', startedAt: old })];
  const recent = [makeRunReport({ streams })];
  const { attempts: _attempts, lastAttempt: _last, ...row } = good;
  const status = (more: object = {}) =>
    ({
      streams: [{ ...row, ...more }],
      published,
      lastRun: recent[0],
      refused: undefined,
    }) as unknown as StatusReport;
  const word = (...given: Parameters<typeof toAccountFacts>) =>
    judgeAccount(toAccountFacts(...given), MADE_MS).word;

  it('knows the last attempt by what is not settled, and by the runs', () => {
    expect(word(status(), recent)).toBe('verified');
    const unsettled = { runId: 'r', startedAt: old, status: 'failed', error: undefined };
    expect(word(status({ unsettled }), recent)).toBe('failed');
    const none = { verdict: undefined, verifiedAt: undefined };
    const gone = makeRunReport({
      streams: [
        makeStreamReport({ stream: 'good', status: 'unavailable', verdict: undefined, mode: 'full' }),
      ],
    });
    expect(word(status(none), [gone])).toBe('not offered');
    // Read to its end and not proved: its age is that of the attempt.
    expect(word(status({ verdict: 'unverified', verifiedAt: undefined }), recent)).toBe('late');
  });
});

describe('accounts together', () => {
  const of = (account: string, more: Partial<AccountFacts> = {}) => ({ account, health: judge(more) });
  const due = { streams: [{ ...good, fullRefreshDue: 'one row is missing' }] };
  const bad = { published: undefined };
  const note = { runs: ended('killed') };

  it('are sorted with the worst first, those alike by name', () => {
    const all = [of('d'), of('b', due), of('z', bad), of('c', note), of('a'), of('y', bad)];
    expect(sortAccounts(all).map(({ account }) => account)).toEqual(['y', 'z', 'c', 'b', 'a', 'd']);
  });

  it.each<[string, readonly Partial<AccountFacts>[]]>([
    ['All 2 accounts are verified and up to date', [{}, {}]],
    ['The account is verified and up to date', [{}]],
    ['1 of 2 accounts needs attention', [{}, bad]],
    ['2 of 3 accounts need attention', [bad, {}, bad]],
    ['1 of 2 accounts is verified and up to date', [{}, due]],
    [
      'All 2 accounts are up to date; 1 could not be verified',
      [{}, { streams: [{ ...good, verdict: 'unverified' }] }],
    ],
    ['Nothing was synced yet', [{ streams: [makeStream('new', [])], runs: [], published: undefined }]],
  ])('%s', (headline, all) => {
    const healths: readonly AccountHealth[] = all.map(judge);
    expect(describeAccounts(healths)).toBe(headline);
  });
});
