import { describe, expect, it } from 'vitest';
import { reportAccounts } from '../../src/accounts/report-accounts.ts';
import type { ExitCode } from '../../src/model/errors.ts';

function exitCodeOf(codes: readonly ExitCode[], joint?: ExitCode): ExitCode {
  const accounts = codes.map((exitCode, at) => ({
    account: `a${at}`,
    exitCode,
    report: undefined,
    error: undefined,
    runs: 1,
    resumeAt: undefined,
  }));
  const error =
    joint === undefined
      ? undefined
      : ({ code: 'publish_failed', message: 'no', hint: 'Again.', exitCode: joint } as const);
  return reportAccounts(accounts, { files: [], error }, { startedAtMs: 0, finishedAtMs: 1 }).exitCode;
}

describe('the exit code of several accounts', () => {
  it.each([
    [[0, 0], undefined, 0],
    [[0, 0], 6, 5],
    [[0, 0], 2, 5],
    // A program that has the joint file open for writing asks no account to be run again.
    [[0, 0], 75, 5],
    [[0, 75], 75, 75],
    [[0, 75], 6, 5],
    [[0, 0], 1, 1],
    [[3, 3], undefined, 3],
  ] as const)('of %j and %s for what joins them is %i', (codes, joint, expected) => {
    expect(exitCodeOf(codes, joint)).toBe(expected);
  });
});
