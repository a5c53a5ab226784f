import type { AccountEnd, AccountEvent } from '../../model/accounts-report.ts';
import type { ReportedError } from '../../model/run-report.ts';
import { withName } from '../../text/name-once.ts';
import { describeWait } from '../../render/describe-wait.ts';
import type { LogLine } from './describe-event.ts';

/** The log line of what happened to an account; a first run tells of itself. */
export function describeAccountEvent(event: AccountEvent, nowMs: number): LogLine | undefined {
  switch (event.type) {
    case 'account-started':
      if (event.run === 1) return undefined;
      return toLine('info', event.account, 'the quota is back: continuing', event);
    case 'account-waiting':
      return toLine('info', event.account, describeWait('hourly-quota', event.untilMs, nowMs), event);
    case 'account-ended':
      return describeEnd(event.end);
  }
}

/** A line of an account's log: its name is in front, and a value of its own for machines. */
export function nameLine(account: string, { level, message, fields }: LogLine): LogLine {
  return { level, message: `${account}: ${message}`, fields: { account, ...fields } };
}

/** Whether a stream was stopped by the quota. */
export function isPause(error: Pick<ReportedError, 'code'> | undefined): boolean {
  return error?.code === 'quota_exhausted';
}

/** A stream that is stopped by the quota is how an account gives its place to another, and not a failure. */
export function calmPause(line: LogLine): LogLine {
  const { type, stream, error } = line.fields as Partial<Record<'type' | 'stream' | 'error', unknown>>;
  if (type !== 'stream-finished' || !isPause(error as ReportedError | undefined)) return line;
  return {
    ...line,
    level: 'info',
    message: `${String(stream)}: the quota is used up; its progress is saved`,
  };
}

/** The end of an account whose cause has a line already. */
export function shortenEnd({ level, fields }: LogLine): LogLine {
  const { account, exitCode } = fields as Partial<Record<'account' | 'exitCode', unknown>>;
  return { level, message: `${String(account)}: not complete, exit code ${String(exitCode)}`, fields };
}

function describeEnd({ account, exitCode, error, report, resumeAt }: AccountEnd): LogLine | undefined {
  const fields = {
    type: 'account-ended',
    account,
    exitCode,
    ...(report !== undefined && { runId: report.runId, requests: report.requests }),
    ...(error !== undefined && { error }),
    ...(resumeAt !== undefined && { resumeAt }),
  };
  if (exitCode === 0) return { level: 'info', message: `${account}: complete`, fields };
  const message = withName(error?.message ?? `exit code ${exitCode}`, account);
  return { level: exitCode === 75 ? 'warn' : 'error', message, fields };
}

function toLine(level: LogLine['level'], account: string, message: string, event: AccountEvent): LogLine {
  return nameLine(account, { level, message, fields: { ...event } });
}
