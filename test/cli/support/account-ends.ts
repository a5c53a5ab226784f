import type { AccountEnd } from '../../../src/model/accounts-report.ts';
import { makeRunReport } from './reports.ts';

/** How an account ended: complete after one run, unless something else is given. */
export function makeAccountEnd(account: string, changes: Partial<AccountEnd> = {}): AccountEnd {
  return {
    account,
    exitCode: 0,
    report: makeRunReport(),
    error: undefined,
    runs: 1,
    resumeAt: undefined,
    ...changes,
  };
}

/** What an account says whose key is refused. */
export const keyRefused = {
  code: 'key_rejected',
  message: 'the key was refused',
  hint: 'Renew it.',
  exitCode: 3,
} as const;
