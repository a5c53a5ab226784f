import type { PagingDescription } from '../../src/model/paging.ts';
import type { Verdict } from '../../src/model/run-report.ts';
import type { Connector } from '../../src/model/connector.ts';
import type { SyncOptions } from '../../src/model/settings.ts';
import { createProject, type Project } from '../contract/connector-project.ts';
import type { AskedPage, DescribedApi } from '../contract/described-api.ts';
import { exampleEvents } from '../connectors/example-events/connector.ts';

/** Rows of a page by the API's text. */
export const PAGE_ROWS = 100;

/** What a server sends for a page. */
export interface Served {
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request as a server of the suite sees it. */
export interface Serving extends AskedPage {
  /** Ids of all its rows by now. */
  readonly ids: readonly number[];
  /** The most rows of a page, whatever is asked for. */
  readonly most: number;
  /** What it says is the number of its rows. */
  readonly total: number;
}

/** One order of pages, and a server that serves in it as its text says. */
export interface OrderCase {
  readonly paging: PagingDescription;
  /** Without pages if false: the order's own, one answer for all. */
  readonly paginated?: boolean;
  /** What a scan of several pages that were still proves. */
  readonly proves: Verdict;
  /** What one page proves. */
  readonly provesOne: Verdict;
  readonly params: readonly string[];
  serve(asked: Serving): Served;
}

/** How the data of a server behaves; `n` counts its requests from 0. */
export interface Scenario {
  readonly ids: (n: number) => readonly number[];
  readonly most?: number;
  readonly total?: (count: number, n: number) => number;
  /** Serves another page in the place of the one that is asked for. */
  readonly instead?: (asked: Serving, n: number) => Serving;
}

export interface OrderRun {
  readonly project: Project;
  sync(options?: SyncOptions): ReturnType<Project['sync']>;
  ids(): Promise<readonly unknown[]>;
}

const PATH = 'events';

/** Ids from `first` on. */
export function range(count: number, first = 0): readonly number[] {
  return Array.from({ length: count }, (_, at) => first + at);
}

/** A project that syncs a server of one order. */
export function createOrderRun(order: OrderCase, scenario: Scenario): OrderRun {
  let n = -1;
  let served: Served = { body: undefined };
  const api: DescribedApi = {
    baseUrl: 'https://events.example.com/v2',
    auth: exampleEvents.auth,
    rateLimitHeaders: exampleEvents.rateLimitHeaders,
    limits: exampleEvents.limits,
    params: order.params,
    endpoints: { [PATH]: order.proves },
    answer(asked) {
      n += 1;
      const ids = scenario.ids(n);
      const total = scenario.total?.(ids.length, n) ?? ids.length;
      const serving = { ...asked, ids, most: scenario.most ?? PAGE_ROWS, total };
      served = order.serve(scenario.instead?.(serving, n) ?? serving);
      return served.body;
    },
    headers: () => served.headers ?? {},
  };
  const connector: Connector = {
    ...exampleEvents,
    streams: [{ name: PATH, path: PATH, paginated: order.paginated ?? true }],
    paging: order.paging,
  };
  const project = createProject(connector, api);
  return { project, sync: (options) => project.sync(options), ids: () => project.ids(PATH) };
}

/** Rows of the ids from a position on, and the number of the most that a page may have. */
export function cut({ ids, query, most }: Serving, limitParam: string, start: number) {
  const size = Math.min(most, Number(query.get(limitParam) ?? PAGE_ROWS));
  return ids.slice(start, start + size).map((id) => ({ id, name: `row ${id}` }));
}
