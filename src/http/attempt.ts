import { Readable } from 'node:stream';
import type { Clock } from '../model/clock.ts';
import { ConfigError } from '../model/errors.ts';
import {
  type ApiRequest,
  type BodyLimits,
  type BodySink,
  type ResponseHead,
  type Transport,
  TransportFault,
  type TransportResponse,
} from '../model/http.ts';
import { readErrorEnvelope } from './error-envelope.ts';
import type { Linger } from './linger.ts';
import type { Quota, Slot } from './quota.ts';
import { readWindow, type WindowDescription, type WindowReading } from './rate-limit-headers.ts';
import { readRetryAfter } from './retry-after.ts';
import { isSuccess } from './retry-delay.ts';

/** What one attempt needs. */
export interface AttemptTools {
  readonly quota: Quota;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: () => number;
  readonly linger: Linger;
  readonly headers: Readonly<Record<string, string>>;
  readonly window: WindowDescription;
  readonly onWarning: (message: string) => void;
}

/** How one attempt ended: with an answer of any status, or with none. */
export type AttemptResult =
  | {
      readonly kind: 'answer';
      readonly response: TransportResponse;
      readonly serverDateMs: number | undefined;
      /** The longer of Retry-After and the body's retryAfter, ms. */
      readonly hintMs: number | undefined;
    }
  | { readonly kind: 'fault'; readonly fault: TransportFault };

export interface AttemptOptions {
  readonly signal: AbortSignal;
  readonly isRetry: boolean;
  /** Called when the quota has given a slot. */
  readonly onSlot?: (() => void) | undefined;
}

/** An answer's head, read when it came. */
interface HeadReading extends WindowReading {
  readonly head: ResponseHead;
  readonly hintMs: number | undefined;
}

/**
 * Sends a request once, inside a slot of the quota (invariant 5). The slot is settled as soon as the headers
 * are here, so that a long body holds nobody up; a 429's needs its body, which may hold a longer hint.
 */
export async function attemptRequest(
  tools: AttemptTools,
  request: ApiRequest,
  options: AttemptOptions,
): Promise<AttemptResult> {
  const { quota, transport, headers } = tools;
  const slot = await quota.acquire(options.signal, { isRetry: options.isRetry });
  options.onSlot?.();
  const seen: { reading?: HeadReading } = {};
  const onHead = (head: ResponseHead): HeadReading => {
    const reading = readHead(tools, head);
    seen.reading = reading;
    if (head.status !== 429) settleAnswer(quota, slot, reading);
    return reading;
  };
  try {
    const { url, body, isKept = false } = request;
    // A slot may come just as the run is told to stop: then nothing leaves.
    if (isKept && options.signal.aborted)
      throw new TransportFault('aborted', 'told to stop before it left', { sent: false });
    const sink = watchSink(request.sink);
    const sending = {
      url,
      headers,
      signal: isKept ? tools.linger(options.signal) : options.signal,
      ...(isKept && { leaveSignal: options.signal }),
      onHead,
      ...(body && { body: boundByDeadline(body, quota.leftMs) }),
      ...(sink && { sink: sink.take }),
    };
    const response = await transport.send(sending);
    const reading = seen.reading ?? onHead(response);
    return finish(tools, slot, reading, sink === undefined ? response : await sink.settle(response));
  } catch (error) {
    // Whatever else was thrown is a bug, and stays what it is.
    const fault = error instanceof TransportFault ? error : undefined;
    const { reading } = seen;
    if (reading === undefined) {
      // A transport that config does not let open sends nothing.
      const isUnsent = fault === undefined ? error instanceof ConfigError : !fault.sent;
      quota.settle(slot, { kind: isUnsent ? 'unsent' : 'failed' });
    } else if (reading.head.status === 429 || (fault !== undefined && isRefusal(reading.head, fault))) {
      // Its body was lost, but not what its head says.
      return finish(tools, slot, reading, { ...reading.head, body: Buffer.alloc(0) });
    }
    if (fault === undefined) throw error;
    return { kind: 'fault', fault };
  }
}

/** What may otherwise take as long as it comes ends with the run. */
function boundByDeadline(body: BodyLimits, leftMs: number | undefined): BodyLimits {
  if (body.deadline !== 'idle' || leftMs === undefined) return body;
  return { ...body, mostMs: Math.min(leftMs, body.mostMs ?? Infinity) };
}

/** A head that tells all there is to know: a refused key is refused, however its body ends. */
function isRefusal({ status }: ResponseHead, { kind }: TransportFault): boolean {
  return !isSuccess(status) && kind !== 'aborted';
}

/** A sink that is given the body of every 2xx answer, also by a transport that knows no sinks. */
function watchSink(sink: BodySink | undefined) {
  if (sink === undefined) return undefined;
  let isTaken = false;
  return {
    take: async (chunks: AsyncIterable<Buffer>): Promise<void> => {
      isTaken = true;
      await sink(chunks);
    },
    settle: async (response: TransportResponse): Promise<TransportResponse> => {
      if (isTaken || !isSuccess(response.status)) return response;
      await sink(Readable.from([response.body]));
      return { ...response, body: Buffer.alloc(0) };
    },
  };
}

function readHead(tools: AttemptTools, head: ResponseHead): HeadReading {
  const receivedAtMs = tools.clock.now();
  const reading = readWindow(head.headers, receivedAtMs, tools.window);
  if (reading.warning !== undefined) tools.onWarning(reading.warning);
  return { ...reading, head, hintMs: readRetryAfter(head.headers, receivedAtMs, reading.serverDateMs) };
}

function settleAnswer(quota: Quota, slot: Slot, { observation }: HeadReading): void {
  quota.settle(slot, { kind: 'answered', observation });
}

function finish(
  tools: AttemptTools,
  slot: Slot,
  reading: HeadReading,
  response: TransportResponse,
): AttemptResult {
  const { observation, serverDateMs } = reading;
  if (response.status !== 429) return { kind: 'answer', response, serverDateMs, hintMs: reading.hintMs };
  const bodyHintMs = readErrorEnvelope(response.body).retryAfterMs;
  const hintMs = reading.hintMs === undefined ? bodyHintMs : Math.max(reading.hintMs, bodyHintMs ?? 0);
  tools.quota.settle(slot, { kind: 'rate-limited', observation, hintMs, random: tools.random() });
  return { kind: 'answer', response, serverDateMs, hintMs };
}
