import { randomBytes } from 'node:crypto';
import { systemClock } from '../model/clock.ts';
import type { ExitCode, SyncError } from '../model/errors.ts';
import { StorageError, toSyncError } from '../model/errors.ts';
import { redact } from '../text/redact.ts';
import type { CliContext } from './frame/context.ts';
import { defaultEngine } from './default-engine.ts';
import { boundHeap, collectSecrets, hideSqliteWarning } from './prepare-process.ts';
import { createOutput } from './terminal/output.ts';
import { flushStreams, watchPipes } from './terminal/pipes.ts';
import { createPrompt } from './steps/prompt.ts';
import { wantsJsonLog } from './options/wants-json.ts';
import { renderError } from '../render/render-error.ts';
import { writeErrorLine, writeLogLine } from '../render/write-log-line.ts';
import { runCli } from './run-cli.ts';
import { dieOfSignal, listenForSignals } from './terminal/signals.ts';

/** Runs the command line of this process and ends it; nothing else sets its exit code. */
export async function main(): Promise<void> {
  const { stdout, stderr, stdin, env, argv } = process;
  const secrets = new Set(collectSecrets(env));
  const output = createOutput({ stdout, stderr, env, mask: (text) => redact(text, [...secrets]) });
  const isJsonLog = wantsJsonLog(argv.slice(2), env);
  let crashCode: ExitCode | undefined;
  const crash = (error: SyncError) => {
    // A failure while reporting a crash would report itself for ever.
    if (crashCode !== undefined) return;
    crashCode = error.exitCode;
    const told = isJsonLog ? writeErrorLine(error, systemClock.now()) : renderError(error, output.stderr);
    output.writeNote(told);
    void exit(() => error.exitCode);
  };
  process.on('uncaughtException', (thrown) => crash(toSyncError(thrown)));
  process.on('unhandledRejection', (thrown) => crash(toSyncError(thrown)));
  watchPipes(stdout, stderr, (cause) => crash(toOutputError(cause)));
  hideSqliteWarning(process);
  boundHeap();

  const writeNote = (text: string) =>
    output.writeNote(isJsonLog ? writeLogLine('info', text, systemClock.now()) : text);
  const stop = listenForSignals(process, { writeNote }, () => systemClock.monotonic());
  const context: CliContext = {
    output,
    env,
    clock: systemClock,
    randomHex: (digits) =>
      randomBytes(Math.ceil(digits / 2))
        .toString('hex')
        .slice(0, digits),
    cwd: process.cwd(),
    signal: stop.signal,
    chooseStop: stop.choose,
    engine: defaultEngine,
    keepSecret: (secret) => void secrets.add(secret),
    stdio: { input: stdin, output: stdout },
    prompt: stdin.isTTY && stderr.isTTY ? createPrompt(stdin, stderr) : undefined,
  };
  const exitCode = await runCli(argv.slice(2), context);
  if (argv[2] === 'airbyte' && crashCode === undefined) {
    await flushStreams([stdout, stderr]);
    dieOfSignal(process, exitCode);
  }
  await exit(() => crashCode ?? exitCode);
}

function toOutputError(cause: Error): StorageError {
  return new StorageError(`the output could not be written: ${cause.message}`, {
    code: 'storage_failed',
    hint: 'Check the free space and permissions where the output goes; nothing is left half done.',
    cause,
  });
}

async function exit(chooseCode: () => ExitCode): Promise<void> {
  // Exiting with text still in a pipe would cut it off.
  await flushStreams([process.stdout, process.stderr]);
  process.exit(chooseCode());
}
