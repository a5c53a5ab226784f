// A module to preload, as programs do that set up OpenTelemetry themselves: registers an SDK whose batch processor has the
// defaults.
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, context, type ContextManager, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';

const storage = new AsyncLocalStorage<Context>();

const manager: ContextManager = {
  active: () => storage.getStore() ?? ROOT_CONTEXT,
  with: (active, work, self, ...given) => storage.run(active, () => work.apply(self, given)),
  bind: (_active, target) => target,
  enable: () => manager,
  disable: () => manager,
};

context.setGlobalContextManager(manager);
trace.setGlobalTracerProvider(
  new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'the-program' }),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  }),
);
