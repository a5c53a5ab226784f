import type { SentRequest } from '../model/sent-request.ts';
import { begin, change, endSpan, innermost, note, type RunTrace, type Traced } from './run-trace.ts';
import type { Attributes } from './span-step.ts';

const FIRST_ERROR_STATUS = 400;

/** The span of a request, which has ended; a retry is an event of the scan, too. */
export function traceRequest(trace: RunTrace, sent: SentRequest): Traced {
  const { startedAtMs, endedAtMs, attempt, outcome } = sent;
  const { status, fault } = outcome;
  const isFailed = status === undefined || status >= FIRST_ERROR_STATUS;
  const retry = { 'http.request.resend_count': attempt - 1, 'url.path': sent.path };
  return change(
    trace,
    (now) => (attempt > 1 ? note(now, 'sluice.retry', startedAtMs, retry) : { trace: now, steps: [] }),
    (now) => {
      const span = {
        parent: innermost(now),
        atMs: startedAtMs,
        attributes: describeRequest(sent, now.of.account),
      };
      return begin(now, { name: 'http GET', role: 'client', ...span }, () => ({}));
    },
    (now) => ({
      trace: now,
      steps: [
        endSpan(now.nextSpan - 1, {
          atMs: endedAtMs,
          attributes: { 'http.response.status_code': status },
          // The conventions of HTTP: the status, or the kind of the fault; its text may be the server's.
          error: isFailed ? { type: fault ?? String(status), message: undefined } : undefined,
        }),
      ],
    }),
  );
}

function describeRequest(sent: SentRequest, account: string | undefined): Attributes {
  const { stream, server, port, path, offset, attempt, quotaWaitMs } = sent;
  return {
    'http.request.method': 'GET',
    'server.address': server,
    'server.port': port,
    'url.path': path,
    'http.request.resend_count': attempt > 1 ? attempt - 1 : undefined,
    'sluice.account': account,
    'sluice.stream': stream,
    'sluice.offset': offset,
    'sluice.quota_wait_ms': quotaWaitMs,
  };
}
