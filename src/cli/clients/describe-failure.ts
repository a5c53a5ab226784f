import type { ShownFailure } from '../../clients/airbyte-messages.ts';
import type { ReportedError } from '../../model/run-report.ts';

/** A failure as platforms show it: what to do is part of the message. */
export function describeFailure({ message, hint, code, exitCode }: ReportedError): ShownFailure {
  return {
    message: `${message}\n${hint}`,
    internal: `${code}, exit code ${exitCode}`,
    type: chooseType(exitCode),
  };
}

function chooseType(exitCode: ReportedError['exitCode']): ShownFailure['type'] {
  if (exitCode === 2 || exitCode === 3) return 'config_error';
  return exitCode === 75 ? 'transient_error' : 'system_error';
}
