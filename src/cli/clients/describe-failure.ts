import type { ShownFailure } from '../../clients/airbyte-messages.ts';
import type { ReportedError } from '../../model/run-report.ts';

/** A limit that ended a read before its streams were whole, in one line and in the words of a connection config. */
export function describeLimit({ message, hint }: Pick<ReportedError, 'message' | 'hint'>): string {
  return inWordsOfConnection(`${message}. ${hint}`);
}

/** What a command calls --max-wait is a key of the connection. */
function inWordsOfConnection(text: string): string {
  return text
    .replaceAll(' with --max-wait', ' with max_wait in the connection config')
    .replaceAll(' with --deadline', ' with deadline in the connection config');
}

/** A failure as platforms show it: what to do is part of the message. */
export function describeFailure({ message, hint, code, exitCode }: ReportedError): ShownFailure {
  return {
    message: inWordsOfConnection(`${message}\n${hint}`),
    internal: `${code}, exit code ${exitCode}`,
    type: chooseType(exitCode),
  };
}

function chooseType(exitCode: ReportedError['exitCode']): ShownFailure['type'] {
  if (exitCode === 2 || exitCode === 3) return 'config_error';
  return exitCode === 75 ? 'transient_error' : 'system_error';
}
