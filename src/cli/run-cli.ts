import type { ExitCode, SyncError } from '../model/errors.ts';
import { toSyncError } from '../model/errors.ts';
import type { CommandOutcome } from './frame/command.ts';
import type { CommandEntry } from './commands.ts';
import { commands } from './commands.ts';
import type { CliContext } from './frame/context.ts';
import { parseCommandLine } from './parse-command-line.ts';
import { findCommandAt } from './options/option-words.ts';
import { speaksProtocol, withoutJson } from './protocol-commands.ts';
import { wantsJson, wantsJsonLog } from './options/wants-json.ts';
import { toReportedError } from '../model/run-report.ts';
import { renderError } from '../render/render-error.ts';
import { globalOptions } from './options/global-options.ts';
import { nameConfigIn } from './name-config.ts';
import { warnOfMistypedTwins } from './options/mistyped-twins.ts';
import { writeJson } from '../render/write-json.ts';
import { writeErrorLine, writeLogLine } from '../render/write-log-line.ts';

/** Runs one command line and returns its exit code; never throws, never exits. */
export async function runCli(
  argv: readonly string[],
  given: CliContext,
  available: readonly CommandEntry[] = commands,
): Promise<ExitCode> {
  // The programs that start the others have their own way to name a config.
  const named = available.filter(({ speaksProtocol }) => speaksProtocol !== true).map(({ name }) => name);
  const context = nameConfigIn(given, argv, named);
  const printer = createPrinter(argv, context, available);
  try {
    const { stdout, stderr } = context.output;
    const columns = stdout.columns() ?? stderr.columns();
    const parsed = await parseCommandLine(argv, available, columns, printer.name);
    switch (parsed.kind) {
      case 'help': {
        if (parsed.asked) return printer.print('help', toTextOutcome(parsed.text));
        // A script that calls sluice without a command is wrong, so its stdout stays empty.
        const isTold = !printer.isJson() && !wantsJsonLog(argv, context.env);
        if (isTold) context.output.writeNote(parsed.text);
        return printer.fail(undefined, await missingCommand(), { isToldAlready: isTold });
      }
      case 'version':
        return printer.print('version', toTextOutcome(`${await context.engine.readVersion()}\n`));
      case 'run': {
        const { name, command, flags, argument } = parsed;
        const own = [...Object.values(globalOptions), ...command.options];
        const listOthers = () => listEveryOption(available);
        for (const warning of await warnOfMistypedTwins(context.env, own, listOthers)) printer.warn(warning);
        const announce = (outcome: CommandOutcome) => void printer.print(name, outcome);
        const world = speaksProtocol(name, available) ? withoutJson(name, flags, context) : context;
        return printer.print(name, await command.run(world, { flags, argument, announce }));
      }
    }
  } catch (thrown) {
    return printer.fail(undefined, toSyncError(thrown), { isToldAlready: false });
  }
}

/** Prints at most one result; with `--json`, only the exit code can follow it. */
function createPrinter(
  argv: readonly string[],
  { output, env, clock }: CliContext,
  available: readonly CommandEntry[],
) {
  const isAsked = wantsJson(argv, env);
  let isJson = isAsked && !speaksProtocol(argv[findCommandAt(argv)], available);
  const isJsonLog = wantsJsonLog(argv, env);
  let current: string | undefined;
  let isPrinted = false;

  function print(command: string | undefined, outcome: CommandOutcome): ExitCode {
    if (isJson && !isPrinted) output.writeResult(buildEnvelope(command, outcome, output.mask));
    if (!isJson && outcome.text !== '') {
      const text = showsAsIs(command, outcome) ? outcome.text : output.mask(outcome.text);
      output.writeResult(text.endsWith('\n') ? text : `${text}\n`);
    }
    isPrinted = true;
    return outcome.exitCode;
  }

  function fail(
    command: string | undefined,
    error: SyncError,
    { isToldAlready }: { readonly isToldAlready: boolean },
  ): ExitCode {
    if (!isToldAlready) {
      output.writeNote(isJsonLog ? writeErrorLine(error, clock.now()) : renderError(error, output.stderr));
    }
    const { exitCode, message } = error;
    const outcome = { exitCode, summary: message, result: null, text: '', error: toReportedError(error) };
    return print(command ?? current, outcome);
  }

  function warn(message: string): void {
    output.writeNote(isJsonLog ? writeLogLine('warn', message, clock.now()) : `warning: ${message}`);
  }

  function name(command: string): void {
    current = command;
    isJson = isAsked && !speaksProtocol(command, available);
  }

  return { isJson: () => isJson, print, fail, warn, name };
}

/** The one object of `--json`, always with the same six members. */
function buildEnvelope(
  command: string | undefined,
  outcome: CommandOutcome,
  mask: (text: string) => string,
): string {
  const { exitCode, summary, result, error } = outcome;
  const isOk = exitCode === 0;
  const envelope = {
    command: command ?? null,
    ok: isOk,
    exitCode,
    summary,
    result,
    error:
      isOk || error === undefined ? null : { code: error.code, message: error.message, hint: error.hint },
  };
  const text = `${writeJson(envelope)}\n`;
  return showsAsIs(command, outcome) ? text : mask(text);
}

/** Rows of a query are the user's data, and a simulator prints its own key: these results are not masked. */
function showsAsIs(command: string | undefined, { exitCode }: CommandOutcome): boolean {
  return exitCode === 0 && (command === 'query' || command === 'simulate');
}

async function listEveryOption(available: readonly CommandEntry[]) {
  const loaded = await Promise.all(available.map(({ load }) => load()));
  return loaded.flatMap(({ options }) => options);
}

function toTextOutcome(text: string): CommandOutcome {
  return { exitCode: 0, summary: text.trim(), result: { text }, text };
}

async function missingCommand(): Promise<SyncError> {
  const { usageError } = await import('./options/usage-error.ts');
  return usageError('no command was given', 'See sluice --help; to try it: sluice demo');
}
