import { describe, expect, it } from 'vitest';
import { judgeRun } from '../../src/clients/judge-run.ts';
import { ConfigError, LockedError } from '../../src/model/errors.ts';
import type { ReportedError, RunReport, StreamReport } from '../../src/model/run-report.ts';

const error = (code: ReportedError['code'], exitCode: ReportedError['exitCode']): ReportedError => ({
  code,
  exitCode,
  message: code,
  hint: '',
});
const quota = error('quota_exhausted', 75);
const drift = error('source_drifted', 4);

function judge(
  streams: readonly (Pick<StreamReport, 'stream' | 'status'> & { readonly error?: ReportedError })[],
  run: Partial<RunReport> = {},
) {
  const report = {
    exitCode: 0,
    error: undefined,
    resumeAt: undefined,
    streams,
    ...run,
  } as unknown as RunReport;
  return judgeRun({ startedAtMs: 0, report }, ['a', 'b']);
}

describe('a sync, for the program that reads its rows', () => {
  it('is complete where streams are, or are fresh', () => {
    const { ends, failures } = judge([
      { stream: 'a', status: 'complete' },
      { stream: 'b', status: 'fresh' },
    ]);
    expect([...ends.values()]).toEqual([{ kind: 'complete' }, { kind: 'complete' }]);
    expect(failures).toEqual([]);
  });

  it('that the quota stopped has no failure, and says when to come back', () => {
    const { ends, failures, maySend } = judge(
      [
        { stream: 'a', status: 'stopped', error: quota },
        { stream: 'b', status: 'not-run' },
      ],
      { exitCode: 75, resumeAt: '2026-01-31T12:00:00Z', error: quota },
    );
    const limited = { kind: 'limited', error: quota, quotaReset: Date.UTC(2026, 0, 31, 12) };
    expect([...ends.values()]).toEqual([limited, limited]);
    expect({ failures, maySend }).toEqual({ failures: [], maySend: true });
  });

  it('with one stream that failed leaves the other one complete', () => {
    const { ends, failures } = judge(
      [
        { stream: 'a', status: 'failed', error: drift },
        { stream: 'b', status: 'complete' },
      ],
      { exitCode: 5 },
    );
    expect([...ends.values()].map(({ kind }) => kind)).toEqual(['failed', 'complete']);
    expect(failures).toEqual([{ stream: 'a', error: drift }]);
  });

  it('with a slice that is open is not complete', () => {
    const { ends } = judge([
      { stream: 'a', status: 'complete' },
      { stream: 'a', status: 'failed', error: drift },
      { stream: 'b', status: 'complete' },
    ]);
    expect(ends.get('a')?.kind).toBe('failed');
  });

  it('that could not publish failed in each stream', () => {
    const broken = error('publish_failed', 6);
    const { ends, failures } = judge(
      [
        { stream: 'a', status: 'complete' },
        { stream: 'b', status: 'complete' },
      ],
      { exitCode: 6, error: broken },
    );
    expect([...ends.values()].map(({ kind }) => kind)).toEqual(['failed', 'failed']);
    expect(failures).toEqual([{ stream: undefined, error: broken }]);
  });

  it('that could not start may send what earlier ones committed, unless the state may be of somebody else', () => {
    const options = { code: 'state_locked', hint: '' } as const;
    expect(judgeRun({ startedAtMs: 0, error: new LockedError('locked', options) }, ['a'])).toMatchObject({
      maySend: true,
      exitCode: 75,
      failures: [{ stream: undefined, error: { code: 'state_locked' } }],
    });
    const foreign = new ConfigError('foreign', { code: 'identity_mismatch', hint: '' });
    expect(judgeRun({ startedAtMs: 0, error: foreign }, ['a']).maySend).toBe(false);
  });
});
