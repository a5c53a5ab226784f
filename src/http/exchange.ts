import type { Dispatcher } from 'undici';
import {
  type ResponseHead,
  type ResponseHeaders,
  TransportFault,
  type TransportRequest,
  type TransportResponse,
} from '../model/http.ts';
import { toTransportFault } from './transport-faults.ts';

/** Deadlines and caps of one exchange, ms and bytes. */
export interface ExchangeLimits {
  readonly connectMs: number;
  readonly headersMs: number;
  readonly idleMs: number;
  /** Undefined: only silence is bounded, for whole datasets that may take long. */
  readonly totalMs: number | undefined;
  readonly maxBytes: number;
}

/**
 * One request and its answer, as undici's dispatcher tells it. Used instead of `undici.request`, which is
 * built on the same calls, because only here one can see when a request leaves: before that it surely did
 * not reach the server. Deadlines are kept here, since undici's start anew with every byte.
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
  #writtenAfterMs: number | undefined;
  #over = false;
  #timer: NodeJS.Timeout;

  constructor(request: TransportRequest, limits: ExchangeLimits) {
    this.#request = request;
    this.#limits = limits;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#timer = this.#setTimer(limits.connectMs, 'connect-timeout', 'no connection');
    request.signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (request.signal?.aborted === true) this.#onAbort();
  }

  /** Ends the exchange from outside; does nothing once it is over. */
  giveUp(fault: Error): void {
    if (this.#over) return;
    this.#finish();
    this.#reject(fault);
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
    this.#writtenAfterMs = performance.now() - this.#startMs;
    this.#restartTimer(this.#limits.headersMs, 'no answer');
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    // 1xx only announce the answer; the headers' deadline goes on.
    if (this.#over || status < 200) return;
    this.#head = { status, headers, writtenAfterMs: this.#writtenAfterMs ?? 0 };
    this.#restartTimer(this.#limits.idleMs, 'no more of the body');
    try {
      this.#request.onHead?.(this.#head);
    } catch (error) {
      // Not the wire's fault: undici would pass it off as one.
      this.giveUp(error as Error);
    }
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    this.#byteCount += chunk.length;
    if (this.#byteCount > this.#limits.maxBytes) {
      const detail = `the body is larger than ${this.#limits.maxBytes} bytes`;
      this.giveUp(new TransportFault('body-too-large', detail, { sent: true }));
      return;
    }
    this.#chunks.push(chunk);
    this.#restartTimer(this.#limits.idleMs, 'no more of the body');
  }

  onResponseEnd(): void {
    if (this.#over) return;
    const head = this.#head;
    if (head === undefined) {
      this.giveUp(new TransportFault('malformed', 'an answer without headers', { sent: true }));
      return;
    }
    this.#finish();
    const only = this.#chunks.length === 1 ? this.#chunks[0] : undefined;
    const response = { ...head, body: only ?? Buffer.concat(this.#chunks, this.#byteCount) };
    // Undici frees the connection in the next turn: told earlier, the next request would open another one.
    queueMicrotask(() => setImmediate(this.#resolve, response));
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.giveUp(toTransportFault(error, this.#progress()));
  }

  readonly #onAbort = (): void => {
    this.giveUp(new TransportFault('aborted', 'interrupted', { sent: this.#controller !== undefined }));
  };

  #progress(): { readonly sent: boolean; readonly answered: boolean } {
    return { sent: this.#controller !== undefined, answered: this.#head !== undefined };
  }

  #finish(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#request.signal?.removeEventListener('abort', this.#onAbort);
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
