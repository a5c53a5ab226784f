import type { WorkerEvent } from '../../fleet/worker/worker-events.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { formatDuration } from '../../text/duration.ts';
import type { LogLine } from '../progress/describe-event.ts';

/** The log line of an event of a worker. */
export function describeWorkerEvent(event: WorkerEvent): LogLine {
  switch (event.type) {
    case 'run-started': {
      const { account, token, isTakeover } = event;
      const how = isTakeover ? 'started, after a run that did not end' : 'started';
      return { level: 'info', message: `${account}: ${how}`, fields: { ...event, token } };
    }
    case 'run-ended':
      return describeEnded(event);
    case 'run-lost':
      return {
        level: 'warn',
        message: `${event.account}: the lease was lost, so its run was ended here; another worker continues`,
        fields: event,
      };
    case 'draining': {
      const at =
        event.runs === 0 ? 'no run is at work' : `${formatCountOf(event.runs, 'run')} to be put away`;
      return { level: 'info', message: `stopping: no further account is taken, ${at}`, fields: event };
    }
    case 'warning': {
      const { account, message } = event;
      return {
        level: 'warn',
        message: account === undefined ? message : `${account}: ${message}`,
        fields: event,
      };
    }
    case 'database-away': {
      const { message, hint } = event.error;
      return {
        level: 'error',
        message: `${message}. Runs go on while their leases last; trying again`,
        fields: { type: event.type, message, hint },
      };
    }
    case 'database-back':
      return { level: 'info', message: "the fleet's database answers again", fields: event };
  }
}

function describeEnded(event: Extract<WorkerEvent, { type: 'run-ended' }>): LogLine {
  const { account, token, end, nextInMs, isAccepted, tookMs } = event;
  const { exitCode, report, error, object } = end;
  const fields = {
    type: event.type,
    account,
    token,
    exitCode,
    isAccepted,
    requests: report?.requests ?? null,
    rowsRead: report?.rows.read ?? null,
    objectBytes: object?.bytes ?? null,
    nextInMs: nextInMs ?? null,
    tookMs: Math.round(tookMs),
    ...(error !== undefined && { error }),
  };
  if (!isAccepted)
    return {
      level: 'warn',
      message: `${account}: refused, because another worker has the account: nothing of this run counts`,
      fields,
    };
  const next = nextInMs === undefined ? '' : `, next in ${formatDuration(nextInMs)}`;
  const requests = formatCountOf(report?.requests ?? 0, 'request');
  const took = `${requests}, ${formatDuration(tookMs)}`;
  const what =
    report?.streams.every(({ status }) => status === 'fresh') === true ? 'still fresh' : 'complete';
  if (exitCode === 0) return { level: 'info', message: `${account}: ${what}, ${took}${next}`, fields };
  const isPlanned = exitCode === 75 || exitCode === 143 || exitCode === 130;
  const why =
    error === undefined ? '' : `: ${error.message.replace(/\.$/, '')}${isPlanned ? '' : `. ${error.hint}`}`;
  return {
    level: isPlanned ? 'info' : 'error',
    message: `${account}: exit code ${exitCode}, ${took}${next}${why}`,
    fields,
  };
}
