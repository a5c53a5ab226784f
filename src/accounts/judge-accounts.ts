import type { ExitCode } from '../model/errors.ts';

// Stopped by a person, or a bug: people have to see these first.
const ALWAYS: readonly ExitCode[] = [143, 130, 1];

/**
 * The exit code of several accounts: 0 if all succeeded, the common one if all failed alike, 75 if the only ones that
 * are not done ask to be run again later, and 5 if some failed.
 */
export function judgeAccounts(codes: readonly ExitCode[]): ExitCode {
  const failed: ReadonlySet<ExitCode> = new Set(codes.filter((code) => code !== 0));
  const first = ALWAYS.find((code) => failed.has(code));
  if (first !== undefined) return first;
  const [only] = failed;
  if (only === undefined) return 0;
  const isAlike = failed.size === 1 && (only === 75 || !codes.includes(0));
  return isAlike ? only : 5;
}
