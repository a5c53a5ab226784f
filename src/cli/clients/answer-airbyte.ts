import { errorMessage } from '../../clients/airbyte-messages.ts';
import { AbortedError, type ExitCode, toSyncError } from '../../model/errors.ts';
import { toReportedError } from '../../model/run-report.ts';
import type { CommandOutcome } from '../frame/command.ts';
import type { CliContext } from '../frame/context.ts';
import { describeFailure } from './describe-failure.ts';
import { createLineWriter, type LineWriter } from './line-writer.ts';

/** Answers in lines of Airbyte's protocol. A failure is a line as well as an exit code: clients look at both. */
export async function answerAirbyte(
  context: CliContext,
  answer: (lines: LineWriter) => Promise<ExitCode>,
): Promise<CommandOutcome> {
  const lines = createLineWriter(context);
  try {
    const exitCode = await answer(lines);
    await lines.finish();
    return toOutcome(exitCode);
  } catch (thrown) {
    const error = toSyncError(thrown);
    if (error instanceof AbortedError) throw error;
    const reported = toReportedError(error);
    try {
      await lines.writeJson(errorMessage(describeFailure(reported), context.clock.now()));
      await lines.finish();
    } catch {
      // Nobody reads the line: it is told on stderr.
      throw error;
    }
    return { ...toOutcome(error.exitCode), error: reported };
  }
}

/** Everything is printed already. */
export function toOutcome(exitCode: ExitCode): CommandOutcome {
  return { exitCode, summary: '', result: null, text: '' };
}
