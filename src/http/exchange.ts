import type { Dispatcher } from 'undici';
import {
  type BodySink,
  type ResponseHead,
  type ResponseHeaders,
  TransportFault,
  type TransportRequest,
  type TransportResponse,
} from '../model/http.ts';
import { BodyDelivery, type Wire } from './body-delivery.ts';
import { tooLargeFault } from './gunzip.ts';
import { type BodyTurn, LARGE_BODY_BYTES } from './large-bodies.ts';
import { isSuccess } from './retry-delay.ts';
import { toTransportFault } from './transport-faults.ts';

/** Deadlines and caps of one exchange, ms and bytes. */
export interface ExchangeLimits {
  readonly connectMs: number;
  readonly headersMs: number;
  readonly idleMs: number;
  /** Undefined: only silence is bounded, for whole datasets that may take long. */
  readonly totalMs: number | undefined;
  readonly maxBytes: number;
  /** Of a body with a status outside 2xx: memory holds it, whatever size the data may have. */
  readonly maxErrorBytes: number;
}

/** Most bytes that the body of an answer may have. */
export function boundBody(limits: ExchangeLimits, status: number | undefined): number {
  const { maxBytes, maxErrorBytes } = limits;
  return status === undefined || isSuccess(status) ? maxBytes : Math.min(maxBytes, maxErrorBytes);
}

/**
 * One request and its answer, as undici's dispatcher tells it. Used instead of `undici.request`, which is
 * built on the same calls, because only here one can see when a request leaves: before that it surely did
 * not reach the server. Deadlines are kept here, since undici's restart with every byte.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly response: Promise<TransportResponse>;
  readonly #request: TransportRequest;
  readonly #limits: ExchangeLimits;
  readonly #startMs = performance.now();
  readonly #chunks: Buffer[] = [];
  #byteCount = 0;
  #resolve!: (response: TransportResponse) => void;
  #reject!: (fault: Error) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #head: ResponseHead | undefined;
  /** Takes the body in place of `#chunks`, once its head says that it may. */
  #delivery: BodyDelivery | undefined;
  /** The wire has nothing left of the body. */
  #isWhole = false;
  #over = false;
  readonly #turn: BodyTurn;
  #timer: NodeJS.Timeout;

  constructor(request: TransportRequest, limits: ExchangeLimits, turn: BodyTurn) {
    this.#request = request;
    this.#limits = limits;
    this.#turn = turn;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#timer = this.#setTimer(limits.connectMs, 'connect-timeout', 'no connection');
    request.signal?.addEventListener('abort', this.#onAbort, { once: true });
    request.leaveSignal?.addEventListener('abort', this.#onStay, { once: true });
    if (request.signal?.aborted === true) this.#onAbort();
    else if (request.leaveSignal?.aborted === true) this.#onStay();
  }

  /** Ends the exchange from outside; does nothing once it is over. */
  giveUp(fault: Error): void {
    if (this.#over) return;
    this.#finish();
    if (this.#delivery === undefined) this.#reject(fault);
    // The next try must not begin while the sink still works on this one.
    else this.#delivery.fail(fault);
    this.#controller?.abort(fault);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#over) {
      controller.abort(new Error('given up before it was sent'));
      return;
    }
    if (this.#controller !== undefined) {
      // Invariant 5: undici must not send a request again behind the budget's back.
      const fault = new TransportFault('closed', 'the connection ended', { sent: true });
      controller.abort(fault);
      this.giveUp(fault);
      return;
    }
    this.#controller = controller;
    this.#restartTimer(this.#limits.headersMs, 'no answer');
  }

  onResponseStart(wire: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    // 1xx only announce the answer; the headers' deadline goes on.
    if (this.#over || status < 200) return;
    this.#head = { status, headers };
    this.#awaitMore();
    try {
      this.#request.onHead?.(this.#head);
    } catch (error) {
      // Not the wire's fault: undici would pass it off as one.
      this.giveUp(error as Error);
      return;
    }
    if (this.#request.sink !== undefined && isSuccess(status)) this.#deliverTo(this.#request.sink, wire);
  }

  onResponseData(wire: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    this.#byteCount += chunk.length;
    const maxBytes = boundBody(this.#limits, this.#head?.status);
    if (this.#byteCount > maxBytes) {
      this.giveUp(tooLargeFault('body', maxBytes));
      return;
    }
    // Silence of our own making has no deadline.
    if (this.#take(chunk, wire)) this.#awaitMore();
    else clearTimeout(this.#timer);
  }

  /** False once the wire was told to pause. */
  #take(chunk: Buffer, wire: Dispatcher.DispatchController): boolean {
    if (this.#delivery !== undefined) return this.#delivery.push(chunk);
    this.#chunks.push(chunk);
    if (this.#byteCount <= LARGE_BODY_BYTES || this.#turn.take(() => this.#goOn(wire))) return true;
    wire.pause();
    return false;
  }

  #goOn(wire: Dispatcher.DispatchController): void {
    if (this.#over || this.#isWhole) return;
    this.#awaitMore();
    wire.resume();
  }

  onResponseEnd(): void {
    if (this.#over) return;
    const head = this.#head;
    if (head === undefined) {
      this.giveUp(new TransportFault('malformed', 'an answer without headers', { sent: true }));
      return;
    }
    if (this.#delivery !== undefined) {
      clearTimeout(this.#timer);
      this.#isWhole = true;
      this.#delivery.end();
      return;
    }
    const only = this.#chunks.length === 1 ? this.#chunks[0] : undefined;
    const body = only ?? Buffer.concat(this.#chunks, this.#byteCount);
    this.#finish();
    this.#resolveSoon({ ...head, body });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.giveUp(toTransportFault(error, this.#progress()));
  }

  #deliverTo(sink: BodySink, controller: Dispatcher.DispatchController): void {
    const wire: Wire = {
      pause: () => controller.pause(),
      resume: () => this.#goOn(controller),
    };
    const { maxBytes } = this.#limits;
    this.#delivery = new BodyDelivery(sink, wire, { headers: this.#head?.headers ?? {}, maxBytes });
    this.#delivery.done.then(
      () => this.#endDelivery(),
      (error: Error) => {
        this.giveUp(error);
        this.#reject(error);
      },
    );
  }

  #endDelivery(): void {
    const head = this.#head;
    if (this.#over || head === undefined) return;
    this.#finish();
    // The sink wants no more: the connection goes, as the rest of the body would have to be read off it.
    if (!this.#isWhole) this.#controller?.abort(new Error('the rest of the body was given up'));
    this.#resolveSoon({ ...head, body: Buffer.alloc(0) });
  }

  // Undici frees the connection in the next turn: told earlier, the next request would open another one.
  #resolveSoon(response: TransportResponse): void {
    queueMicrotask(() => setImmediate(this.#resolve, response));
  }

  #awaitMore(): void {
    this.#restartTimer(this.#limits.idleMs, 'no more of the body');
  }

  readonly #onAbort = (): void => {
    this.giveUp(new TransportFault('aborted', 'interrupted', { sent: this.#controller !== undefined }));
  };

  readonly #onStay = (): void => {
    if (this.#controller === undefined) this.#onAbort();
  };

  #progress(): { readonly sent: boolean; readonly answered: boolean } {
    return { sent: this.#controller !== undefined, answered: this.#head !== undefined };
  }

  #finish(): void {
    this.#over = true;
    // Undici may hold on to its handlers for long; a body given up must not stay with them.
    this.#chunks.length = 0;
    clearTimeout(this.#timer);
    this.#request.signal?.removeEventListener('abort', this.#onAbort);
    this.#request.leaveSignal?.removeEventListener('abort', this.#onStay);
  }

  #restartTimer(ms: number, detail: string): void {
    clearTimeout(this.#timer);
    this.#timer = this.#setTimer(ms, 'timeout', detail);
  }

  /** Each phase has its deadline, and no phase may outlast the whole exchange's. */
  #setTimer(ms: number, kind: 'timeout' | 'connect-timeout', detail: string): NodeJS.Timeout {
    const leftMs = (this.#limits.totalMs ?? Infinity) - (performance.now() - this.#startMs);
    const boundMs = Math.max(0, Math.min(ms, leftMs));
    const text =
      leftMs < ms ? `the exchange took longer than ${this.#limits.totalMs} ms` : `${detail} within ${ms} ms`;
    return setTimeout(() => {
      this.giveUp(new TransportFault(kind, text, { sent: this.#controller !== undefined }));
    }, boundMs);
  }
}
