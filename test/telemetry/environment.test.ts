import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { findSender } from '../../src/model/telemetry.ts';
import { listWanted, packageNames } from '../../src/telemetry/packages.ts';
import { isExported, readWishes } from '../../src/telemetry/read-wishes.ts';
import { readTraceParent } from '../../src/telemetry/trace-parent.ts';

const ENDPOINT = 'http://127.0.0.1:4318';
const API = Symbol.for('opentelemetry.js.api.1');

describe('who sends telemetry', () => {
  const globals = globalThis as Record<symbol, unknown>;
  const before = globals[API];

  afterEach(() => {
    if (before === undefined) delete globals[API];
    else globals[API] = before;
  });

  it.each([
    ['nobody, where nothing was set', {}, undefined],
    ['nobody, for an empty endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, undefined],
    ['an SDK of ours, for an endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT }, 'ours'],
    ['an SDK of ours, for one of traces', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ENDPOINT }, 'ours'],
    ['an SDK of ours, for one of metrics', { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: ENDPOINT }, 'ours'],
    [
      'nobody, where it is disabled',
      { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' },
      undefined,
    ],
  ])('is %s', (_, env, sender) => {
    expect(findSender(env)).toBe(sender);
  });

  it('is the SDK that the program registered, unless it is disabled', () => {
    globals[API] = { version: '1.10.0' };
    expect(findSender({})).toBeUndefined();
    globals[API] = { version: '1.10.0', trace: {} };
    expect(findSender({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT })).toBe('registered');
    expect(findSender({ OTEL_SDK_DISABLED: 'true' })).toBeUndefined();
  });
});

describe('what is sent', () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT };

  it('is traces and metrics as protobuf, unless the environment says otherwise', () => {
    expect(readWishes(env)).toEqual({
      traces: 'http/protobuf',
      metrics: 'http/protobuf',
      sampler: { name: 'parentbased_always_on', ratio: 1 },
      warnings: [],
    });
    const json = {
      ...env,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/protobuf',
    };
    expect(readWishes(json)).toMatchObject({ traces: 'http/json', metrics: 'http/protobuf' });
  });

  it('is only what has an endpoint and an exporter', () => {
    expect(readWishes({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ENDPOINT })).toMatchObject({
      traces: 'http/protobuf',
      metrics: undefined,
    });
    const none = { ...env, OTEL_TRACES_EXPORTER: 'none' };
    expect(readWishes(none)).toMatchObject({ traces: undefined, metrics: 'http/protobuf', warnings: [] });
    expect(isExported(none, 'TRACES')).toBe(false);
    expect(isExported(none, 'METRICS')).toBe(true);
    expect(readWishes({ ...env, OTEL_TRACES_EXPORTER: 'console, otlp' }).traces).toBe('http/protobuf');
  });

  it('is a share of the traces, where a sampler says so', () => {
    const sampled = {
      ...env,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.1',
    };
    expect(readWishes(sampled).sampler).toEqual({ name: 'parentbased_traceidratio', ratio: 0.1 });
    expect(readWishes({ ...sampled, OTEL_TRACES_SAMPLER_ARG: 'many' }).sampler.ratio).toBe(1);
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', { traces: undefined, metrics: undefined }],
    ['OTEL_TRACES_EXPORTER', 'zipkin', { traces: undefined, metrics: 'http/protobuf' }],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote', { sampler: { name: 'parentbased_always_on', ratio: 1 } }],
  ])('is said in one warning where %s is %s', (name, value, wishes) => {
    const read = readWishes({ ...env, [name]: value });
    expect(read).toMatchObject(wishes);
    expect(read.warnings).toHaveLength(1);
    expect(read.warnings[0]).toContain(`${name}="${value}"`);
  });
});

describe('the packages', () => {
  it('are asked for in the versions that are tried', () => {
    const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      readonly peerDependencies: Readonly<Record<string, string>>;
    };
    const tried = Object.entries(peerDependencies).filter(([name]) => name.startsWith('@opentelemetry/'));
    const asked = tried.map(([name, range]) => {
      const [major = '', minor = ''] = range.replace('^', '').split('.');
      return `${name}@${major === '0' ? `0.${minor}` : major}`;
    });
    expect(packageNames.toSorted()).toEqual(asked.toSorted());
  });

  it('are only those that are needed', () => {
    expect(listWanted({ traces: 'http/protobuf', metrics: undefined })).toEqual([
      '@opentelemetry/api@1',
      '@opentelemetry/resources@3',
      '@opentelemetry/sdk-trace@3',
      '@opentelemetry/exporter-trace-otlp-proto@0.301',
    ]);
  });
});

describe('the trace that a run belongs to', () => {
  const TRACE = '0af7651916cd43dd8448eb211c80319c';
  const SPAN = 'b7ad6b7169203331';

  it('is the one in the environment', () => {
    const env = { TRACEPARENT: `00-${TRACE}-${SPAN}-01`, TRACESTATE: 'vendor=1' };
    const parent = { traceId: TRACE, spanId: SPAN, traceFlags: 1, traceState: 'vendor=1' };
    expect(readTraceParent(env)).toEqual(parent);
    expect(readTraceParent({ TRACEPARENT: `01-${TRACE}-${SPAN}-00-more` })).toEqual({
      ...parent,
      traceFlags: 0,
      traceState: undefined,
    });
  });

  it.each([
    ['', 'empty'],
    ['00-abc-def-01', 'short'],
    [`ff-${TRACE}-${SPAN}-01`, 'of a format that does not exist'],
    [`00-${TRACE}-${SPAN}-01-more`, 'longer than its format'],
    [`00-${'0'.repeat(32)}-${SPAN}-01`, 'without a trace'],
    [`00-${TRACE}-${'0'.repeat(16)}-01`, 'without a span'],
  ])('is a new one for %j, which is %s', (text) => {
    expect(readTraceParent({ TRACEPARENT: text })).toBeUndefined();
  });
});
