import { describe, expect, it } from 'vitest';
import type { ReportData, RunFacts, StreamFacts } from '../../src/model/report-data.ts';
import { describeSharedKeys } from '../../src/model/run-report.ts';
import { judgeHealth } from '../../src/report/judge-health.ts';
import { findLateness } from '../../src/report/stream-state.ts';
import { endWith, MADE_MS, makeBusyData, makeEmptyData, makeRuns, makeStream } from './make-report-data.ts';

const HOUR_MS = 3_600_000;
const runs = makeRuns(3);
const good = makeStream('good', runs);
const { published } = makeBusyData();

function judge(streams: readonly StreamFacts[], more: Partial<ReportData> = {}) {
  return judgeHealth(makeEmptyData({ published, runs, streams, ...more }));
}

describe('the state of a stream', () => {
  const old = new Date(MADE_MS - 37 * HOUR_MS).toISOString();
  const standing = (stale: boolean) => ({ date: '2026-11-17', since: old, usualMs: 36 * HOUR_MS, stale });
  it.each<[string, StreamFacts, string]>([
    ['verified', good, 'good'],
    ['unverified', { ...good, verdict: 'unverified' }, 'good'],
    ['late', { ...good, verifiedAt: old }, 'bad'],
    ['stale', { ...good, newest: standing(true) }, 'note'],
    ['verified', { ...good, newest: standing(false) }, 'good'],
    ['late', { ...good, verifiedAt: old, newest: standing(true) }, 'bad'],
    ['drifted', { ...good, verdict: 'drifted' }, 'note'],
    ['partial', { ...good, verdict: 'partial' }, 'bad'],
    ['damaged', { ...good, isDamaged: true }, 'bad'],
    ['failed', endWith(good, { status: 'failed', verdict: undefined }), 'bad'],
    ['stopped', endWith(good, { status: 'stopped', verdict: undefined }), 'note'],
    ['never', makeStream('good', []), 'note'],
    ['reset', { ...good, verdict: undefined, isReset: true }, 'note'],
    [
      'unavailable',
      { ...endWith(good, { status: 'unavailable', verdict: undefined }), verdict: undefined },
      'idle',
    ],
  ])('is %s', (state, facts, tone) => {
    const health = judge([facts]);
    expect(health.streams.map((stream) => stream.state)).toEqual([state]);
    expect(health.tone).toBe(tone);
  });

  it('is late by the rhythm of the runs, and never before a day and a half', () => {
    expect(findLateness([])).toBe(36 * HOUR_MS);
    expect(findLateness(runs)).toBe(36 * HOUR_MS);
    const weekly = runs.map((run, at) => ({
      ...run,
      startedAt: new Date(MADE_MS - (3 - at) * 168 * HOUR_MS).toISOString(),
    }));
    expect(findLateness(weekly)).toBe(252 * HOUR_MS);
  });
});

describe('a sync that was refused', () => {
  const startedAt = new Date(MADE_MS - HOUR_MS).toISOString();
  const refuse = (code: 'key_missing' | 'state_locked', exitCode: 2 | 75, wasHeld?: string) => ({
    refused: {
      startedAt,
      since: startedAt,
      times: 1,
      error: { code, message: 'no', hint: 'Do.', exitCode, ...(wasHeld !== undefined && { wasHeld }) },
    },
  });

  it('is bad, and told before what the streams say of themselves', () => {
    const told = 'The last sync was refused before it began; ';
    const health = judge([good], refuse('key_missing', 2));
    expect(health).toMatchObject({ tone: 'bad', headline: `${told}the stream is verified and up to date` });
    expect(health.findings).toEqual([
      {
        tone: 'bad',
        what: 'The last sync (20 Nov 2026, 16:07 UTC) was refused before it began, with exit code 2: no.',
        todo: 'Do.',
      },
    ]);
    const partial = { ...good, verdict: 'partial' as const };
    expect(judge([partial], refuse('key_missing', 2)).headline).toBe(`${told}1 of 1 stream needs attention`);
    const none = { runs: [], published: undefined, ...refuse('key_missing', 2) };
    expect(judge([], none).headline).toBe(`${told}nothing was synced yet`);
  });

  it('is told in one line where the config has several problems', () => {
    const { refused } = refuse('key_missing', 2);
    const message =
      '2 problems in sluice.yaml:\n  sluice.yaml:1:1 source: is required\n  sluice.yaml:2:1 x: unknown key';
    const health = judge([good], { refused: { ...refused, error: { ...refused.error, message } } });
    expect(health.findings[0]?.what).toMatch(
      /exit code 2: 2 problems in sluice\.yaml: sluice\.yaml:1:1 source: is required; sluice\.yaml:2:1 x: unknown key\.$/,
    );
  });

  it('is worth a note where a neighbour turned it away', () => {
    const health = judge([good], refuse('state_locked', 75, 'another run held the state folder'));
    expect(health).toMatchObject({ tone: 'note', headline: 'The stream is verified and up to date' });
    expect(health.findings.map(({ what }) => what)).toEqual([
      'A sync (20 Nov 2026, 16:07 UTC) was turned away: another run held the state folder.',
    ]);
  });
});

describe('the headline', () => {
  it.each<[string, readonly StreamFacts[]]>([
    ['No stream is synced', []],
    ['The stream is verified and up to date', [good]],
    ['All 2 streams are verified and up to date', [good, good]],
    ['All 2 streams are up to date; 1 could not be verified', [good, { ...good, verdict: 'unverified' }]],
    ['1 of 2 streams is verified and up to date', [good, makeStream('new', [])]],
    [
      '2 of 3 streams need attention',
      [good, ...[1, 2].map(() => ({ ...good, verdict: 'partial' as const }))],
    ],
  ])('%s', (headline, streams) => {
    expect(judge(streams).headline).toBe(headline);
  });
});

describe('the headline over a run that did not end well', () => {
  const after = (status: string, more: Partial<RunFacts> = {}) =>
    judge([good], { runs: runs.map((run, at) => (at === 2 ? { ...run, status, ...more } : run)) });

  it.each([
    ['failed', 'The last run failed; the stream is verified and up to date', 'bad'],
    ['partial', 'The last run was not complete; the stream is verified and up to date', 'bad'],
    ['killed', 'The last run did not record its end; the stream is verified and up to date', 'note'],
    ['complete', 'The stream is verified and up to date', 'good'],
  ])('says of a %s run: %s', (status, headline, tone) => {
    expect(after(status)).toMatchObject({ headline, tone });
  });

  it('passes over a retry and a rebuild, however they ended, and over a sync that is under way', () => {
    expect(after('failed', { isSync: false })).toMatchObject({ tone: 'good', findings: [] });
    const later = makeRuns(4, (at) => (at === 2 ? { status: 'failed' } : at === 3 ? { isSync: false } : {}));
    expect(judge([good], { runs: later }).headline).toMatch(/^The last run failed; /);
    const open = makeRuns(4, (at) =>
      at === 2 ? { status: 'failed' } : at === 3 ? { status: 'running' } : {},
    );
    expect(judge([good], { runs: open }).headline).toMatch(/^The last run failed; /);
  });

  it('leaves the first word to streams that need attention', () => {
    const ended = runs.map((run, at) => (at === 2 ? { ...run, status: 'partial' } : run));
    const failed = endWith(makeStream('bad', runs), { status: 'failed', verdict: undefined });
    expect(judge([good, failed], { runs: ended }).headline).toBe('1 of 2 streams needs attention');
  });
});

describe('findings', () => {
  const error = {
    code: 'key_rejected',
    message: 'the key was refused (401)',
    hint: 'Make a new key.',
    exitCode: 3,
  } as const;

  it('say once what many streams failed of', () => {
    const failed = Array.from({ length: 8 }, (_, at) =>
      endWith(makeStream(`s${at}`, runs), { status: 'failed', verdict: undefined, error }),
    );
    expect(judge(failed).findings).toEqual([
      {
        tone: 'bad',
        what: 's0, s1, s2, s3, s4 and 3 more failed: the key was refused (401).',
        todo: 'Make a new key.',
      },
    ]);
  });

  it('name a stream once, and join what differs only in its name', () => {
    const fail = (stream: string, message: string, slice = '') =>
      endWith(makeStream(stream, runs, { slice }), {
        status: 'failed',
        verdict: undefined,
        error: { ...error, message },
      });
    const told = (...streams: StreamFacts[]) => judge(streams).findings.map(({ what }) => what);
    expect(told(fail('a_b', 'a_b, offset 200: answered 500'))).toEqual([
      'a_b failed at offset 200: answered 500.',
    ]);
    expect(told(fail('a', 'a: no answer'), fail('b', 'b: no answer'))).toEqual(['a, b failed: no answer.']);
    expect(told(fail('a', 'a (x=1): no answer', 'x=1'))).toEqual(['a (x=1) failed: no answer.']);
  });

  it('begin with a capital, but for names of keys and streams', () => {
    const told = judge([good], {
      warnings: [
        'source.apiKey is written in sluice.yaml',
        'the key expires soon',
        'good: odd',
        'a_b is odd',
      ],
    }).findings.map(({ what }) => what);
    expect(told).toEqual([
      'source.apiKey is written in sluice.yaml.',
      'The key expires soon.',
      'good: odd.',
      'a_b is odd.',
    ]);
  });

  it('report keys that rows share, and not an API that gives no total', () => {
    const unverified = (reason: string) =>
      judge([endWith({ ...good, verdict: 'unverified' }, { verdict: 'unverified', reasons: [reason] })]);
    expect(unverified('the API declared no total')).toMatchObject({ tone: 'good', findings: [] });
    expect(unverified(describeSharedKeys(5_460, 3_600))).toMatchObject({
      tone: 'note',
      findings: [
        {
          what: 'good: 1,860 distinct keys in 5,460 records: 3,600 share the key of another.',
          todo: expect.stringContaining('`key`') as string,
        },
      ],
    });
  });

  it('report a run that ended before any stream did', () => {
    const ended = runs.map((run, at) => (at === 2 ? { ...run, status: 'failed', exitCode: 3, error } : run));
    const { findings, tone } = judge([good], { runs: ended });
    expect(tone).toBe('bad');
    expect(findings).toEqual([
      {
        tone: 'bad',
        what: 'The last run (20 Nov 2026, 14:07 UTC) failed: the key was refused (401).',
        todo: 'Make a new key.',
      },
    ]);
  });

  it('pass over the columns of a first sync, and report later ones', () => {
    const change = {
      runId: 'run-0',
      stream: 'good',
      column: 'a',
      change: 'added',
      fromType: undefined,
      toType: 'DATE',
      changedAt: new Date(MADE_MS - HOUR_MS).toISOString(),
    };
    const told = (runId: string) =>
      judge([good], { schemaChanges: { total: 1, newest: [{ ...change, runId }] } }).findings.map(
        ({ what }) => what,
      );
    expect(told('run-0')).toEqual([]);
    expect(told('run-2')).toEqual(['1 column changed in the last 7 days: good.']);
  });
});
