import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';

type Value = string | number | boolean | undefined;

/** A span as it was sent. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  /** Undefined for a span that is not an error. */
  readonly error: { readonly message: string | undefined } | undefined;
  readonly attributes: Readonly<Record<string, Value>>;
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, Value>> }[];
  readonly durationMs: number;
  /** Of who sent it. */
  readonly resource: Readonly<Record<string, Value>>;
}

/** A sample of a metric as it was sent. */
export interface ReceivedSample {
  readonly name: string;
  readonly kind: 'gauge' | 'counter';
  readonly value: number;
  readonly labels: Readonly<Record<string, Value>>;
}

/** What takes OTLP over HTTP, in JSON. */
export interface OtlpReceiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  readonly spans: readonly ReceivedSpan[];
  /** Those of the last message. */
  readonly samples: readonly ReceivedSample[];
  /** Everything that was sent: path, type, body. */
  readonly messages: readonly { readonly path: string; readonly type: string; readonly body: Buffer }[];
  close(): Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly intValue?: number | string;
    readonly doubleValue?: number;
    readonly boolValue?: boolean;
  };
}

interface Scoped {
  readonly resource: { readonly attributes: readonly Attribute[] };
  readonly scopeSpans?: readonly { readonly spans: readonly RawSpan[] }[];
  readonly scopeMetrics?: readonly { readonly metrics: readonly RawMetric[] }[];
}

interface RawSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code?: number; readonly message?: string };
  readonly attributes: readonly Attribute[];
  readonly events: readonly { readonly name: string; readonly attributes: readonly Attribute[] }[];
}

interface RawMetric {
  readonly name: string;
  readonly sum?: { readonly dataPoints: readonly RawPoint[] };
  readonly gauge?: { readonly dataPoints: readonly RawPoint[] };
}

interface RawPoint {
  readonly attributes: readonly Attribute[];
  readonly asDouble?: number;
  readonly asInt?: number | string;
}

const STATUS_ERROR = 2;

/** Starts a receiver on a free port. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const messages: { readonly path: string; readonly type: string; readonly body: Buffer }[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      messages.push({ path: request.url ?? '', type: request.headers['content-type'] ?? '', body });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const list = (path: string) =>
    messages
      .filter((message) => message.path === path && message.type.startsWith('application/json'))
      .map(({ body }) => JSON.parse(body.toString('utf8')) as Record<string, unknown>);
  return {
    endpoint: `http://127.0.0.1:${port}`,
    get spans() {
      return list('/v1/traces').flatMap((message) =>
        (message['resourceSpans'] as readonly Scoped[]).flatMap(({ resource, scopeSpans = [] }) =>
          scopeSpans.flatMap(({ spans }) => spans.map((span) => toSpan(span, toRecord(resource.attributes)))),
        ),
      );
    },
    get samples() {
      const last = list('/v1/metrics').at(-1);
      if (last === undefined) return [];
      return (last['resourceMetrics'] as readonly Scoped[]).flatMap(({ scopeMetrics = [] }) =>
        scopeMetrics.flatMap(({ metrics }) => metrics.flatMap(toSamples)),
      );
    },
    messages,
    close: async () => {
      server.closeAllConnections();
      await promisify(server.close.bind(server))();
    },
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function toSpan(span: RawSpan, resource: ReceivedSpan['resource']): ReceivedSpan {
  const { name, traceId, spanId, parentSpanId = '', status, attributes, events } = span;
  const isError = status?.code === STATUS_ERROR;
  return {
    name,
    traceId,
    spanId,
    parentSpanId,
    error: isError ? { message: status.message } : undefined,
    attributes: toRecord(attributes),
    events: events.map((event) => ({ name: event.name, attributes: toRecord(event.attributes) })),
    durationMs: Number((BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1_000_000n),
    resource,
  };
}

function toSamples({ name, sum, gauge }: RawMetric): readonly ReceivedSample[] {
  const kind = sum === undefined ? 'gauge' : 'counter';
  return ((sum ?? gauge)?.dataPoints ?? []).map(({ attributes, asDouble, asInt }) => ({
    name,
    kind,
    value: Number(asDouble ?? asInt),
    labels: toRecord(attributes),
  }));
}

function toRecord(attributes: readonly Attribute[]): Readonly<Record<string, Value>> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.boolValue ??
        value.doubleValue ??
        (value.intValue === undefined ? undefined : Number(value.intValue)),
    ]),
  );
}

/** The names of a span and of those above it, from the top: `sluice.run > sluice.stream`. */
export function nameLineage(spans: readonly ReceivedSpan[], span: ReceivedSpan): string {
  const above = spans.find(({ spanId }) => spanId === span.parentSpanId);
  return above === undefined ? span.name : `${nameLineage(spans, above)} > ${span.name}`;
}
