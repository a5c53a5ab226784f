import type { ExchangeLimits } from '../../../src/http/exchange.ts';
import { createUndiciTransport } from '../../../src/http/undici-transport.ts';
import type { Transport, TransportRequest } from '../../../src/model/http.ts';
import type { RunReport, StreamReport } from '../../../src/model/run-report.ts';
import { afterFile } from '../../support/after-file.ts';
import {
  createFlow,
  type Flow,
  type FlowConfig,
  makeItems,
  noBuiltIns,
  START_MS,
} from '../../support/sync-harness.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';
import { servePages } from './serve-pages.ts';
import {
  type Misbehaviour,
  startWireServer,
  type WireServer,
  type WireServerOptions,
} from './wire-server.ts';

export interface WireFlow {
  readonly flow: Flow;
  readonly server: WireServer;
  readonly sync: Flow['sync'];
}

export interface WireFlowOptions extends Partial<WireServerOptions> {
  readonly records?: readonly unknown[];
  readonly limits?: Partial<ExchangeLimits>;
  readonly config?: FlowConfig;
  /** Of another server than the one that is started. */
  readonly baseUrl?: string;
}

export const WIRE_ROWS = makeItems(250);

/** A project that syncs one stream, `items`, over real sockets, while waits pass on a clock of their own. */
export async function createWireFlow(options: WireFlowOptions = {}): Promise<WireFlow> {
  const { records = WIRE_ROWS, limits, config, serve = servePages(records), ...server } = options;

  const wire = await startWireServer({ serve, ...server });
  afterFile(() => wire.close());
  const { baseUrl = wire.baseUrl } = options;
  const clock = createVirtualClock({ startMs: START_MS });
  const flow = createFlow({
    clock,
    transport: createWireTransport(baseUrl, clock, limits),
    config: {
      ...config,
      source: { baseUrl, ...config?.source },
      streams: { ...noBuiltIns, ...(config?.streams ?? { items: { path: 'items', paginated: true } }) },
    },
  });
  return { flow, server: wire, sync: (run) => flow.sync(run) };
}

/** The real wire; virtual time stands still while a request is on it. Opens again after each run's end. */
export function createWireTransport(
  baseUrl: string,
  clock: VirtualClock,
  limits: Partial<ExchangeLimits> = {},
): Transport {
  let open: Transport | undefined;
  return {
    async send(request: TransportRequest) {
      open ??= createUndiciTransport({ baseUrl: new URL(baseUrl), userAgent: 'sluice/test', limits });
      const release = clock.hold();
      try {
        return await open.send(request);
      } finally {
        release();
      }
    },
    async close() {
      await open?.close();
      open = undefined;
    },
  };
}

/** What became of one stream whose endpoint misbehaves, and how often it was asked. */
export interface CaseEnd {
  readonly report: StreamReport;
  readonly arrivals: number;
}

/** Syncs a stream for each misbehaviour in one run; none of them may end the run. */
export async function syncEach(
  cases: readonly Misbehaviour[],
  options: Omit<WireFlowOptions, 'misbehave'> & { readonly paginated?: boolean } = {},
): Promise<{ readonly flow: Flow; readonly report: RunReport; readonly ends: readonly CaseEnd[] }> {
  const { config, paginated = true, ...others } = options;
  const streams = cases.map((_, at) => [`case_${at}`, { path: `case/${at}`, paginated }] as const);
  const indexOf = (path: string) => Number(path.split('/').at(-1));
  const { sync, flow, server } = await createWireFlow({
    ...others,
    config: { ...config, streams: Object.fromEntries(streams) },
    misbehave: (request, healthy) => cases[indexOf(request.path)]?.(request, healthy),
  });
  const report = await sync();
  const ends = report.streams.map((stream, at) => ({
    report: stream,
    arrivals: server.arrivals.filter(({ path }) => indexOf(path) === at).length,
  }));
  return { flow, report, ends };
}
