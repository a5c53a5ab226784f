// `sluice` and `npx sluice` of the docs: runs the command line, and fails unless it ends as the page says.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { settleCommand } from './documented.ts';

const words = process.argv.slice(2);
const args = words[0] === 'npx' ? words.slice(2) : words;
const command = settleCommand(args, '.', process.env);
const child = spawn(process.execPath, ['--no-warnings', process.env['DOCS_CLI'] ?? '', ...command.args], {
  stdio: ['ignore', 'pipe', 'pipe'],
  cwd: command.cwd,
});
child.stdout.pipe(process.stdout);
child.stderr.pipe(process.stderr);
// What stays until it is stopped has started once it speaks; a second signal would cut it off.
if (command.stays) {
  const stop = () => child.kill('SIGTERM');
  await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data')]).then(stop);
}
child.once('close', (exitCode) => {
  if (exitCode === command.exitCode) return;
  process.stderr.write(`sluice ${args.join(' ')} ended with ${exitCode} instead of ${command.exitCode}\n`);
  process.exitCode = 1;
});
