import type { SimulatorResponse } from '../../src/simulator/message.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';

/** A time to start from: 2026-01-31T12:00:00Z. */
export const NOON_MS = Date.UTC(2026, 0, 31, 12);

/** An answer with its body parsed. */
export interface Asked {
  readonly status: number;
  readonly headers: SimulatorResponse['headers'];
  readonly response: SimulatorResponse;
  readonly data: readonly Row[];
  readonly pagination: { total: number; limit: number; offset: number; hasMore: boolean } | undefined;
  readonly error: { code: string; message: string; retryAfter?: number } | undefined;
}

/** A record as parsed. */
export type Row = Readonly<Record<string, unknown>>;

let clockMs = NOON_MS;

/** Asks for a path below the base path, a second after the last question unless a time is given. */
export function ask(
  simulator: Simulator,
  path: string,
  options: { atMs?: number; headers?: Record<string, string>; method?: string } = {},
): Asked {
  clockMs += 1000;
  const response = simulator.handle(
    {
      method: options.method ?? 'GET',
      path: `${simulator.basePath}/${path}`,
      headers: options.headers ?? { 'x-api-key': DEMO_KEY },
    },
    options.atMs ?? clockMs,
  );
  const type = String(response.headers['content-type']);
  const body = (type.includes('json') ? JSON.parse(String(response.body)) : {}) as Partial<Asked>;
  return {
    status: response.status,
    headers: response.headers,
    response,
    data: body.data ?? [],
    pagination: body.pagination,
    error: body.error,
  };
}

/** Reads an endpoint to its end by `hasMore`. */
export function askAll(simulator: Simulator, path: string, limit = 100): readonly Row[] {
  const rows: Row[] = [];
  for (;;) {
    const page = ask(
      simulator,
      `${path}${path.includes('?') ? '&' : '?'}limit=${limit}&offset=${rows.length}`,
    );
    rows.push(...page.data);
    if (page.pagination?.hasMore !== true) return rows;
  }
}

/** A service of numbered records at `numbers`, with nothing else and no limits. */
export function numbered(count: number, paginated = true) {
  return {
    builtIns: false,
    rateLimit: { requestsPerHour: 1_000_000, burstPerSecond: Infinity },
    endpoints: {
      numbers: { paginated, records: () => Array.from({ length: count }, (_, id) => ({ id })) },
    },
  };
}
