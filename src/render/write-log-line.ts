import type { SyncError } from '../model/errors.ts';
import { BugError } from '../model/errors.ts';
import { toSafeLine } from './safe-text.ts';
import { writeJson } from './write-json.ts';

/** A line like those of `--log-format json`, for messages when no log is open. */
export function writeLogLine(
  level: 'info' | 'warn' | 'error',
  message: string,
  nowMs: number,
  fields: Readonly<Record<string, unknown>> = {},
): string {
  return writeJson({ level, time: new Date(nowMs).toISOString(), ...fields, msg: toSafeLine(message) });
}

/** An error as such a line. */
export function writeErrorLine(error: SyncError, nowMs: number): string {
  const { code, hint, exitCode } = error;
  const origin = error.cause instanceof Error ? error.cause : error;
  const stack = error instanceof BugError ? { stack: origin.stack } : {};
  return writeLogLine('error', error.message, nowMs, { code, hint, exitCode, ...stack });
}
