// Runs every random test again and again, each round with another seed, until the time is up or one fails.
//   npm run soak -- --minutes 30
//   npm run soak -- --minutes 5 --only http
//   npm run soak -- --seed 12345          one round
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { listFailedFiles } from './list-failed-files.ts';
import { listRandomTests } from './list-random-tests.ts';

const DEFAULT_MINUTES = 30;
/** A round of one file may take many times what it takes in `npm test`. */
const TEST_TIMEOUT_MS = 1_800_000;

interface RoundEnd {
  readonly exitCode: number | null;
  readonly failed: readonly string[];
  readonly isTimeUp: boolean;
}

const root = resolve(import.meta.dirname, '../..');
const vitest = resolve(root, 'node_modules/vitest/vitest.mjs');

const { values } = parseArgs({
  options: { minutes: { type: 'string' }, only: { type: 'string' }, seed: { type: 'string' } },
});

const minutes = readNumber('minutes', values.minutes) ?? DEFAULT_MINUTES;
const onlySeed = readNumber('seed', values.seed);
const files = listRandomTests(root).filter((file) => file.includes(values.only ?? ''));
if (files.length === 0) fail(`no random test has "${values.only ?? ''}" in its path`);

const endMs = performance.now() + minutes * 60_000;
say(
  `${files.length} files with random tests, for ${onlySeed === undefined ? `${minutes} minutes` : 'one round'}`,
);

for (let round = 1; ; round += 1) {
  const seed = onlySeed ?? randomInt(2 ** 31 - 1);
  const startMs = performance.now();
  say(`round ${round}: seed ${seed}`);
  const { exitCode, failed, isTimeUp } = await runRound(seed);
  const seconds = Math.round((performance.now() - startMs) / 1000);
  if (isTimeUp) {
    say(`round ${round}: nothing found in ${seconds} s; the time is up`);
    break;
  }
  if (exitCode !== 0) {
    const again = failed.length === 0 ? files : failed;
    fail(
      `round ${round} failed after ${seconds} s; to repeat it:\n  SLUICE_SEED=${seed} SLUICE_PROOF=soak npx vitest run ${again.join(' ')}`,
    );
  }
  say(`round ${round}: nothing found in ${seconds} s`);
  if (onlySeed !== undefined) break;
}

/** One run of all files; stops at the first failure, or when the time is up. */
function runRound(seed: number) {
  const args = [
    'run',
    ...files,
    '--bail',
    '1',
    '--testTimeout',
    String(TEST_TIMEOUT_MS),
    '--reporter',
    'dot',
  ];
  const child = spawn(process.execPath, [vitest, ...args], {
    cwd: root,
    env: { ...process.env, SLUICE_SEED: String(seed), SLUICE_PROOF: 'soak', NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let isTimeUp = false;
  const timer = setTimeout(
    () => {
      isTimeUp = true;
      child.kill('SIGTERM');
    },
    onlySeed === undefined ? Math.max(0, endMs - performance.now()) : TEST_TIMEOUT_MS,
  );
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (output += String(chunk)));
  return new Promise<RoundEnd>((done, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => {
      clearTimeout(timer);
      const failed = listFailedFiles(output, files);
      // What failed before the time was up counts.
      if (failed.length > 0) isTimeUp = false;
      if (exitCode !== 0 && !isTimeUp) process.stdout.write(output);
      done({ exitCode, failed, isTimeUp });
    });
  });
}

function readNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    fail(`--${name} must be a number, got ${text}`);
  return value;
}

function say(text: string): void {
  process.stdout.write(`${new Date().toISOString()} ${text}\n`);
}

function fail(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}
