import type { ConnectionFault } from './message.ts';

/** One request as the server saw it. */
export interface Arrival {
  /** Counts from 0 since the log was last cleared. */
  readonly index: number;
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  /** Without its question mark. */
  readonly query: string;
  readonly status: number;
  /** Hash of the key, or `none`. */
  readonly keyId: string;
  /** Start of the key's hourly window that this arrival was counted in. */
  readonly windowStartMs: number;
  /** Whose key it was, where the service has accounts. */
  readonly account?: string;
  readonly connection?: ConnectionFault;
}

/** How many requests of one key fell into one of its windows. */
export interface WindowCount {
  readonly keyId: string;
  readonly windowStartMs: number;
  readonly requests: number;
}

/** What the arrivals add up to. */
export interface ArrivalStatistics {
  readonly requests: number;
  /** Responses with status 429, whether a limit or a fault made them. */
  readonly rateLimited: number;
  /** The most arrivals that any half-open second held, over all keys. */
  maxArrivalsInAnySecond(): number;
  requestsPerWindow(): readonly WindowCount[];
}

/** The log of arrivals and its sums. */
export interface ArrivalLog {
  readonly entries: readonly Arrival[];
  readonly statistics: ArrivalStatistics;
  add(arrival: Omit<Arrival, 'index'>): void;
  clear(): void;
}

/** Makes a log that keeps at least the newest `maxEntries`; the counts go on beyond them. */
export function createArrivalLog(maxEntries: number): ArrivalLog {
  const entries: Arrival[] = [];
  let requests = 0;
  let rateLimited = 0;
  return {
    entries,
    statistics: {
      get requests() {
        return requests;
      },
      get rateLimited() {
        return rateLimited;
      },
      maxArrivalsInAnySecond: () => findMaxInAnySecond(entries),
      requestsPerWindow: () => countPerWindow(entries),
    },
    add(arrival) {
      entries.push({ index: requests, ...arrival });
      requests++;
      if (arrival.status === 429) rateLimited++;
      // Dropped in large blocks: moving the array at each arrival would cost more than the memory.
      if (entries.length >= maxEntries * 2) entries.splice(0, entries.length - maxEntries);
    },
    clear() {
      entries.length = 0;
      requests = 0;
      rateLimited = 0;
    },
  };
}

function findMaxInAnySecond(entries: readonly Arrival[]): number {
  const times = entries.map((entry) => entry.atMs).sort((a, b) => a - b);
  let max = 0;
  let first = 0;
  times.forEach((atMs, index) => {
    while ((times[first] ?? atMs) <= atMs - 1000) first++;
    max = Math.max(max, index - first + 1);
  });
  return max;
}

function countPerWindow(entries: readonly Arrival[]): readonly WindowCount[] {
  const counts = new Map<string, WindowCount>();
  for (const { keyId, windowStartMs } of entries) {
    const name = `${keyId} ${windowStartMs}`;
    counts.set(name, { keyId, windowStartMs, requests: (counts.get(name)?.requests ?? 0) + 1 });
  }
  return [...counts.values()];
}
