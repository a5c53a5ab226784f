import type { RunEnd } from '../database/end-run.ts';
import type { LaneDeath } from './lane.ts';

/** The end of a run whose process ended before it could report. */
export function describeDeath(account: string, { exitCode, signal }: LaneDeath): RunEnd {
  const how = signal === null ? `exit code ${exitCode ?? '?'}` : signal;
  return {
    status: 'failed',
    exitCode: 1,
    report: undefined,
    error: {
      code: 'bug',
      message: `${account}: the process of its run ended (${how})`,
      hint: 'The account is as it was before the run, which is tried again. If it was killed for its memory, give the machine more, or use fewer lanes. Else please report it.',
      exitCode: 1,
    },
    resumeInMs: undefined,
    object: undefined,
    source: undefined,
  };
}
