import type { ExitCode } from '../../model/errors.ts';

/** Ends that a later run continues from, and those that somebody asked for. */
const EXPECTED: ReadonlySet<ExitCode> = new Set([5, 75, 130, 143]);

/** The level of the line that tells how something ended. */
export function levelOfExit(exitCode: ExitCode): 'info' | 'warn' | 'error' {
  if (exitCode === 0) return 'info';
  return EXPECTED.has(exitCode) ? 'warn' : 'error';
}
