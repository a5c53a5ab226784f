// `sluice` and `npx sluice` of the docs: runs the command line, and fails unless it ends as the page lets one expect.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Commands that do not end with 0 in this world. */
const expected: Readonly<Record<string, number>> = {
  // Its project has a contract of its own, which is never replaced unasked, and names fewer fields than there are.
  'discover prompts_analytics --yes --write': 2,
  'schema diff --strict': 4,
  'schema export --output contracts/': 2,
  // Nobody is there to answer.
  'state reset prompts_analytics': 2,
};

const STOPPED = 143;

const words = process.argv.slice(2);
const args = words[0] === 'npx' ? words.slice(2) : words;
const [command] = args;
const stays = command === 'schedule' || (command === 'simulate' && !args.includes('--list-scenarios'));
const child = spawn(
  process.execPath,
  ['--no-warnings', process.env['DOCS_CLI'] ?? '', ...args, ...listSettings()],
  {
    stdio: ['ignore', 'pipe', 'pipe'],
    // `init` is for a folder that has no config yet.
    cwd: command === 'init' && existsSync('sluice.yaml') ? mkdtempSync(path.join(tmpdir(), 'init-')) : '.',
  },
);
child.stdout.pipe(process.stdout);
child.stderr.pipe(process.stderr);
// What stays until it is stopped has started once it speaks; a second signal would cut it off.
if (stays) {
  const stop = () => child.kill('SIGTERM');
  await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data')]).then(stop);
}
child.once('close', (exitCode) => {
  const wanted = stays ? STOPPED : (expected[args.join(' ')] ?? 0);
  if (exitCode === wanted) return;
  process.stderr.write(`sluice ${args.join(' ')} ended with ${exitCode} instead of ${wanted}\n`);
  process.exitCode = 1;
});

/** What a page leaves to its reader: the address to fill in, a port that is free. */
function listSettings(): readonly string[] {
  if (command === 'init' && !args.includes('--base-url'))
    return ['--base-url', process.env['DOCS_BASE_URL'] ?? ''];
  return command === 'simulate' && stays ? ['--port', '0'] : [];
}
