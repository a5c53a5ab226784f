import type { CommandOutcome } from './frame/command.ts';
import { writeJson } from './render/write-json.ts';

/** The one object of `--json`, always with the same six members. */
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

/** Rows of a query are the user's data, and a simulator prints its own key: these results are not masked. */
export function showsAsIs(command: string | undefined, { exitCode }: CommandOutcome): boolean {
  return exitCode === 0 && (command === 'query' || command === 'simulate');
}
