// A program that uses the library: the module of the library and the config are its arguments. It syncs within a span of its
// own, if an SDK is registered.
import { pathToFileURL } from 'node:url';
import type * as sluice from '../../../src/index.ts';

const [, , library = '', config = '', isTraced] = process.argv;
const { sync } = (await import(pathToFileURL(library).href)) as typeof sluice;
if (isTraced === undefined) {
  const { exitCode } = await sync(config);
  process.exitCode = exitCode;
} else {
  const { ProxyTracerProvider, trace } = await import('@opentelemetry/api');
  const provider = trace.getTracerProvider();
  await trace.getTracer('program').startActiveSpan('nightly', async (span) => {
    const { exitCode } = await sync(config, { force: true });
    span.end();
    process.exitCode = exitCode;
  });
  const registered = provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
  await (registered as { forceFlush?(): Promise<void> }).forceFlush?.();
}
