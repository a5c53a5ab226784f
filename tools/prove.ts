// npm run test:full [part]: every proof there is, and the counts. What a machine lacks the means for fails, with the
// way to get it: `tools/install-proof-tools.sh` installs all of it on Debian.
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { runTests } from './run-tests.ts';

const root = resolve(import.meta.dirname, '..');
const env = { ...process.env, SLUICE_PROOF: 'full' };

/** What a part came to, in a few words, and whether it holds. */
interface PartEnd {
  readonly isFine: boolean;
  readonly words: string;
}

interface Part {
  readonly name: string;
  readonly run: () => Promise<PartEnd>;
}

const parts: readonly Part[] = [
  { name: 'build', run: () => runScript('tools/build.ts') },
  { name: 'tests', run: runEveryTest },
  { name: 'clocks', run: () => runScript('test/clocks/run.ts') },
  { name: 'deploy', run: () => runScript('test/deploy/run.ts') },
  { name: 'fleet', run: () => runScript('test/fleet-proof/run.ts') },
  { name: 'interop', run: () => runScript('test/interop/run.ts') },
  { name: 'browser', run: () => runScript('test/browser/report.ts') },
];

const only = process.argv[2];
const chosen = parts.filter(({ name }) => only === undefined || name === only);
if (chosen.length === 0) {
  say(`there is no part "${only}"; the parts are ${parts.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}

const startMs = performance.now();
const lines: string[] = [];
let isFine = true;
for (const { name, run } of chosen) {
  say(`== ${name}`);
  const partStartMs = performance.now();
  const end = await run();
  isFine &&= end.isFine;
  lines.push(
    `${name.padEnd(8)} ${end.isFine ? 'passed' : 'FAILED'}  ${end.words}, ${secondsSince(partStartMs)} s`,
  );
}
say(`== the full proof: ${isFine ? 'passed' : 'FAILED'}, ${secondsSince(startMs)} s\n${lines.join('\n')}`);
process.exitCode = isFine ? 0 : 1;

async function runEveryTest(): Promise<PartEnd> {
  const { passed, failed, skipped, slowest } = await runTests([], env);
  for (const text of failed) say(`FAILED ${text}`);
  for (const title of skipped) say(`skipped ${title}`);
  for (const { file, seconds } of slowest) say(`${String(seconds).padStart(5)} s  ${file}`);
  // Root on Linux has all the means, so that nothing is skipped there unseen.
  const hasAllMeans = process.platform === 'linux' && process.getuid?.() === 0;
  return {
    isFine: failed.length === 0 && passed > 0 && (skipped.length === 0 || !hasAllMeans),
    words: `${passed} passed, ${failed.length} failed, ${skipped.length} skipped`,
  };
}

/** Runs a proof of its own; its last line says what it came to. */
function runScript(script: string): Promise<PartEnd> {
  const child = spawn(process.execPath, ['--no-warnings', join(root, script)], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stdout.pipe(process.stdout);
  return new Promise((done, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) =>
      done({ isFine: exitCode === 0, words: output.trimEnd().split('\n').at(-1) || 'done' }),
    );
  });
}

function secondsSince(ms: number): number {
  return Math.round((performance.now() - ms) / 1000);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
