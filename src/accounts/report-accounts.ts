import type { AccountEnd, AccountsReport } from '../model/accounts-report.ts';
import { judgeAccounts } from './judge-accounts.ts';
import type { JointResult } from './publish-joint.ts';

/** If a run was stopped, the next one writes the files that join the accounts. */
export const NOTHING_JOINT: JointResult = { files: [], error: undefined };

/** The report of a sync of several accounts, without warnings yet; times are in epoch ms. */
export function reportAccounts(
  accounts: readonly AccountEnd[],
  { files, error }: JointResult,
  { startedAtMs, finishedAtMs }: { readonly startedAtMs: number; readonly finishedAtMs: number },
): AccountsReport {
  const codes = accounts.map(({ exitCode }) => exitCode);
  // No account asks to be run again: writing a joint file failed, as it may for any other reason.
  const isLocked = error?.exitCode === 75 && !codes.includes(75);
  const joint = error === undefined ? [] : [isLocked ? 5 : error.exitCode];
  const [resumeAt] = accounts.flatMap((one) => one.resumeAt ?? []).toSorted();
  return {
    // Writing a joint file may fail while all accounts are committed.
    exitCode: judgeAccounts([...codes, ...joint]),
    startedAt: new Date(startedAtMs).toISOString(),
    finishedAt: new Date(finishedAtMs).toISOString(),
    accounts,
    resumeAt,
    files,
    error,
    warnings: [],
  };
}
