import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runTests } from '../../tools/run-tests.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

/** Runs one test file with this body in a folder of its own. */
async function runBody(body: string) {
  const folder = makeTempFolder();
  writeFileSync(join(folder, 'one.test.mjs'), `test('a test', () => {${body}});`);
  return runTests(['--root', folder, '--globals'], process.env);
}

it('tests that pass are counted', async () => {
  const { slowest, ...counts } = await runBody('');
  expect(counts).toEqual({ passed: 1, failed: [], skipped: [] });
  expect(slowest).toEqual([
    { file: expect.stringMatching(/one\.test\.mjs$/) as string, seconds: expect.any(Number) as number },
  ]);
});

it('a test that fails is named with its reason', async () => {
  const { failed } = await runBody('expect(1).toBe(2);');
  expect(failed).toEqual([expect.stringMatching(/one\.test\.mjs: a test\n.*expected 1 to be 2/s)]);
});

it('an error that belongs to no test fails the run, and is shown', async () => {
  const { failed } = await runBody('void Promise.reject(new Error("a stray rejection"));');
  expect(failed).toEqual([expect.stringMatching(/^vitest ended with exit code 1.*a stray rejection/s)]);
});

it('a run without a test fails', async () => {
  const { passed, failed } = await runTests(['--root', makeTempFolder()], process.env);
  expect([passed, failed.length]).toEqual([0, 1]);
});
