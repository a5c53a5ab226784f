import type { AccountEnd, AccountEvent } from '../../model/accounts-report.ts';
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
