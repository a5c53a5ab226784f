// Loaded before the command line: makes its process die, as `kill -9` would, around a step that CRASH_AT names.
import { hookSteps } from '../support/io-steps.ts';

/** Where a process dies: before or after its nth step of a name (see `Step`). */
export interface CrashPoint {
  readonly step: string;
  readonly nth: number;
  readonly when: 'before' | 'after';
}

const text = process.env['CRASH_AT'];
if (text !== undefined) {
  const point = JSON.parse(text) as CrashPoint;
  let seen = 0;
  await hookSteps(
    {
      [point.when]: ({ name }: { readonly name: string }) => {
        if (name !== point.step) return;
        seen += 1;
        if (seen !== point.nth) return;
        process.kill(process.pid, 'SIGKILL');
        // The signal arrives before the call returns; should it not, nothing more may happen here.
        for (;;);
      },
    },
    () => true,
  );
}
