import type { AccountEnd, AccountsReport } from '../model/accounts-report.ts';
import { judgeAccounts } from './judge-accounts.ts';
import type { JointResult } from './publish-joint.ts';

/** A run that was stopped leaves the files that join the accounts to the next one. */
export const NOTHING_JOINT: JointResult = { files: [], error: undefined };

/** The report of a sync of several accounts, without warnings yet; times are in epoch ms. */
export function reportAccounts(
  accounts: readonly AccountEnd[],
  { files, error }: JointResult,
  { startedAtMs, finishedAtMs }: { readonly startedAtMs: number; readonly finishedAtMs: number },
): AccountsReport {
  const codes = accounts.map(({ exitCode }) => exitCode);
  // Nothing of an account asks to be run again: what joins them failed, as it does for every other reason.
  const isLocked = error?.exitCode === 75 && !codes.includes(75);
  const joint = error === undefined ? [] : [isLocked ? 5 : error.exitCode];
  const [resumeAt] = accounts.flatMap((one) => one.resumeAt ?? []).toSorted();
  return {
    // What joins the accounts is one more thing that may fail while the others are committed.
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
