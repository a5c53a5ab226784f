// What `sluice` is for the orchestrators: ours, whose first run ends with exit code 75 after a few requests, and says when
// to continue. It fails if it is started again before that. SHIM_STATE is its memory, SHIM_CLI the command line.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const WAIT_MS = 2_000;
const { SHIM_STATE: state = '', SHIM_CLI: cli = '' } = process.env;
const isFirst = !existsSync(state);
if (!isFirst && Date.now() < Number(readFileSync(state, 'utf8'))) {
  process.stderr.write('sluice was started again too early\n');
  process.exit(1);
}
const more = isFirst ? { SLUICE_MAX_REQUESTS: '3' } : {};
const { status, stdout } = spawnSync(process.execPath, ['--no-warnings', cli, ...process.argv.slice(2)], {
  env: { ...process.env, ...more },
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'inherit'],
});
if (isFirst) {
  const resumeAtMs = Date.now() + WAIT_MS;
  writeFileSync(state, String(resumeAtMs));
  const answer = JSON.parse(stdout) as { readonly result: object };
  const result = { ...answer.result, resumeAt: new Date(resumeAtMs).toISOString() };
  process.stdout.write(`${JSON.stringify({ ...answer, result })}\n`);
} else {
  process.stdout.write(stdout);
}
process.exitCode = status ?? 1;
