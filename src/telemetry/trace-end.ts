import type { EndedRun } from '../model/run-observer.ts';
import { type ReportedError, type StreamReport, toReportedError } from '../model/run-report.ts';
import { beginRun, change, endSpan, type RunTrace, type SpanEnd, type Traced } from './run-trace.ts';
import type { SpanError } from './span-step.ts';

// What was stopped, and what waits for its quota, goes on in the next run: nothing failed.
const PAUSES: readonly number[] = [75, 130, 143];

/** Ends the run, and what it left open. One that was refused has this span alone. */
export function traceEnd(trace: RunTrace, ended: EndedRun, atMs: number): Traced {
  return change(trace, beginRun, (now) => endAll(now, ended, atMs));
}

function endAll(trace: RunTrace, ended: EndedRun, atMs: number): Traced {
  const { phase, stream, run, publishes } = trace;
  const left = [...publishes.values(), phase, stream?.span].filter((span) => span !== undefined);
  const steps = left.map((span) => endSpan(span, { atMs }));
  return {
    trace: { ...trace, phase: undefined, stream: undefined, run: undefined, publishes: new Map() },
    steps: run === undefined ? steps : [...steps, endSpan(run, describeEnd(trace, ended, atMs))],
  };
}

function describeEnd({ runId }: RunTrace, { report, error }: EndedRun, atMs: number): SpanEnd {
  if (report === undefined) {
    const { exitCode } = error;
    const attributes = { 'sluice.run_id': runId, 'sluice.exit_code': exitCode, 'sluice.status': 'failed' };
    return { atMs, attributes, error: toSpanError(toReportedError(error)) };
  }
  const { exitCode, rows } = report;
  const cause = report.error ?? report.streams.find((one) => one.error !== undefined)?.error;
  return {
    atMs,
    attributes: {
      'sluice.run_id': report.runId,
      'sluice.exit_code': exitCode,
      'sluice.status': report.status,
      'sluice.requests': report.requests,
      'sluice.retries': report.retries,
      'sluice.rate_limited': report.rateLimited,
      'sluice.waited_ms': report.waitedMs,
      'sluice.rows_read': rows.read,
    },
    error:
      exitCode === 0 || PAUSES.includes(exitCode)
        ? undefined
        : (toSpanError(cause) ?? { type: `exit_code_${exitCode}`, message: undefined }),
  };
}

/** How the span of a stream ends. */
export function describeStream(report: StreamReport, atMs: number): SpanEnd {
  const { rows, error } = report;
  return {
    atMs,
    attributes: {
      'sluice.stream': report.stream,
      'sluice.slice': report.slice === '' ? undefined : report.slice,
      'sluice.status': report.status,
      'sluice.verdict': report.verdict,
      'sluice.mode': report.mode,
      'sluice.pages': report.pages,
      'sluice.requests': report.requests,
      'sluice.rows_read': rows.read,
      'sluice.rows_inserted': rows.inserted,
      'sluice.rows_updated': rows.updated,
      'sluice.rows_deleted': rows.deleted,
      'sluice.rows_quarantined': rows.quarantined,
    },
    // It is not in the customer's plan, which is not a failure of the run either.
    error: report.status === 'unavailable' ? undefined : toSpanError(error),
  };
}

function toSpanError(error: ReportedError | undefined): SpanError | undefined {
  if (error === undefined || PAUSES.includes(error.exitCode)) return undefined;
  return { type: error.code, message: error.message };
}
