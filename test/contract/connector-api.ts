import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import type { ConfigInput } from '../../src/model/config.ts';
import type { Connector } from '../../src/model/connector.ts';
import type { Transport, TransportRequest } from '../../src/model/http.ts';
import type { SyncOptions } from '../../src/model/settings.ts';
import { runSync } from '../../src/pipeline/run.ts';
import { queryCopy } from '../support/published.ts';
import { DAY_MS, makeFolder, START_MS } from '../support/sync-harness.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

/** One request of a stream, and the records that its API holds. */
export interface AskedPage {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly records: readonly object[];
}

/** What the API answers with 200, before it is JSON text. */
export type AnswerPage = (asked: AskedPage) => unknown;

export const KEY = 'contract-test-key-0123456789';

export interface Answered {
  readonly status: number;
  readonly body: unknown;
}

export interface ApiUnderTest {
  readonly clock: VirtualClock;
  readonly requests: readonly TransportRequest[];
  /** Requests beyond the hour's limit. */
  readonly refused: number;
  sync(options?: SyncOptions): ReturnType<typeof runSync>;
  ids(stream: string): Promise<readonly unknown[]>;
  isPublished(): boolean;
}

/** A project with its own folder that syncs a stand-in of the connector's API on a virtual clock. */
export function createApi(
  connector: Connector,
  answer: AnswerPage,
  instead?: () => Answered,
  requestsPerHour = 100_000,
): ApiUnderTest {
  const folder = makeFolder();
  const clock = createVirtualClock({ startMs: START_MS });
  const requests: TransportRequest[] = [];
  let refused = 0;
  const spent = new Map<number, number>();

  const transport: Transport = {
    close: () => Promise.resolve(),
    async send(request) {
      requests.push(request);
      await clock.sleep(10, request.signal);
      const hour = Math.floor(clock.now() / 3_600_000);
      const count = (spent.get(hour) ?? 0) + 1;
      spent.set(hour, count);
      const { limit, remaining, reset } = connector.rateLimitHeaders;
      const headers = {
        'content-type': 'application/json',
        date: new Date(clock.now()).toUTCString(),
        [limit.toLowerCase()]: String(requestsPerHour),
        [remaining.toLowerCase()]: String(Math.max(0, requestsPerHour - count)),
        [reset.toLowerCase()]: String((hour + 1) * 3_600),
      };
      if (count > requestsPerHour) refused += 1;
      const { status, body } =
        count > requestsPerHour ? { status: 429, body: {} } : (instead?.() ?? answerOf(request.url));
      return { status, headers, body: Buffer.from(JSON.stringify(body)) };
    },
  };

  const base = `http://127.0.0.1:9/api/${connector.versionSegment}`;
  function answerOf(url: URL): Answered {
    const path = decodeURIComponent(url.href.slice(base.length + 1).split('?')[0] ?? '');
    const stream = connector.streams.find((known) => known.path === path);
    if (stream === undefined) return { status: 404, body: { error: { code: 'NOT_FOUND', message: path } } };
    return {
      status: 200,
      body: answer({ path, query: url.searchParams, records: recordsOf(stream.name) }),
    };
  }

  const duckdb = join(folder, 'warehouse.duckdb');
  const config: ConfigInput = {
    source: {
      connector: connector.name,
      baseUrl: base,
      apiKey: KEY,
      quota: { burstPerSecond: 100_000, ledgerDir: join(folder, 'quota') },
    },
    destination: { duckdb },
    stateDir: join(folder, 'state'),
    defaults: { freshness: 0 },
  };
  return {
    clock,
    requests,
    get refused() {
      return refused;
    },
    sync(options) {
      const settings = resolveSettings({
        loaded: parseConfig(config, folder),
        connectors: { [connector.name]: connector },
        env: {},
        nowMs: clock.now(),
      });
      return runSync(settings, { ...options, clock, transport, random: () => 0.5 });
    },
    ids: async (stream) =>
      (await queryCopy(duckdb, `SELECT id FROM main."${stream}" ORDER BY id`)).rows.map((row) => row['id']),
    isPublished: () => existsSync(duckdb),
  };
}

/** Several pages for each stream, told apart by their ids. */
export function recordsOf(stream: string): readonly { readonly id: number; readonly date: string }[] {
  const count = 430 + stream.length;
  return Array.from({ length: count }, (_, id) => ({
    id,
    date: new Date(Date.UTC(2026, 0, 1) + (id % 28) * DAY_MS).toISOString().slice(0, 10),
    stream,
  }));
}
