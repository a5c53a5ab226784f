import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { describe, expect, it } from 'vitest';
import { describeLosses } from '../../src/telemetry/losses.ts';
import { SpanSender } from '../../src/telemetry/span-sender.ts';

function makeSpan(isSampled = true): ReadableSpan {
  return { spanContext: () => ({ traceFlags: isSampled ? 1 : 0 }) } as unknown as ReadableSpan;
}

/** An exporter that keeps the sizes of what it is given; `answer` settles each message. */
function createExporter(answer: (settle: (error?: Error) => void) => void) {
  const sizes: number[] = [];
  let atOnce = 0;
  let mostAtOnce = 0;
  const exporter: SpanExporter = {
    export(spans, onResult) {
      sizes.push(spans.length);
      atOnce += 1;
      mostAtOnce = Math.max(mostAtOnce, atOnce);
      answer((error) => {
        atOnce -= 1;
        onResult(error === undefined ? { code: 0 } : { code: 1, error });
      });
    },
    shutdown: () => Promise.resolve(),
  };
  return { exporter, sizes, readMostAtOnce: () => mostAtOnce };
}

function countSpans(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total + size, 0);
}

describe('spans', () => {
  it('of 10,000 requests all arrive, one message after the other, even if the receiver is slow', async () => {
    const { exporter, sizes, readMostAtOnce } = createExporter((settle) => setImmediate(settle));
    const sender = new SpanSender(exporter);
    for (let n = 0; n < 10_000; n += 1) sender.onEnd(makeSpan());
    expect(sender.left).toBe(10_000);
    await sender.forceFlush();
    expect(countSpans(sizes)).toBe(10_000);
    expect(readMostAtOnce()).toBe(1);
    expect(sender.takeLosses()).toEqual({ spans: 0, because: undefined });
  });

  it('are sent while the run goes on, and the rest at its end', async () => {
    const { exporter, sizes } = createExporter((settle) => settle());
    const sender = new SpanSender(exporter);
    for (let n = 0; n < 600; n += 1) sender.onEnd(makeSpan());
    expect(sizes[0]).toBe(512);
    await sender.shutdown();
    expect(countSpans(sizes)).toBe(600);
  });

  it('that are not sampled are not sent', async () => {
    const { exporter, sizes } = createExporter((settle) => settle());
    const sender = new SpanSender(exporter);
    sender.onEnd(makeSpan(false));
    await sender.forceFlush();
    expect(sizes).toEqual([]);
  });

  it('that were refused are counted, with the cause', async () => {
    const sender = new SpanSender(createExporter((settle) => settle(new Error('403 Forbidden'))).exporter);
    for (let n = 0; n < 3; n += 1) sender.onEnd(makeSpan());
    await sender.forceFlush();
    expect(sender.takeLosses()).toEqual({ spans: 3, because: '403 Forbidden' });
    expect(sender.takeLosses()).toEqual({ spans: 0, because: undefined });
  });

  it('fill no more memory than 16,384 of them, and what is dropped is counted', () => {
    const sender = new SpanSender(createExporter(() => undefined).exporter);
    for (let n = 0; n < 20_000; n += 1) sender.onEnd(makeSpan());
    expect(sender.left).toBe(16_384 + 512);
    expect(sender.takeLosses().spans).toBe(20_000 - 16_384 - 512);
  });
});

describe('what was lost', () => {
  it('is one warning, without control characters', () => {
    const lost = { spans: 2, because: 'no\u001b[31m' };
    expect(describeLosses(lost, { metrics: true })).toBe(
      'OpenTelemetry: 2 spans and the metrics could not be sent (no [31m); the data is not affected. Check OTEL_EXPORTER_OTLP_ENDPOINT.',
    );
    expect(describeLosses({ spans: 0, because: undefined }, { metrics: false })).toBeUndefined();
  });
});
