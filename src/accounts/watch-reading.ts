import type { RunObserver } from '../model/run-observer.ts';

/** Notices when a run asks the API for nothing, so that another account may take its place. */
export function watchReading(onReading: (isReading: boolean) => void): RunObserver {
  return {
    name: 'the places of accounts',
    onEvent: ({ type }) => {
      if (type === 'stream-started' || type === 'stream-restarted') onReading(true);
      else if (type === 'stream-loading' || type === 'reading-finished') onReading(false);
    },
  };
}
