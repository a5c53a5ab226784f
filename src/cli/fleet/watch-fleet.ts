import type { Answer, MetricsServerOptions } from '../../metrics/metrics-server.ts';
import type { Clock } from '../../model/clock.ts';
import type { FleetStatus } from '../../model/fleet-report.ts';

/** One answer of the database is used for so long, ms: scrapes of many workers must cost it little. */
const KEPT_MS = 5_000;
/** A look waits for the database for less, so that the loop of a worker that has not looked for longer is stuck. */
const LONGEST_LOOK_MS = 120_000;

/** What watches a worker and its fleet. */
export interface FleetWatch {
  readonly paths: MetricsServerOptions['paths'];
  /** The worker looks for accounts: it is alive. */
  readonly onLook: () => void;
}

/** What a watch is made of. */
export interface FleetWatchParts {
  /** Reads what the fleet is doing; rejects while the database is away. */
  readonly read: () => Promise<FleetStatus>;
  readonly render: (status: FleetStatus) => Promise<string>;
  /** Of the answer of `/metrics`. */
  readonly type: string;
  readonly clock: Clock;
  /** Aborts when the worker is stopped: then it looks no more, and ends its runs. */
  readonly signal: AbortSignal;
}

/** What the endpoint of a worker serves: numbers and names of accounts, never text of a server or a key. */
export function watchFleet({ read, render, type, clock, signal }: FleetWatchParts): FleetWatch {
  let lookedAtMs = clock.monotonic();
  let kept: { readonly atMs: number; readonly status: Promise<FleetStatus> } | undefined;
  const readKept = () => {
    if (kept === undefined || clock.monotonic() - kept.atMs >= KEPT_MS)
      kept = { atMs: clock.monotonic(), status: read() };
    return kept.status;
  };
  return {
    onLook: () => {
      lookedAtMs = clock.monotonic();
    },
    paths: {
      '/healthz': () => {
        const isStuck = !signal.aborted && clock.monotonic() - lookedAtMs > LONGEST_LOOK_MS;
        const status = isStuck ? 'stuck' : signal.aborted ? 'draining' : 'ok';
        return toJson(isStuck ? 503 : 200, { status });
      },
      '/readyz': () =>
        readKept().then(
          () => toJson(200, { ready: true, reason: null }),
          () => toJson(503, { ready: false, reason: 'database_away' }),
        ),
      '/metrics': () =>
        readKept().then(
          async (status) => ({ status: 200, type, body: await render(status) }),
          () => ({ status: 503, type: 'text/plain', body: 'the database does not answer\n' }),
        ),
    },
  };
}

function toJson(status: number, body: object): Answer {
  return { status, type: 'application/json; charset=utf-8', body: `${JSON.stringify(body)}\n` };
}
