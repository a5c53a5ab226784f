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
  // Rows of a query are the user's data and stay as they are.
  return command === 'query' && isOk ? text : mask(text);
}
