import { PassThrough, Readable } from 'node:stream';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { defaultEngine } from '../../../src/cli/default-engine.ts';
import { createOutput } from '../../../src/cli/terminal/output.ts';
import { runCli } from '../../../src/cli/run-cli.ts';
import { systemClock } from '../../../src/model/clock.ts';
import { AbortedError } from '../../../src/model/errors.ts';
import { settleCommand } from './documented.ts';
import type { ScriptLine } from './read-script.ts';

/** How a command line ended in this process. */
export interface LineEnd {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Place {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Runs a script as bash -e would: its output, with the reason where a line did not end as the page says. */
export async function runScript(
  lines: readonly ScriptLine[],
  { cwd, env }: Place,
): Promise<{ readonly exitCode: number; readonly output: string }> {
  let output = '';
  const exported = { ...env };
  for (const line of lines) {
    if (line.kind === 'export') {
      exported[line.name] = line.value;
      continue;
    }
    const { stays, exitCode: expected, ...command } = settleCommand(line.args, cwd, exported);
    const end = await runLine(command.args, { cwd: command.cwd, env: exported }, stays);
    output += `+ sluice ${line.args.join(' ')}\n${end.stdout}${end.stderr}`;
    if (line.target !== undefined) writeFileSync(path.resolve(cwd, line.target), end.stdout);
    if (end.exitCode !== expected) {
      output += `ended with ${end.exitCode} instead of ${expected}\n`;
      return { exitCode: 1, output };
    }
  }
  return { exitCode: 0, output };
}

/** Runs one command line with the real engine; one that stays is stopped once it speaks. */
export async function runLine(args: readonly string[], place: Place, stays = false): Promise<LineEnd> {
  const controller = new AbortController();
  const written = { stdout: '', stderr: '' };
  const capture = (name: keyof typeof written) => ({
    write(text: string) {
      written[name] += text;
      if (stays) setImmediate(() => controller.abort(toStopped()));
      return true;
    },
  });
  // Paths of the command line start from the working directory.
  const before = process.cwd();
  process.chdir(place.cwd);
  const exitCode = await runCli(args, {
    output: createOutput({
      stdout: capture('stdout'),
      stderr: capture('stderr'),
      env: place.env,
      mask: (text) => text,
    }),
    env: place.env,
    cwd: place.cwd,
    clock: systemClock,
    randomHex: (digits) => '0123456789abcdef'.repeat(4).slice(0, digits),
    signal: controller.signal,
    chooseStop: () => undefined,
    engine: defaultEngine,
    keepSecret: () => undefined,
    // Nobody speaks to it.
    stdio: { input: Readable.from([]), output: new PassThrough() },
    prompt: undefined,
  }).finally(() => process.chdir(before));
  return { exitCode, ...written };
}

function toStopped(): AbortedError {
  return new AbortedError('stopped by SIGTERM', { code: 'aborted', hint: 'Run it again.', exitCode: 143 });
}
