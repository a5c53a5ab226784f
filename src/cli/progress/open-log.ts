import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { LogWriter } from './log-writer.ts';

/** Writes what went wrong beside a run, a line each. */
export function logWarnings(log: LogWriter, warnings: readonly string[]): void {
  for (const message of warnings) log({ level: 'warn', message, fields: { type: 'warning', message } });
}

/** Opens the log that `--log-format` and `--log-level` ask for. */
export async function openLog({ output, clock }: CliContext, globals: GlobalValues): Promise<LogWriter> {
  const { createLogWriter } = await import('./log-writer.ts');
  return createLogWriter({
    level: globals.logLevel ?? 'info',
    format: globals.logFormat ?? 'pretty',
    colours: output.stderr.hasColours,
    now: () => clock.now(),
    write: output.writeNote,
  });
}
