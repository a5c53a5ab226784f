import type { Clock } from '../../src/model/clock.ts';
import { type Transport, TransportFault, type TransportRequest } from '../../src/model/http.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';

export interface SimulatorTransportOptions {
  /** Time on the way of request `n`, ms; none when left out. */
  readonly latency?: (n: number) => { readonly thereMs: number; readonly backMs: number };
  /** What the server's clock is ahead of the client's wall clock at the start, ms. */
  readonly serverAheadMs?: number;
}

const HEADERS_DEADLINE_MS = 30_000;

/** Takes requests to a simulator without sockets, on the client's clock; connection faults become faults. */
export function createSimulatorTransport(
  simulator: Simulator,
  clock: Clock,
  options: SimulatorTransportOptions = {},
): Transport {
  // The server's time runs steadily when the client's wall clock is set.
  const serverEpochMs = clock.now() - clock.monotonic() + (options.serverAheadMs ?? 0);
  let sequence = 0;

  async function pass(ms: number | undefined, { signal }: TransportRequest): Promise<void> {
    try {
      if (ms !== undefined && ms > 0) await clock.sleep(ms, signal);
    } catch {
      throw new TransportFault('aborted', 'the signal ended it', { sent: true });
    }
  }

  return {
    async send(request) {
      const { thereMs, backMs } = options.latency?.(sequence++) ?? { thereMs: 0, backMs: 0 };
      await pass(thereMs, request);
      const path = `${request.url.pathname}${request.url.search}`;
      const answer = simulator.handle(
        { method: 'GET', path, headers: request.headers },
        serverEpochMs + clock.monotonic(),
      );
      await pass(answer.delayMs, request);
      if (answer.connection === 'drop') throw new TransportFault('closed', 'dropped', { sent: true });
      if (answer.connection === 'hang') {
        await pass(HEADERS_DEADLINE_MS, request);
        throw new TransportFault('timeout', 'no headers', { sent: true });
      }
      await pass(backMs, request);
      const { status, headers, body } = answer;
      request.onHead?.({ status, headers });
      if (answer.connection === 'cut') throw new TransportFault('cut', 'cut in the body', { sent: true });
      return { status, headers, body: Buffer.from(body) };
    },
    close: () => Promise.resolve(),
  };
}
