import { AbortedError } from '../../model/errors.ts';
import type { Clock } from '../../model/clock.ts';
import { describeLostLease } from './lost-lease.ts';
import type { FromLane, LaneEnd, LaneQuestion, LaneRun, ToLane } from './messages.ts';
import type { LaneWorker } from './run-account.ts';

/** The end of a lane's connection with its worker. */
export interface LanePort {
  send(message: FromLane): unknown;
  onMessage(listener: (message: ToLane) => void): unknown;
  /** Called once the worker is gone. */
  onGone(listener: () => void): unknown;
}

/** A run as the link sees it. */
export interface LinkedRun {
  execute(): Promise<LaneEnd>;
  cleanUp(isAccepted: boolean): Promise<void>;
}

/** What the link is made of. */
export interface LinkParts {
  readonly clock: Clock;
  readonly leaseMs: number;
}

/** A lane's connection with its worker: gives it runs, and asks for it. */
export class LaneLink {
  readonly #port: LanePort;
  readonly #parts: LinkParts;
  readonly #answers = new Map<number, (isHeld: boolean) => void>();
  #asked = 0;
  #current: CurrentRun | undefined;

  constructor(port: LanePort, parts: LinkParts) {
    this.#port = port;
    this.#parts = parts;
  }

  /** Runs what the worker gives; resolves once the worker is gone. */
  serve(begin: (run: LaneRun, worker: LaneWorker) => LinkedRun): Promise<void> {
    return new Promise((resolve) => {
      this.#port.onGone(resolve);
      this.#port.onMessage((message) => {
        if (message.type === 'run') void this.#run(message.run, begin);
        else this.#hear(message);
      });
    });
  }

  #hear(message: Exclude<ToLane, { readonly type: 'run' }>): void {
    const current = this.#current;
    switch (message.type) {
      case 'held':
        this.#send({ type: 'alive' });
        current?.heard(this.#parts.clock.monotonic());
        break;
      case 'stop':
        current?.stop.abort(
          new AbortedError('the worker was stopped', {
            code: 'aborted',
            hint: 'Its pages are put away; another worker continues.',
            exitCode: 143,
          }),
        );
        break;
      case 'answer':
        this.#answers.get(message.id)?.(message.isHeld);
        this.#answers.delete(message.id);
        break;
      case 'settled':
        current?.settled.resolve(message.isAccepted);
        break;
    }
  }

  async #run(run: LaneRun, begin: (run: LaneRun, worker: LaneWorker) => LinkedRun): Promise<void> {
    const current = new CurrentRun(this.#parts, run.account);
    this.#current = current;
    const linked = begin(run, {
      lost: current.lost.signal,
      stop: current.stop.signal,
      ask: (question) => this.#ask(current, question),
    });
    const end = await linked.execute();
    current.close();
    this.#send({ type: 'ended', end });
    await linked.cleanUp(await current.settled.promise);
    this.#current = undefined;
    this.#send({ type: 'idle' });
  }

  /** A worker that is paused does not answer: then the lease ends, and with it the question. */
  async #ask(current: CurrentRun, question: LaneQuestion): Promise<boolean> {
    if (current.lost.signal.aborted) return false;
    const id = (this.#asked += 1);
    const answer = new Promise<boolean>((resolve) => {
      this.#answers.set(id, resolve);
      current.lost.signal.addEventListener('abort', () => resolve(false), { once: true });
    });
    this.#send({ type: 'ask', id, question });
    const isHeld = await answer;
    this.#answers.delete(id);
    if (!isHeld) current.lose();
    return isHeld;
  }

  #send(message: FromLane): void {
    this.#port.send(message);
  }
}

/** A run, and what its worker has said about it. */
class CurrentRun {
  readonly lost = new AbortController();
  readonly stop = new AbortController();
  readonly settled = Promise.withResolvers<boolean>();
  readonly #account: string;
  readonly #watch = new AbortController();
  #heardAtMs: number;

  constructor({ clock, leaseMs }: LinkParts, account: string) {
    this.#account = account;
    this.#heardAtMs = clock.monotonic();
    void this.#watchLease(clock, leaseMs);
  }

  heard(atMs: number): void {
    this.#heardAtMs = atMs;
  }

  lose(): void {
    this.lost.abort(describeLostLease(this.#account));
  }

  close(): void {
    this.#watch.abort();
  }

  /** Without a word from the worker for as long as a lease lasts, the lease may have ended. */
  async #watchLease(clock: Clock, leaseMs: number): Promise<void> {
    const { signal } = this.#watch;
    while (!signal.aborted) {
      await clock.sleep(leaseMs / 4, signal).catch(() => undefined);
      if (!signal.aborted && clock.monotonic() - this.#heardAtMs > leaseMs) this.lose();
    }
  }
}
