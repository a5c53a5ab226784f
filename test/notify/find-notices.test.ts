import { describe, expect, it } from 'vitest';
import type { ErrorCode, ExitCode } from '../../src/model/errors.ts';
import type { ReportedError, RunReport } from '../../src/model/run-report.ts';
import { findNotices, type NoticeFacts } from '../../src/notify/find-notices.ts';
import { isDue, remember } from '../../src/notify/notice-memory.ts';
import type { EndedRun, Notice } from '../../src/notify/notice.ts';
import { makeRunReport, makeStreamReport } from '../cli/support/reports.ts';

const calm: NoticeFacts = { keyExpiry: undefined, keyExpiresAt: undefined };

function makeError(code: ErrorCode, exitCode: ExitCode): ReportedError {
  return { code, exitCode, message: `it was ${code}`, hint: 'Mend it.' };
}

function eventsOf(run: EndedRun, facts = calm): readonly string[] {
  return findNotices(run, facts).map(({ event }) => event);
}

function ofReport(changes: Partial<RunReport>): EndedRun {
  return { report: makeRunReport(changes) };
}

describe('what is worth telling', () => {
  it.each([
    ['key_rejected', 3, true],
    ['bug', 1, true],
    ['storage_failed', 6, true],
    ['network_unreachable', 75, true],
    ['server_failed', 75, true],
    ['quota_exhausted', 75, false],
    ['deadline_reached', 75, false],
    ['request_limit_reached', 75, false],
    ['state_locked', 75, false],
    ['aborted', 143, false],
    ['aborted', 130, false],
  ] as const)('a run that ends with %s (%i) is a failure: %s', (code, exitCode, isFailure) => {
    const error = makeError(code, exitCode);
    const expected = isFailure ? ['failure'] : [];
    expect(eventsOf(ofReport({ exitCode, error }))).toEqual(expected);
    expect(eventsOf({ error })).toEqual(expected);
  });

  it('a stopped run with a stream that failed for the network is a failure', () => {
    const streams = [makeStreamReport({ error: makeError('server_failed', 75) })];
    const run = ofReport({ exitCode: 75, error: makeError('quota_exhausted', 75), streams });
    expect(eventsOf(run)).toEqual(['failure']);
  });

  it('names the first cause and counts the others', () => {
    const streams = ['a', 'b'].map((stream) =>
      makeStreamReport({ stream, error: makeError('server_failed', 75) }),
    );
    const [notice] = findNotices(ofReport({ exitCode: 5, streams }), calm);
    expect(notice?.summary).toBe('sync failed with exit code 5: a: it was server_failed (and 1 more)');
  });

  it('counts a failure once that is the run’s and a stream’s', () => {
    const error = makeError('key_rejected', 3);
    const streams = [
      makeStreamReport({ stream: 'a', error }),
      makeStreamReport({ stream: 'b', status: 'not-run' }),
    ];
    const [notice] = findNotices(ofReport({ exitCode: 3, error: { ...error }, streams }), calm);
    expect(notice?.summary).toBe('sync failed with exit code 3: a: it was key_rejected');
    const named = { ...error, message: 'a, offset 0: refused' };
    const [told] = findNotices(
      ofReport({ exitCode: 3, error: named, streams: [{ ...streams[0]!, error: named }] }),
      calm,
    );
    expect(told?.summary).toBe('sync failed with exit code 3: a, offset 0: refused');
  });

  it('drift is, whether the scan was loaded or refused', () => {
    const drifted = makeStreamReport({ verdict: 'drifted', reasons: ['the head row changed'] });
    expect(findNotices(ofReport({ streams: [drifted] }), calm)).toMatchObject([
      {
        event: 'drift',
        summary: 'the source changed while it was read: prompts_analytics (the head row changed)',
      },
      { event: 'success' },
    ]);
    const streams = [makeStreamReport({ error: makeError('source_emptied', 4) })];
    expect(eventsOf(ofReport({ exitCode: 4, streams }))).toEqual(['failure', 'drift']);
  });

  it('a changed column is, the columns of a first load are not', () => {
    const added = { column: 'score', change: 'added', fromType: undefined, toType: 'DOUBLE' } as const;
    const rows = { read: 100, inserted: 100, updated: 0, unchanged: 0, deleted: 0, quarantined: 0 };
    const first = makeStreamReport({ schemaChanges: [added], rows, rowsInTable: 100 });
    expect(eventsOf(ofReport({ streams: [first] }))).toEqual(['success']);
    for (const later of [
      { ...first, rowsInTable: 250 },
      { ...first, rows: { ...rows, unchanged: 1 } },
      { ...first, rows: { ...rows, deleted: 100 } },
      { ...first, schemaChanges: [{ ...added, change: 'widened' as const }] },
    ])
      expect(eventsOf(ofReport({ streams: [later] }))).toEqual(['schema-change', 'success']);
  });

  it('a key that expires is, in addition to anything else', () => {
    const facts = { keyExpiry: 'the key expires on 2026-11-25', keyExpiresAt: '2026-11-25' };
    expect(eventsOf(ofReport({}), facts)).toEqual(['key-expiry', 'success']);
    expect(eventsOf({ error: makeError('state_locked', 75) }, facts)).toEqual(['key-expiry']);
  });
});

describe('what was reported already', () => {
  const expiry: Notice = { event: 'key-expiry', summary: 'soon', sameness: '2026-11-25' };
  const refused: Notice = { event: 'failure', summary: 'refused', sameness: '3' };

  it('is reported once a day, and again when it is something else', () => {
    const memory = remember({}, [expiry, refused], [expiry, refused], '2026-11-20');
    expect(isDue(memory, expiry, '2026-11-20')).toBe(false);
    expect(isDue(memory, expiry, '2026-11-21')).toBe(true);
    expect(isDue(memory, { ...refused, sameness: '6' }, '2026-11-20')).toBe(true);
    expect(isDue(memory, { ...refused, sameness: undefined }, '2026-11-20')).toBe(true);
  });

  it('is forgotten when it has ended, and is not noted when nobody was reached', () => {
    const memory = remember({}, [expiry, refused], [expiry, refused], '2026-11-20');
    const repaired = remember(memory, [expiry], [], '2026-11-20');
    expect(Object.keys(repaired)).toEqual(['key-expiry']);
    expect(isDue(repaired, refused, '2026-11-20')).toBe(true);
    expect(remember({}, [refused], [], '2026-11-20')).toEqual({});
  });
});
