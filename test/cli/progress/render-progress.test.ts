import { describe, expect, it } from 'vitest';
import type { ProgressState } from '../../../src/cli/progress/progress-state.ts';
import { renderProgress } from '../../../src/cli/progress/render-progress.ts';
import { page, replay, start } from '../support/progress-events.ts';
import type { TimedEvent } from '../support/progress-events.ts';
import { NOW_MS, makeStreamReport } from '../support/reports.ts';

function render(state: ProgressState, columns: number, atMs = 0, hasUnicode = true): readonly string[] {
  const paint = (_style: unknown, text: string) => text;
  return renderProgress(state, { columns, nowMs: NOW_MS + atMs, hasUnicode, paint }).split('\n');
}

const quota: TimedEvent = [2_000, { type: 'quota', remaining: 590, limit: 600, resetAtMs: NOW_MS + 720_000 }];
const reading = replay([...start, [1_000, page(5, 20)], [2_000, page(10, 20)], quota]);

describe('renderProgress', () => {
  it('draws a line for each stream, then the quota and what is left to do', () => {
    expect(render(reading, 100)).toEqual([
      '› prompts_analytics           ████████░░░░░░░░  50 %  10/20 pages  1,000 rows  500 rows/s',
      '· commerce_category_products  queued',
      '590 of 600 requests left until 14:00 UTC, at least 10 s to go',
    ]);
  });

  it('leaves the least important parts out first', () => {
    expect(render(reading, 80)[0]).toBe(
      '› prompts_analytics           ████████░░░░░░░░  50 %  10/20 pages  1,000 rows',
    );
    expect(render(reading, 50)[0]).toBe('› prompts_analytics            50 %  10/20 pages');
    expect(render(reading, 40)[0]).toBe('› prompts_analytics            50 %');
    expect(render(reading, 20)[1]).toBe('· commerce_category…');
  });

  it.each([20, 30, 40, 60, 80, 120])('never draws a line wider than %i columns', (columns) => {
    const waiting = replay([
      ...start,
      [1_000, page(5, 20)],
      [1_000, { type: 'waiting', reason: 'rate-limited', untilMs: NOW_MS + 7_200_000 }],
      [1_000, { type: 'publishing', path: `/very/${'long/'.repeat(40)}path.duckdb` }],
    ]);
    for (const state of [reading, waiting, { ...waiting, wait: undefined }]) {
      for (const unicode of [true, false]) {
        const widths = render(state, columns, 2_000, unicode).map((line) => line.length);
        expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
      }
    }
  });

  it('says what it waits for, counting down', () => {
    const until = NOW_MS + 720_000;
    const waiting = replay([...start, [0, { type: 'waiting', reason: 'hourly-quota', untilMs: until }]]);
    expect(render(waiting, 80).at(-1)).toBe('waiting for the quota until 14:00 UTC (12 min left)');
    expect(render(waiting, 80, 690_000).at(-1)).toBe('waiting for the quota (30 s left)');
    expect(render(waiting, 80, 990_000).at(-1)).toBe('waiting for the quota (0 s left)');
  });

  it('does not mention waits that are part of the pace', () => {
    const waiting = replay([...start, [0, { type: 'waiting', reason: 'burst', untilMs: NOW_MS + 900 }]]);
    expect(render(waiting, 80).join('\n')).not.toContain('waiting');
  });

  it('shows how each stream ended', () => {
    const error = { code: 'server_failed', message: 'm', hint: 'h', exitCode: 75 } as const;
    const state = replay([
      ...start,
      [0, { type: 'stream-finished', report: makeStreamReport() }],
      [
        0,
        {
          type: 'stream-finished',
          report: makeStreamReport({ stream: 'commerce_category_products', status: 'failed', error }),
        },
      ],
    ]);
    expect(render(state, 80)).toEqual([
      '✓ prompts_analytics           verified  100 new, 0 changed, 0 unchanged',
      '✗ commerce_category_products  failed',
    ]);
  });

  it('draws with ASCII where the locale knows nothing else', () => {
    expect(render(reading, 100, 0, false).join('')).toMatch(/^[\x20-\x7e]+$/);
  });
});
