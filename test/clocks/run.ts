// npm run test:clocks [name]: the tests that print or compute dates, with the clock of the whole process moved, that
// of the engine included, and in other time zones. Needs libfaketime, which `tools/install-proof-tools.sh` installs.
import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { runTests } from '../../tools/run-tests.ts';
import { hasTurn } from '../support/seeds.ts';
import { findTier, listTestFiles } from '../tiers.ts';
import { listMovedClocks, type MovedClock } from './clocks.ts';

/** What runs beyond the tier `fast`: processes with a clock of their own, and the engine's now(). */
const DATED = [
  'connectors/analytics-read',
  'crash/stop-cli',
  'crash/stop-schedule',
  'docs/shown',
  'faults/stale-day',
  'flows/discover-write',
  'flows/library',
  'flows/report',
  'warehouse/load-rows',
];
const CLOCK_TOLERANCE_S = 60;

const say = (text: string) => void process.stdout.write(`${text}\n`);
const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
if (library === undefined) fail('there is no libfaketime: run tools/install-proof-tools.sh');
const only = process.argv[2];
// Each full proof takes half of them, by its seed.
const isProof = process.env['SLUICE_PROOF'] === 'full';
const clocks = listMovedClocks(Date.now()).filter(({ name }, at) =>
  only === undefined ? !isProof || hasTurn(at) : name === only,
);
if (clocks.length === 0) fail(`there is no clock "${only}"`);

const testFiles = listTestFiles();
const missing = DATED.filter((place) => !testFiles.some((file) => file.startsWith(place)));
if (missing.length > 0) fail(`no test file is named ${missing.join(', ')}`);
const files = testFiles
  .filter((file) => findTier(file) === 'fast' || DATED.some((place) => file.startsWith(place)))
  .map((file) => `test/${file}`);

let total = 0;
for (const clock of clocks) {
  const env = {
    ...process.env,
    SLUICE_PROOF: 'fast',
    TZ: clock.timeZone,
    LD_PRELOAD: library,
    FAKETIME: `+${clock.aheadS}`,
    // Only the calendar moves: what measures how long something takes is left alone.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  checkMoved(clock, env);
  const startMs = performance.now();
  const { passed, failed } = await runTests(files, env);
  const seconds = Math.round((performance.now() - startMs) / 1000);
  say(`${clock.name}, ${clock.timeZone}: ${passed} tests passed, ${failed.length} failed, ${seconds} s`);
  if (failed.length > 0) fail(failed.join('\n'));
  if (passed === 0) fail('no test ran');
  total += passed;
}
say(`${total} tests passed under ${clocks.length} clocks`);

/** Whether both clocks, JavaScript's and the engine's, are where they are meant to be. */
function checkMoved({ name, aheadS }: MovedClock, env: NodeJS.ProcessEnv): void {
  const wanted = Date.now() / 1000 + aheadS;
  const program = join(import.meta.dirname, 'show-now.ts');
  const { stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', program], {
    env,
    encoding: 'utf8',
  });
  assert.match(stdout, /^\[\d+,\d+\]$/, stderr);
  for (const found of JSON.parse(stdout) as readonly number[])
    assert.ok(
      Math.abs(found - wanted) < CLOCK_TOLERANCE_S,
      `${name}: the clock is at ${found}, not ${wanted}`,
    );
}

function fail(why: string): never {
  say(`FAILED ${why}`);
  process.exit(1);
}
