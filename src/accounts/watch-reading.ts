import type { RunObserver } from '../model/run-observer.ts';

/** Notices when a run reads no more, so that another account may take its place. */
export function watchReading(onRead: () => void): RunObserver {
  return {
    name: 'the places of accounts',
    onEvent: ({ type }) => {
      if (type === 'reading-finished') onRead();
    },
  };
}
