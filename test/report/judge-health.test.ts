import { describe, expect, it } from 'vitest';
import type { ReportData, StreamFacts } from '../../src/model/report-data.ts';
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
  it.each<[string, StreamFacts, string]>([
    ['verified', good, 'good'],
    ['unverified', { ...good, verdict: 'unverified' }, 'good'],
    ['late', { ...good, verifiedAt: old }, 'bad'],
    ['drifted', { ...good, verdict: 'drifted' }, 'note'],
    ['partial', { ...good, verdict: 'partial' }, 'bad'],
    ['failed', endWith(good, { status: 'failed', verdict: undefined }), 'bad'],
    ['stopped', endWith(good, { status: 'stopped', verdict: undefined }), 'note'],
    ['never', makeStream('good', []), 'note'],
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

describe('the headline', () => {
  it.each<[string, readonly StreamFacts[]]>([
    ['No stream is synced', []],
    ['The stream is fresh and verified', [good]],
    ['All 2 streams are fresh and verified', [good, good]],
    ['All 2 streams are fresh; 1 could not be verified', [good, { ...good, verdict: 'unverified' }]],
    ['1 of 2 streams is fresh and verified', [good, makeStream('new', [])]],
    [
      '2 of 3 streams need attention',
      [good, ...[1, 2].map(() => ({ ...good, verdict: 'partial' as const }))],
    ],
  ])('%s', (headline, streams) => {
    expect(judge(streams).headline).toBe(headline);
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
        what: 's0, s1, s2, s3, s4 and 3 more: Failed (the key was refused (401)).',
        todo: 'Make a new key.',
      },
    ]);
  });

  it('tell of a run that ended before any stream did', () => {
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

  it('pass over the columns of a first sync, and tell of later ones', () => {
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
