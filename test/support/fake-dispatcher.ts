import { Dispatcher } from 'undici';

/** An exchange as a dispatcher has it: the handler to tell it all, and what was asked of its wire. */
export interface DispatchedExchange {
  readonly handler: Required<Dispatcher.DispatchHandler>;
  readonly wire: Dispatcher.DispatchController;
  readonly asked: readonly ('pause' | 'resume' | 'abort')[];
}

/** Stands in for undici: nothing happens to a request but what the test says. */
export class FakeDispatcher extends Dispatcher {
  readonly exchanges: DispatchedExchange[] = [];

  override dispatch(_: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const asked: DispatchedExchange['asked'][number][] = [];
    const wire = {
      pause: () => asked.push('pause'),
      resume: () => asked.push('resume'),
      abort: () => asked.push('abort'),
    } as unknown as Dispatcher.DispatchController;
    this.exchanges.push({ handler: handler as Required<Dispatcher.DispatchHandler>, wire, asked });
    return true;
  }

  override destroy(): Promise<void> {
    return Promise.resolve();
  }
}
