import { pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { toSafeLine } from '../../render/safe-text.ts';
import type { LogLevel } from '../options/global-options.ts';
import type { LogLine } from './describe-event.ts';

/** Writes log lines somewhere. */
export type LogWriter = (line: LogLine) => void;

/** How log lines are written. */
export interface LogOptions {
  readonly level: LogLevel;
  readonly format: 'pretty' | 'json';
  readonly colours: boolean;
  readonly now: () => number;
  /** Takes one line without its newline. */
  readonly write: (line: string) => void;
}

/**
 * Creates a writer of log lines for people or machines. It writes synchronously, so that nothing is lost on
 * exit.
 */
export function createLogWriter(options: LogOptions): LogWriter {
  const logger = pino(
    {
      level: options.level,
      // Leaves out process id and host name, which the job runner's log already has.
      base: null,
      timestamp: () => `,"time":"${new Date(options.now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: options.format === 'json' ? writePlain(options) : writePretty(options) },
  );
  return ({ level, message, fields }) => logger[level](fields, toSafeLine(message));
}

function writePlain({ write }: LogOptions): (line: string) => void {
  return (line) => write(line.trimEnd());
}

function writePretty({ write, colours }: LogOptions): (line: string) => void {
  // Formats in this thread; pino's own transport is a worker, which an exit would cut off.
  const prettify = prettyFactory({
    colorize: colours,
    hideObject: true,
    translateTime: "UTC:yyyy-mm-dd'T'HH:MM:ss'Z'",
    levelLabel: 'level',
  });
  return (line) => write(prettify(line).trimEnd());
}
