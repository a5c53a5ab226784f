import type { CommandOutcome } from '../command.ts';
import { writeJson } from './write-json.ts';

/** The one object of `--json`: always the same six members. */
export function buildEnvelope(
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

/** Rows of a query are the user's data, and a simulator tells its own key: these results stay as they are. */
export function showsAsIs(command: string | undefined, { exitCode }: CommandOutcome): boolean {
  return exitCode === 0 && (command === 'query' || command === 'simulate');
}
