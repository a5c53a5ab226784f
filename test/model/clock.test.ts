import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/model/clock.ts';

it("the machine's own clock is the same for all its processes", () => {
  const module = new URL('../../src/model/clock.ts', import.meta.url).href;
  const program = `import { systemClock } from '${module}'; console.log(systemClock.monotonic());`;
  const before = systemClock.monotonic();
  const args = ['--no-warnings', '--input-type=module', '--eval', program];
  const there = Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  expect(there).toBeGreaterThan(before);
  expect(there).toBeLessThan(systemClock.monotonic());
});
