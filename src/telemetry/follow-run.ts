import type * as otel from '@opentelemetry/api';
import type { Context, HrTime, Span, TimeInput, Tracer } from '@opentelemetry/api';
import type { Clock } from '../model/clock.ts';
import type { RunObserver } from '../model/run-observer.ts';
import type { FollowedRun } from '../model/telemetry.ts';
import { beginTrace, type Traced } from './run-trace.ts';
import type { Attributes, SpanStep } from './span-step.ts';
import { traceEnd } from './trace-end.ts';
import { traceEvent } from './trace-run.ts';

/** What spans are made with. */
export interface SpanTools {
  readonly api: typeof otel;
  readonly tracer: Tracer;
  /** What a run's own span is below. */
  readonly parent: Context;
  readonly clock: Clock;
  /** Hides secrets in a text. */
  readonly mask: (text: string) => string;
  /** Called after each span. */
  readonly onSpan?: (() => void) | undefined;
}

/** Makes the spans of a run that begins now. */
export function followRunWith(tools: SpanTools, { account, token }: FollowedRun): RunObserver {
  const { clock } = tools;
  const spans = new RunSpans(tools);
  let trace = beginTrace({ account, token, startedAtMs: clock.now() });
  const apply = (traced: Traced) => {
    ({ trace } = traced);
    for (const step of traced.steps) spans.apply(step);
  };
  return {
    name: 'OpenTelemetry',
    onEvent(event) {
      apply(traceEvent(trace, event, clock.now()));
    },
    onEnd(ended) {
      apply(traceEnd(trace, ended, clock.now()));
      return Promise.resolve([]);
    },
  };
}

/** The spans of a run that are open, at the SDK. */
class RunSpans {
  readonly #tools: SpanTools;
  readonly #open = new Map<number, { readonly span: Span; readonly isRequest: boolean }>();

  constructor(tools: SpanTools) {
    this.#tools = tools;
  }

  apply(step: SpanStep): void {
    if (step.kind === 'begin') {
      this.#begin(step);
      return;
    }
    const open = this.#open.get(step.span);
    if (open === undefined) return;
    const { span, isRequest } = open;
    const attributes = this.#describe(step.attributes, isRequest);
    if (step.kind === 'event') {
      span.addEvent(step.name, attributes, toTime(step.atMs));
      return;
    }
    const { error, atMs } = step;
    span.setAttributes(attributes);
    if (error !== undefined) {
      const message = error.message === undefined ? {} : { message: this.#tools.mask(error.message) };
      span.setAttribute('error.type', error.type);
      span.setStatus({ code: this.#tools.api.SpanStatusCode.ERROR, ...message });
    }
    span.end(toTime(atMs));
    this.#open.delete(step.span);
    this.#tools.onSpan?.();
  }

  #begin({ span, parent, name, role, atMs, attributes }: SpanStep & { readonly kind: 'begin' }): void {
    const { api, tracer, parent: outer } = this.#tools;
    const above = parent === undefined ? undefined : this.#open.get(parent)?.span;
    const context = above === undefined ? outer : api.trace.setSpan(outer, above);
    const isRequest = role === 'client';
    const kind = isRequest ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL;
    const options = { kind, startTime: toTime(atMs), attributes: this.#describe(attributes, isRequest) };
    this.#open.set(span, { span: tracer.startSpan(name, options, context), isRequest });
  }

  /** Attributes that have a value. Those of requests have no text of their own: their path is masked where it comes from. */
  #describe(attributes: Attributes, isRequest: boolean): Record<string, string | number | boolean> {
    const { mask } = this.#tools;
    const described: Record<string, string | number | boolean> = {};
    for (const [name, value] of Object.entries(attributes))
      if (value !== undefined)
        described[name] = typeof value === 'string' && !isRequest ? mask(value) : value;
    return described;
  }
}

// As a number, a time before the process was started would be taken for one since then.
function toTime(ms: number): TimeInput {
  const seconds = Math.floor(ms / 1_000);
  const time: HrTime = [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
  return time;
}
