import type { ApiLimits, Connector, RateLimitHeaderNames } from '../../src/model/connector.ts';
import type { Verdict } from '../../src/model/run-report.ts';
import { DAY_MS } from '../support/sync-harness.ts';

/**
 * An API as its own text describes it. The author writes it from that text and takes nothing from the connector: where
 * the two differ, one of them is wrong.
 */
export interface DescribedApi {
  /** An address as the text gives it. */
  readonly baseUrl: string;
  /** The header of the key, and what stands before the key in it. */
  readonly auth: Pick<Connector['auth'], 'header' | 'scheme'>;
  readonly rateLimitHeaders: RateLimitHeaderNames;
  /** What Reset counts: a time in seconds since 1970, where nothing is said. */
  readonly resetIn?: 'seconds since 1970' | 'seconds to go';
  readonly limits: ApiLimits;
  /** Query parameters that the text names; a request with another one is refused. */
  readonly params: readonly string[];
  /** By path, what a complete scan of the endpoint proves: `unverified` where no answer gives a total. */
  readonly endpoints: Readonly<Record<string, Verdict>>;
  /** What the API answers with 200, before it is JSON text. */
  readonly answer: (asked: AskedPage) => unknown;
  /** What the answer has in its headers, apart from those of the limits. */
  readonly headers?: (asked: AskedPage) => Readonly<Record<string, string>>;
}

/** One request, and the records that its endpoint holds by now. */
export interface AskedPage {
  readonly path: string;
  readonly url: URL;
  readonly query: URLSearchParams;
  readonly records: readonly ApiRecord[];
}

export interface ApiRecord {
  readonly id: number;
  readonly date: string;
  readonly path: string;
}

const FIRST_DAYS = 31;
const NEW_A_DAY = 20;

/** What an endpoint holds on a day: several pages about January, and some records more for each day since. */
export function recordsOf({ limits }: DescribedApi, path: string, day = 1): readonly ApiRecord[] {
  const first = Math.ceil(4.3 * limits.maxPageSize) + path.length;
  return Array.from({ length: first + (day - 1) * NEW_A_DAY }, (_, id) => {
    const at = id < first ? id % FIRST_DAYS : FIRST_DAYS + Math.floor((id - first) / NEW_A_DAY);
    return { id, date: new Date(Date.UTC(2026, 0, 1) + at * DAY_MS).toISOString().slice(0, 10), path };
  });
}
