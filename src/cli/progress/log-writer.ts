import { pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { toSafeLine } from '../render/safe-text.ts';
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

/** Makes a writer of log lines for people or machines; it writes at once, so that nothing is lost on exit. */
export function createLogWriter(options: LogOptions): LogWriter {
  const logger = pino(
    {
      level: options.level,
      // Neither process id nor host name: the runner's log knows both.
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
  // The factory formats in this thread; pino's own transport would be a worker that an exit cuts off.
  const prettify = prettyFactory({
    colorize: colours,
    hideObject: true,
    translateTime: "UTC:yyyy-mm-dd'T'HH:MM:ss'Z'",
    levelLabel: 'level',
  });
  return (line) => write(prettify(line).trimEnd());
}
