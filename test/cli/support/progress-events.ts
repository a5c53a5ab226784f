import { createProgressState } from '../../../src/cli/progress/progress-state.ts';
import type { ProgressState } from '../../../src/cli/progress/progress-state.ts';
import { reduceProgress } from '../../../src/cli/progress/reduce-progress.ts';
import type { ProgressEvent } from '../../../src/model/progress.ts';
import { NOW_MS } from './reports.ts';

/** An event and how many milliseconds after the start it came. */
export type TimedEvent = readonly [atMs: number, event: ProgressEvent];

/** The state after some events. */
export function replay(events: readonly TimedEvent[]): ProgressState {
  return events.reduce(
    (state, [atMs, event]) => reduceProgress(state, event, NOW_MS + atMs),
    createProgressState(NOW_MS),
  );
}

/** A page of the one stream tests read. */
export function page(pagesDone: number, pagesPlanned?: number): ProgressEvent {
  return {
    type: 'page-staged',
    stream: 'prompts_analytics',
    pagesDone,
    pagesPlanned,
    rowsDone: pagesDone * 100,
    rowsDeclared: pagesPlanned === undefined ? undefined : pagesPlanned * 100,
  };
}

/** The first events of a run of two streams. */
export const start: readonly TimedEvent[] = [
  [0, { type: 'run-started', runId: 'run-1', streams: ['prompts_analytics', 'commerce_category_products'] }],
  [0, { type: 'stream-started', stream: 'prompts_analytics', mode: 'full' }],
];
