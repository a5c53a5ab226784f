import { describe, expect, it } from 'vitest';
import { estimateFinish } from '../../../src/cli/progress/render-progress.ts';
import type { TimedEvent } from '../support/progress-events.ts';
import { page, replay, start } from '../support/progress-events.ts';
import { NOW_MS } from '../support/reports.ts';

describe('reduceProgress', () => {
  it('counts the time that was not spent waiting', () => {
    const state = replay([
      ...start,
      [1_000, page(1, 4)],
      [1_000, { type: 'waiting', reason: 'hourly-quota', untilMs: NOW_MS + 3_600_000 }],
      [3_600_000, { type: 'resumed' }],
      [3_601_000, page(2, 4)],
    ]);
    expect(state).toMatchObject({ activeMs: 2_000, pagesRead: 2, wait: undefined });
  });

  it('keeps the start of a wait that is prolonged', () => {
    const state = replay([
      ...start,
      [0, { type: 'waiting', reason: 'retry', untilMs: NOW_MS + 1_000 }],
      [500, { type: 'waiting', reason: 'hourly-quota', untilMs: NOW_MS + 9_000 }],
    ]);
    expect(state.wait).toEqual({ reason: 'hourly-quota', untilMs: NOW_MS + 9_000, sinceMs: NOW_MS });
  });

  it('continues with what an earlier run kept, and forgets it when the stream restarts', () => {
    const resumed = replay([
      ...start,
      [0, { type: 'stream-resumed', stream: 'prompts_analytics', pagesHeld: 3, rowsHeld: 300 }],
    ]);
    expect(resumed.streams[0]).toMatchObject({ pagesDone: 3, rowsDone: 300, rowsHeld: 300 });
    const restarted = replay([
      ...start,
      [0, { type: 'stream-resumed', stream: 'prompts_analytics', pagesHeld: 3, rowsHeld: 300 }],
      [0, { type: 'stream-restarted', stream: 'prompts_analytics', reason: 'the data moved' }],
    ]);
    expect(restarted.streams[0]).toMatchObject({ state: 'reading', pagesDone: 0, rowsHeld: 0 });
  });

  it('takes in a stream nobody announced', () => {
    expect(replay([[0, page(1)]]).streams.map(({ stream }) => stream)).toEqual(['prompts_analytics']);
  });
});

describe('estimateFinish', () => {
  // Ten pages of 110, ten a second.
  const tenPages: readonly TimedEvent[] = [
    ...start,
    ...Array.from({ length: 10 }, (_, i): TimedEvent => [(i + 1) * 100, page(i + 1, 110)]),
  ];

  it('knows nothing before a page was read or a size is known', () => {
    expect(estimateFinish(replay(start), NOW_MS)).toBeUndefined();
    expect(estimateFinish(replay([...start, [5_000, page(3)]]), NOW_MS)).toBeUndefined();
  });

  it('uses the speed so far', () => {
    const state = replay(tenPages);
    expect(estimateFinish(state, NOW_MS)).toEqual({ leftMs: 10_000, isWhole: false });
  });

  it('adds the windows the quota makes it wait for', () => {
    const quota = { type: 'quota', remaining: 20, limit: 60, resetAtMs: NOW_MS + 610_000 } as const;
    const state = replay([...tenPages, [1_000, quota]]);
    // 100 pages: 20 now, 10 minutes until the reset, 60 in the next window, an hour, 20 in the last.
    expect(estimateFinish(state, NOW_MS + 10_000)?.leftMs).toBe(600_000 + 3_600_000 + 2_000);
  });
});
