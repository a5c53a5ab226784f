import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder of the running test's own, kept when the test fails. Call before anything that uses it is opened. */
export function makeTempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'));
  onTestFinished(({ task }) => {
    if (task.result?.state === 'fail') process.stderr.write(`kept for a look: ${folder}\n`);
    else rmSync(folder, { recursive: true });
  });
  return folder;
}
