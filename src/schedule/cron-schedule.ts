import { Cron } from 'croner';
import { ConfigError } from '../model/errors.ts';

/** The times of a cron expression in a time zone. */
export interface CronSchedule {
  readonly expression: string;
  /** IANA name. */
  readonly timezone: string;
  /** The first time after `afterMs` (both epoch ms); undefined when none is left. */
  next(afterMs: number): number | undefined;
}

const MACROS = ['@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually'];

/**
 * Reads five cron fields (minute, hour, day of month, month, day of week), or a name such as `@daily`;
 * without a time zone they are the machine's own. Throws a ConfigError (2) for an invalid expression or one
 * that never matches.
 */
export function parseCron(expression: string, timezone: string | undefined, nowMs: number): CronSchedule {
  const text = expression.trim().replaceAll(/\s+/g, ' ');
  const zone = readTimezone(timezone);
  const isMacro = MACROS.includes(text.toLowerCase());
  if (!isMacro && text.split(' ').length !== 5)
    throw refuse(`--cron ${JSON.stringify(expression)} is not a cron expression: it needs five fields`);
  const cron = readCron(text, zone);
  const next = (afterMs: number) => cron.nextRun(new Date(afterMs))?.getTime();
  if (next(nowMs) === undefined) throw refuse(`--cron ${JSON.stringify(expression)} never matches any date`);
  return { expression: text, timezone: zone, next };
}

function readCron(text: string, timezone: string): Cron {
  try {
    return new Cron(text, { timezone, mode: '5-part', paused: true });
  } catch (thrown) {
    const cause = thrown instanceof Error ? thrown.message.replace(/^CronPattern: /, '') : String(thrown);
    throw refuse(`--cron ${JSON.stringify(text)} is not a cron expression: ${cause}`, thrown);
  }
}

function readTimezone(timezone: string | undefined): string {
  try {
    const format = new Intl.DateTimeFormat('en', timezone === undefined ? {} : { timeZone: timezone });
    return format.resolvedOptions().timeZone;
  } catch (cause) {
    throw new ConfigError(`--timezone ${JSON.stringify(timezone)} is not a time zone`, {
      code: 'usage_invalid',
      hint: 'Give an IANA name, e.g. --timezone Europe/Berlin, or UTC. Nothing was requested.',
      cause,
    });
  }
}

function refuse(message: string, cause?: unknown): ConfigError {
  return new ConfigError(message, {
    code: 'usage_invalid',
    hint: "Minute, hour, day, month, day of week, e.g. --cron '0 6 * * *' for every day at six. Nothing was requested.",
    ...(cause !== undefined && { cause }),
  });
}
