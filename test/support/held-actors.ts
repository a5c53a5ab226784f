import { AsyncLocalStorage } from 'node:async_hooks';
import { hookSteps } from './io-steps.ts';

/** One of those who work side by side; it stops before one of its steps, like a process that is paused. */
export interface Actor<T> {
  /** Resolves with the name of the step before which it is held, or undefined once its work has ended. */
  readonly stopped: Promise<string | undefined>;
  /** How many steps it has made. */
  countSteps(): number;
  /** Lets it go on to its end. */
  goOn(): Promise<PromiseSettledResult<T>>;
}

/** Steps of several actors. */
export interface Stage {
  /** Begins work that is held before its `at`th step, if it has so many; only those of these names count. */
  begin<T>(at: number, work: () => Promise<T>, only?: RegExp): Actor<T>;
  /** One more step, for what tests put in the place of a server. */
  step(name: string): Promise<void>;
  close(): void;
}

interface Part {
  readonly at: number;
  made: number;
  readonly only: RegExp | undefined;
  readonly hold: (name: string) => Promise<void>;
}

/** Watches the steps of actors: statements, and calls that concern a path for which `concerns` holds. */
export async function openStage(concerns: (path: string) => boolean): Promise<Stage> {
  const parts = new AsyncLocalStorage<Part>();
  function before(name: string): Promise<void> | undefined {
    const part = parts.getStore();
    if (part === undefined || part.only?.test(name) === false) return undefined;
    if ((part.made += 1) !== part.at) return undefined;
    return part.hold(name);
  }
  const close = await hookSteps({ before: ({ name }) => before(name) }, concerns);
  return {
    begin(at, work, only) {
      const { promise: stopped, resolve: stop } = Promise.withResolvers<string | undefined>();
      const { promise: free, resolve: goOn } = Promise.withResolvers<void>();
      const hold = (name: string) => {
        stop(name);
        return free;
      };
      const part: Part = { at, made: 0, only, hold };
      const end = parts.run(part, () => Promise.allSettled([work()]));
      void end.then(() => {
        stop(undefined);
      });
      return {
        stopped,
        countSteps: () => part.made,
        async goOn() {
          goOn();
          const [settled] = await end;
          return settled;
        },
      };
    },
    step: async (name) => before(name),
    close,
  };
}
