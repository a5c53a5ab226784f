import {
  type ResponseHeaders,
  TransportFault,
  type Transport,
  type TransportRequest,
} from '../../src/model/http.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** What becomes of one request: an answer, or a fault. */
export type Scripted =
  { readonly status: number; readonly headers?: ResponseHeaders; readonly body?: string } | TransportFault;

/** A request as it was sent, on the clock's monotonic time. */
export interface Sent {
  readonly atMs: number;
  readonly request: TransportRequest;
}

export interface ScriptedTransport extends Transport {
  readonly sent: readonly Sent[];
  readonly isClosed: boolean;
}

const LATENCY_MS = 10;

/** Answers request `n` with `script(n)`, 10 ms later; a function keeps a script endless. */
export function createScriptedTransport(
  clock: VirtualClock,
  script: readonly Scripted[] | ((n: number) => Scripted),
): ScriptedTransport {
  const sent: Sent[] = [];
  let isClosed = false;
  return {
    sent,
    get isClosed() {
      return isClosed;
    },
    async send(request) {
      const n = sent.length;
      sent.push({ atMs: clock.monotonic(), request });
      try {
        await clock.sleep(LATENCY_MS, request.signal);
      } catch {
        throw new TransportFault('aborted', 'interrupted', { sent: true });
      }
      const scripted = typeof script === 'function' ? script(n) : script[n];
      if (scripted === undefined) throw new Error(`the script has no answer to request ${n}`);
      if (scripted instanceof TransportFault) throw scripted;
      const { status, headers = {}, body = '{}' } = scripted;
      request.onHead?.({ status, headers });
      return { status, headers, body: Buffer.from(body) };
    },
    close() {
      isClosed = true;
      return Promise.resolve();
    },
  };
}

/** Rate limit headers of a server whose date is the clock's wall time. */
export function rateLimitHeaders(
  clock: VirtualClock,
  values: { readonly limit?: number; readonly remaining: number; readonly resetInMs: number },
): ResponseHeaders {
  return {
    date: new Date(clock.now()).toUTCString(),
    'x-ratelimit-limit': String(values.limit ?? 600),
    'x-ratelimit-remaining': String(values.remaining),
    'x-ratelimit-reset': String(Math.ceil((clock.now() + values.resetInMs) / 1000)),
  };
}
