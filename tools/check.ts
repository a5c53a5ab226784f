// npm test: types, lint, format and build side by side, and the tests of every change after types, format and build.
// npm run test:fast: the tests of the first tier alone, with a tenth of their random cases.
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

interface Check {
  readonly name: string;
  /** A script below `node_modules` or of the project, and its arguments. */
  readonly args: readonly string[];
}

interface CheckEnd {
  readonly isFine: boolean;
  readonly output: string;
  readonly seconds: number;
}

// The linter takes the longest by far. The tests come last: what they need was built by then.
const checks: readonly Check[] = [
  { name: 'lint', args: ['node_modules/eslint/bin/eslint.js', '.'] },
  // `types` checks what is built.
  { name: 'build', args: ['tools/build.ts', '--noCheck'] },
  { name: 'format', args: ['node_modules/prettier/bin/prettier.cjs', '--check', '--log-level', 'warn', '.'] },
  { name: 'types', args: ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'] },
];
const vitest = 'node_modules/vitest/vitest.mjs';
const isFast = process.argv[2] === 'fast';
const tests: Check = {
  name: 'tests',
  args: [vitest, 'run', '--project', 'fast', ...(isFast ? [] : ['--project', 'daily'])],
};
const env = isFast ? { SLUICE_PROOF: 'fast', ...process.env } : process.env;

const startMs = performance.now();
const waiting = isFast ? [tests] : [...checks, tests];
const ends: boolean[] = [];

// One has the linter, and the other does the rest, in this order.
await Promise.all([work(), work()]);
process.exitCode = ends.every(Boolean) ? 0 : 1;
say(`npm test: ${ends.every(Boolean) ? 'passed' : 'FAILED'}, ${sinceStart()} s`);

/** Takes checks until there is none left. The tests begin while the longest of the others still goes on. */
async function work(): Promise<void> {
  for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
    if (check === tests && ends.includes(false)) return;
    const { isFine, output, seconds } = await run(check, check === tests ? 'inherit' : 'pipe');
    say(`${check.name}: ${isFine ? 'passed' : 'FAILED'}, ${seconds} s`);
    if (!isFine) say(output);
    ends.push(isFine);
  }
}

function run({ args }: Check, stdio: 'inherit' | 'pipe'): Promise<CheckEnd> {
  const [script = '', ...rest] = args;
  const checkStartMs = performance.now();
  const child = spawn(process.execPath, ['--no-warnings', join(root, script), ...rest], {
    cwd: root,
    env,
    stdio: ['ignore', stdio, stdio],
  });
  let output = '';
  child.stdout?.on('data', (chunk) => (output += String(chunk)));
  child.stderr?.on('data', (chunk) => (output += String(chunk)));
  return new Promise((done, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) =>
      done({
        isFine: exitCode === 0,
        output,
        seconds: Math.round((performance.now() - checkStartMs) / 1000),
      }),
    );
  });
}

function sinceStart(): number {
  return Math.round((performance.now() - startMs) / 1000);
}

function say(text: string): void {
  process.stdout.write(`${text.trimEnd()}\n`);
}
