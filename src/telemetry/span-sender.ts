import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import { type Losses, noLosses } from './losses.ts';

/** Spans of one message. */
const BATCH = 512;
/** Spans that wait for a receiver that is slow or away; a scan of 10,000 requests fits. */
const MOST_WAITING = 16_384;
const SAMPLED = 1;

/**
 * Sends spans in batches, one after the other, and counts those that were lost. The batch processor of the SDK keeps 2,048
 * and drops the rest without a word.
 */
export class SpanSender implements SpanProcessor {
  readonly #exporter: SpanExporter;
  #waiting: ReadableSpan[] = [];
  #inFlight = 0;
  #sending: Promise<void> | undefined;
  #losses = noLosses;

  constructor(exporter: SpanExporter) {
    this.#exporter = exporter;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & SAMPLED) === 0) return;
    if (this.#waiting.length >= MOST_WAITING) {
      this.#lose(1, undefined);
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= BATCH) void this.forceFlush();
  }

  /** Resolves once everything was sent, or lost. */
  forceFlush(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = undefined));
    return this.#sending;
  }

  async shutdown(): Promise<void> {
    await this.forceFlush();
    await this.#exporter.shutdown();
  }

  /** Spans that were not sent yet. */
  get left(): number {
    return this.#waiting.length + this.#inFlight;
  }

  /** What was lost since the last call. */
  takeLosses(): Losses {
    const losses = this.#losses;
    this.#losses = noLosses;
    return losses;
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, BATCH);
      this.#waiting = this.#waiting.slice(BATCH);
      this.#inFlight = batch.length;
      const failure = await this.#send(batch);
      this.#inFlight = 0;
      if (failure !== undefined) this.#lose(batch.length, failure);
    }
  }

  /** Why a batch was not taken; undefined if it was. */
  #send(batch: ReadableSpan[]): Promise<string | undefined> {
    return new Promise((resolve) => {
      try {
        this.#exporter.export(batch, ({ code, error }) => {
          resolve(Number(code) === 0 ? undefined : (error?.message ?? 'the receiver did not take them'));
        });
      } catch (thrown) {
        resolve(thrown instanceof Error ? thrown.message : String(thrown));
      }
    });
  }

  #lose(spans: number, because: string | undefined): void {
    this.#losses = { spans: this.#losses.spans + spans, because: because ?? this.#losses.because };
  }
}
