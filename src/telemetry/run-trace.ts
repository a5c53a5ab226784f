import type { Attributes, SpanError, SpanStep } from './span-step.ts';

/** Whose run is traced. */
export interface TracedRun {
  /** Undefined for a config without accounts. */
  readonly account: string | undefined;
  /** The token of the lease, in a fleet. */
  readonly token: number | undefined;
  readonly startedAtMs: number;
}

/** The spans of a run that are open. */
export interface RunTrace {
  readonly of: TracedRun;
  readonly nextSpan: number;
  readonly run: number | undefined;
  readonly runId: string | undefined;
  readonly stream: { readonly span: number; readonly name: string } | undefined;
  /** Reading, loading or committing the stream. */
  readonly phase: number | undefined;
  /** By destination. */
  readonly publishes: ReadonlyMap<string, number>;
}

/** A trace after a change, and what has to be done to its spans. */
export interface Traced {
  readonly trace: RunTrace;
  readonly steps: readonly SpanStep[];
}

export function beginTrace(of: TracedRun): RunTrace {
  return {
    of,
    nextSpan: 0,
    run: undefined,
    runId: undefined,
    stream: undefined,
    phase: undefined,
    publishes: new Map(),
  };
}

/** Applies changes one after the other. */
export function change(trace: RunTrace, ...changes: readonly ((trace: RunTrace) => Traced)[]): Traced {
  let current = trace;
  const steps: SpanStep[] = [];
  for (const one of changes) {
    const traced = one(current);
    current = traced.trace;
    steps.push(...traced.steps);
  }
  return { trace: current, steps };
}

/** What a span is begun with. */
export interface NewSpan {
  readonly name: string;
  readonly parent: number | undefined;
  readonly atMs: number;
  readonly attributes?: Attributes;
  readonly role?: 'internal' | 'client';
}

/** Begins a span; `keep` notes its number in the trace. */
export function begin(
  trace: RunTrace,
  { name, parent, atMs, attributes = {}, role = 'internal' }: NewSpan,
  keep: (span: number) => Partial<RunTrace>,
): Traced {
  const span = trace.nextSpan;
  return {
    trace: { ...trace, nextSpan: span + 1, ...keep(span) },
    steps: [{ kind: 'begin', span, parent, name, role, atMs, attributes }],
  };
}

/** The run's own span; nothing if it has begun. */
export function beginRun(trace: RunTrace): Traced {
  if (trace.run !== undefined) return { trace, steps: [] };
  const { account, token, startedAtMs: atMs } = trace.of;
  const attributes = { 'sluice.account': account, 'sluice.token': token };
  return begin(trace, { name: 'sluice.run', parent: undefined, atMs, attributes }, (run) => ({ run }));
}

/** How a span ended. */
export interface SpanEnd {
  readonly atMs: number;
  readonly attributes?: Attributes;
  readonly error?: SpanError | undefined;
}

export function endSpan(span: number, { atMs, attributes = {}, error }: SpanEnd): SpanStep {
  return { kind: 'end', span, atMs, attributes, error };
}

/** An event of the innermost span that is open. */
export function note(trace: RunTrace, name: string, atMs: number, attributes: Attributes): Traced {
  const span = innermost(trace);
  return { trace, steps: span === undefined ? [] : [{ kind: 'event', span, name, atMs, attributes }] };
}

export function innermost({ run, stream, phase }: RunTrace): number | undefined {
  return phase ?? stream?.span ?? run;
}
