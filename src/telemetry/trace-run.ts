import type { ProgressEvent } from '../model/progress.ts';
import { begin, beginRun, change, endSpan, note, type RunTrace, type Traced } from './run-trace.ts';
import { describeStream } from './trace-end.ts';
import { traceRequest } from './trace-request.ts';

type EventOf<Type extends ProgressEvent['type']> = Extract<ProgressEvent, { readonly type: Type }>;

/** The trace after an event that came at `atMs`. */
export function traceEvent(trace: RunTrace, event: ProgressEvent, atMs: number): Traced {
  return change(trace, beginRun, (now) => follow(now, event, atMs));
}

/** Ends what is being done to the stream. */
function endPhase(trace: RunTrace, atMs: number, code?: string): Traced {
  if (trace.phase === undefined) return { trace, steps: [] };
  const error = code === undefined ? undefined : { type: code, message: undefined };
  return { trace: { ...trace, phase: undefined }, steps: [endSpan(trace.phase, { atMs, error })] };
}

function follow(trace: RunTrace, event: ProgressEvent, atMs: number): Traced {
  switch (event.type) {
    case 'run-started':
      return { trace: { ...trace, runId: event.runId }, steps: [] };
    case 'stream-started':
      return startStream(trace, event, atMs);
    case 'stream-resumed':
      return note(trace, 'sluice.pages_resumed', atMs, {
        'sluice.pages': event.pagesHeld,
        'sluice.rows': event.rowsHeld,
      });
    case 'stream-restarted':
      return change(
        trace,
        (now) => note(now, 'sluice.restart', atMs, { 'sluice.reason': event.reason }),
        (now) => beginPhase(now, 'sluice.scan', atMs),
      );
    case 'request-ended':
      return traceRequest(trace, event);
    case 'stream-loading':
      return beginPhase(trace, 'sluice.load', atMs);
    case 'stream-committing':
      return beginPhase(trace, 'sluice.commit', atMs);
    case 'stream-committed':
      return endPhase(trace, atMs);
    case 'stream-finished':
      return finishStream(trace, event, atMs);
    case 'waiting':
      return note(trace, 'sluice.wait', atMs, {
        'sluice.reason': event.reason,
        'sluice.until': new Date(event.untilMs).toISOString(),
      });
    case 'resumed':
      return note(trace, 'sluice.wait_over', atMs, {});
    case 'publishing':
      return beginPublish(trace, event.path, atMs);
    case 'published':
      return endPublish(trace, event.path, { atMs, attributes: { 'sluice.bytes': event.bytes } });
    case 'publish-failed':
      return endPublish(trace, event.path, { atMs, error: { type: event.code, message: undefined } });
    default:
      return { trace, steps: [] };
  }
}

/** A stream begins, or begins again in another way. */
function startStream(trace: RunTrace, event: EventOf<'stream-started'>, atMs: number): Traced {
  const { stream: name, mode, from } = event;
  const how = { 'sluice.mode': mode, 'sluice.from': from };
  if (trace.stream?.name === name)
    return change(
      trace,
      (now) => note(now, 'sluice.restart', atMs, how),
      (now) => beginPhase(now, 'sluice.scan', atMs, how),
    );
  return change(
    trace,
    (now) => openStream(now, name, atMs),
    (now) => beginPhase(now, 'sluice.scan', atMs, how),
  );
}

function openStream(trace: RunTrace, name: string, atMs: number): Traced {
  const attributes = { 'sluice.account': trace.of.account, 'sluice.stream': name };
  return begin(trace, { name: 'sluice.stream', parent: trace.run, atMs, attributes }, (span) => ({
    stream: { span, name },
  }));
}

/** Begins to read, load or commit a stream; what was done to it before has ended. */
function beginPhase(trace: RunTrace, name: string, atMs: number, attributes = {}): Traced {
  return change(
    trace,
    (now) => endPhase(now, atMs),
    (now) => {
      const parent = now.stream?.span ?? now.run;
      const all = { 'sluice.account': now.of.account, 'sluice.stream': now.stream?.name, ...attributes };
      return begin(now, { name, parent, atMs, attributes: all }, (phase) => ({ phase }));
    },
  );
}

/** One that was fresh had no span yet: it gets one without a length. */
function finishStream(trace: RunTrace, { report }: EventOf<'stream-finished'>, atMs: number): Traced {
  return change(
    trace,
    (now) => endPhase(now, atMs, report.error?.code),
    (now) => (now.stream === undefined ? openStream(now, report.stream, atMs) : { trace: now, steps: [] }),
    (now) => ({
      trace: { ...now, stream: undefined },
      steps: now.stream === undefined ? [] : [endSpan(now.stream.span, describeStream(report, atMs))],
    }),
  );
}

function beginPublish(trace: RunTrace, path: string, atMs: number): Traced {
  const attributes = { 'sluice.account': trace.of.account, 'sluice.destination': path };
  return change(
    trace,
    (now) => endPublish(now, path, { atMs }),
    (now) =>
      begin(now, { name: 'sluice.publish', parent: now.run, atMs, attributes }, (span) => ({
        publishes: new Map([...now.publishes, [path, span]]),
      })),
  );
}

function endPublish(trace: RunTrace, path: string, end: Parameters<typeof endSpan>[1]): Traced {
  const span = trace.publishes.get(path);
  if (span === undefined) return { trace, steps: [] };
  const publishes = new Map([...trace.publishes].filter(([one]) => one !== path));
  return { trace: { ...trace, publishes }, steps: [endSpan(span, end)] };
}
