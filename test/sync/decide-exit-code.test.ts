import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ExitCode } from '../../src/model/errors.ts';
import type { StreamReport, StreamStatus } from '../../src/model/run-report.ts';
import { decideExitCode, describeOutcome } from '../../src/sync/decide-exit-code.ts';
import { makeReport } from '../support/fixtures.ts';

/** Reports of streams: a code stands for one that failed with it. */
function streams(...outcomes: readonly (StreamStatus | ExitCode)[]): readonly StreamReport[] {
  return outcomes.map((outcome) =>
    typeof outcome === 'string'
      ? makeReport({ status: outcome })
      : makeReport({
          status: outcome === 75 ? 'stopped' : 'failed',
          error: { code: 'bug', message: '', hint: '', exitCode: outcome },
        }),
  );
}

describe('decideExitCode', () => {
  it.each<readonly [string, readonly (StreamStatus | ExitCode)[], ExitCode | undefined, ExitCode]>([
    ['no stream', [], undefined, 0],
    ['all complete', ['complete', 'complete'], undefined, 0],
    ['complete and fresh', ['complete', 'fresh'], undefined, 0],
    ['one that the API does not have', ['complete', 'unavailable'], undefined, 0],
    ['one selected stream that failed', [4], undefined, 4],
    ['one refused by permission', [3], undefined, 3],
    ['all failing alike', [4, 4], undefined, 4],
    ['all forbidden', [3, 3, 3], undefined, 3],
    ['all unreachable', [75, 75], undefined, 75],
    ['one of several forbidden', ['complete', 3], undefined, 5],
    ['one of several failed', ['complete', 4], undefined, 5],
    ['one failed beside a fresh one', ['fresh', 4], undefined, 5],
    ['the quota stopped the others', ['complete', 75, 'not-run'], 75, 75],
    ['the quota stopped all', [75, 'not-run'], 75, 75],
    ['a failure and the quota', ['complete', 4, 75], 75, 5],
    ['different failures and nothing committed', [4, 75], undefined, 4],
    ['different failures, one of them of config', [4, 2], undefined, 2],
    ['a refused key', ['complete', 3, 'not-run'], 3, 3],
    ['a full disk', ['complete', 6, 'not-run'], 6, 6],
    ['a bug', ['complete', 1], 1, 1],
    ['a signal after a commit', ['complete', 'not-run'], 130, 130],
    ['SIGTERM', ['not-run'], 143, 143],
    ['a publish that failed', ['complete'], 6, 6],
    ['a publish that config keeps from happening', ['complete', 'fresh'], 2, 2],
    ['every endpoint missing', ['unavailable', 'unavailable'], 4, 4],
    ['a warning with --strict', ['complete', 'complete'], 4, 4],
    ['a warning with --strict and a stopped stream', ['complete', 75], 4, 4],
    ['only unavailable and failing ones', ['unavailable', 4], undefined, 4],
  ])('for %s', (_, outcomes, runError, code) => {
    expect(decideExitCode(streams(...outcomes), runError)).toBe(code);
    expect(decideExitCode(streams(...outcomes).toReversed(), runError)).toBe(code);
  });

  it('is 0 only when nothing failed', () => {
    const outcome = fc.constantFrom<StreamStatus | ExitCode>(
      'complete',
      'fresh',
      'unavailable',
      'not-run',
      2,
      3,
      4,
      75,
    );
    const runError = fc.constantFrom<ExitCode | undefined>(undefined, 1, 2, 3, 4, 6, 75, 130, 143);
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 5 }), runError, (outcomes, runError) => {
        const failed = runError !== undefined || outcomes.some((outcome) => typeof outcome === 'number');
        expect(decideExitCode(streams(...outcomes), runError) === 0).toBe(!failed);
      }),
    );
  });
});

describe('describeOutcome', () => {
  it('has one word for each code', () => {
    const codes = [0, 1, 2, 3, 4, 5, 6, 75, 130, 143] as const;
    expect(codes.map(describeOutcome)).toEqual([
      'complete',
      'failed',
      'failed',
      'failed',
      'failed',
      'partial',
      'failed',
      'stopped',
      'interrupted',
      'interrupted',
    ]);
  });
});
