import { type Transport, TransportFault } from '../../src/model/http.ts';
import { answerPage } from './answer-page.ts';
import { type FlowConfig, createFlow, DAY_MS, type Flow, noBuiltIns, START_MS } from './sync-harness.ts';
import { createVirtualClock } from './virtual-clock.ts';

export type Row = Readonly<Record<string, unknown>>;

/** What an API does of its own accord; each part has the documented way as its default. */
export interface RowsApi {
  /** The rows of a day, in order; days are counted from 0. */
  readonly rows: (day: number) => readonly Row[];
  /** Whether a row is answered where a start date is given. */
  readonly isAsked?: (row: Row, startDate: string, day: number) => boolean;
  /** Whether a row is answered to the parameters of a request; each is when left out. */
  readonly matches?: (row: Row, params: URLSearchParams) => boolean;
  /** Start dates that are answered 400. */
  readonly refuses?: (startDate: string, day: number) => boolean;
  /** Whether a request is answered 403; without a start date it asks for all rows. */
  readonly forbids?: (startDate: string | undefined, day: number) => boolean;
  /** A row as the request of this number sends it. */
  readonly send?: (row: Row, request: number) => Row;
  /** The total that is declared, of the rows that match and of all. */
  readonly total?: (matching: number, all: number) => number;
  /** The API's own clock, where it is not that of the machine. */
  readonly serverNow?: () => number;
}

export interface RowsFlow {
  readonly flow: Flow;
  /** Start dates that were asked for, one a request, in the last sync. */
  readonly asked: readonly (string | undefined)[];
  /** Lets days pass and syncs. */
  syncAfter(days: number, options?: Parameters<Flow['sync']>[0]): ReturnType<Flow['sync']>;
  /** The rows that the API has by now. */
  held(): readonly Row[];
}

/** A project with one stream, `items`, at an API whose start date means what a test says. */
export function createRowsFlow(
  api: RowsApi,
  stream: NonNullable<FlowConfig['streams']>[string] = {},
): RowsFlow {
  const clock = createVirtualClock({ startMs: START_MS });
  const day = () => Math.floor((clock.now() - START_MS) / DAY_MS);
  const isAsked = api.isAsked ?? ((row, startDate) => String(row['date']).slice(0, 10) >= startDate);
  let asked: (string | undefined)[] = [];
  let requests = 0;

  const transport: Transport = {
    close: () => Promise.resolve(),
    async send({ url, signal, onHead }) {
      await clock.sleep(10, signal).catch(() => {
        throw new TransportFault('aborted', 'interrupted', { sent: true });
      });
      const query = url.searchParams;
      const startDate = query.get('startDate') ?? undefined;
      asked.push(startDate);
      requests += 1;
      const headers = {
        'content-type': 'application/json',
        date: new Date(api.serverNow?.() ?? clock.now()).toUTCString(),
      };
      if (startDate !== undefined && api.refuses?.(startDate, day()) === true) {
        const error = { code: 'VALIDATION_ERROR', message: 'startDate is too long ago' };
        onHead?.({ status: 400, headers });
        return { status: 400, headers, body: Buffer.from(JSON.stringify({ error })) };
      }
      if (api.forbids?.(startDate, day()) === true) {
        const error = { code: 'FORBIDDEN', message: 'all rows are not for this key' };
        onHead?.({ status: 403, headers });
        return { status: 403, headers, body: Buffer.from(JSON.stringify({ error })) };
      }
      const all = api.rows(day()).filter((row) => api.matches?.(row, query) ?? true);
      const matching = startDate === undefined ? all : all.filter((row) => isAsked(row, startDate, day()));
      const total = api.total?.(matching.length, all.length) ?? matching.length;
      const { data, pagination } = answerPage(matching, query, total);
      const body = { data: data.map((row) => api.send?.(row, requests) ?? row), pagination };
      onHead?.({ status: 200, headers });
      return { status: 200, headers, body: Buffer.from(JSON.stringify(body)) };
    },
  };

  const flow = createFlow({
    clock,
    transport,
    config: { streams: { ...noBuiltIns, items: { path: 'items', paginated: true, ...stream } } },
  });
  return {
    flow,
    get asked() {
      return asked;
    },
    syncAfter(days, options) {
      clock.stepWall(days * DAY_MS);
      asked = [];
      return flow.sync(options);
    },
    held: () => api.rows(day()),
  };
}

/** The date that is so many days after the first one, 2026-01-31. */
export function dateOf(day: number): string {
  return new Date(START_MS + day * DAY_MS).toISOString().slice(0, 10);
}
