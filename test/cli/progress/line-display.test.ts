import { describe, expect, it } from 'vitest';
import type { LogLine } from '../../../src/cli/progress/describe-event.ts';
import type { ProgressEvent } from '../../../src/model/progress.ts';
import { createLineDisplay } from '../../../src/cli/progress/line-display.ts';
import { createLogWriter } from '../../../src/cli/progress/log-writer.ts';
import { stoppedClock } from '../support/capture.ts';
import { page, start } from '../support/progress-events.ts';
import type { TimedEvent } from '../support/progress-events.ts';
import { NOW_MS, makeStreamReport } from '../support/reports.ts';

function display(events: readonly TimedEvent[], showsPages = true): readonly LogLine[] {
  const lines: LogLine[] = [];
  let nowMs = NOW_MS;
  const clock = { ...stoppedClock, now: () => nowMs };
  const { onProgress } = createLineDisplay(clock, (line) => lines.push(line), { showsPages });
  for (const [atMs, event] of events) {
    nowMs = NOW_MS + atMs;
    onProgress(event);
  }
  return lines;
}

function readMessages(events: readonly TimedEvent[], showsPages = true): readonly string[] {
  return display(events, showsPages).map(({ message }) => message);
}

describe('pages', () => {
  it('get one line for every tenth, and never two within a second', () => {
    const pages = Array.from({ length: 600 }, (_, i) => [i * 100, page(i + 1, 600)] as const);
    const messages = readMessages(pages);
    expect(messages).toHaveLength(10);
    expect(messages[1]).toBe('prompts_analytics: 61 of 600 pages, 6,100 of 60,000 rows');
    const quick = Array.from({ length: 10 }, (_, i) => [i * 100, page(i + 1, 10)] as const);
    expect(readMessages(quick)).toHaveLength(1);
  });

  it('get a line now and then where the end is not known or far', () => {
    const pages = Array.from({ length: 60 }, (_, i) => [i * 1_000, page(i + 1)] as const);
    expect(readMessages(pages)).toEqual([
      'prompts_analytics: 1 page, 100 rows',
      'prompts_analytics: 16 pages, 1,600 rows',
      'prompts_analytics: 31 pages, 3,100 rows',
      'prompts_analytics: 46 pages, 4,600 rows',
    ]);
  });

  it('of a single answer that comes in parts end at its real count', () => {
    const part = (rowsDone: number): ProgressEvent => ({
      type: 'page-staged',
      stream: 'visibility_mentions',
      pagesDone: 1,
      pagesPlanned: 1,
      rowsDone,
      rowsDeclared: 950,
    });
    const quick = [part(735), part(950)].map((event, at) => [at * 10, event] as const);
    expect(readMessages(quick)).toEqual(['visibility_mentions: 1 of 1 page, 950 of 950 rows']);
    const slow = [part(300), part(735), part(950)].map((event, at) => [at * 1_500, event] as const);
    expect(readMessages(slow)).toEqual([
      'visibility_mentions: 1 of 1 page, 735 of 950 rows',
      'visibility_mentions: 1 of 1 page, 950 of 950 rows',
    ]);
  });

  it('get none with --no-progress, but the rest stays', () => {
    expect(readMessages([...start, [0, page(1, 2)]], false)).toEqual([
      'run run-1: 2 streams',
      'prompts_analytics: reading in full',
    ]);
  });
});

describe('failures', () => {
  it('name their stream once', () => {
    const message = 'prompts_analytics, offset 0: answered 500';
    const error = { code: 'server_failed', message, hint: 'Wait.', exitCode: 75 } as const;
    const report = makeStreamReport({ status: 'failed', error });
    expect(readMessages([[0, { type: 'stream-finished', report }]])).toEqual([message]);
  });

  it.each([
    ['failed', 'error'],
    ['stopped', 'warn'],
  ] as const)('of a stream that is %s are a line of level %s', (status, level) => {
    const error = { code: 'aborted', message: 'It ended.', hint: 'Look.', exitCode: 143 } as const;
    const report = makeStreamReport({ status, error });
    expect(display([[0, { type: 'stream-finished', report }]])).toMatchObject([{ level }]);
  });
});

describe('waits', () => {
  const until = NOW_MS + 720_000;

  it('get a line when they begin and when they end', () => {
    const messages = readMessages([
      [0, { type: 'waiting', reason: 'hourly-quota', untilMs: until }],
      [10, { type: 'waiting', reason: 'hourly-quota', untilMs: until }],
      [720_000, { type: 'resumed' }],
    ]);
    expect(messages).toEqual(['waiting for the quota until 14:00 UTC (12 min left)', 'waited 12 min']);
  });

  it('for an answer to another run name it, and how long they may last', () => {
    const messages = readMessages([
      [2_000, { type: 'waiting', reason: 'other-run', untilMs: NOW_MS + 41_000 }],
      [3_000, { type: 'resumed' }],
    ]);
    expect(messages).toEqual([
      'waiting for an answer to another, perhaps killed, run with this key (at most 39 s left)',
      'waited 1 s',
    ]);
  });

  it('get another when they are prolonged', () => {
    const messages = readMessages([
      [0, { type: 'waiting', reason: 'retry', untilMs: NOW_MS + 5_000 }],
      [5_000, { type: 'waiting', reason: 'rate-limited', untilMs: until }],
    ]);
    expect(messages).toEqual([
      'waiting for the next attempt (5 s left)',
      'waiting for the pause the server asked for (429) until 14:00 UTC (11 min left)',
    ]);
  });

  it('get none when they are part of the pace', () => {
    const messages = readMessages([
      [0, { type: 'waiting', reason: 'burst', untilMs: NOW_MS + 900 }],
      [900, { type: 'resumed' }],
    ]);
    expect(messages).toEqual([]);
  });
});

describe('levels', () => {
  it('distinguish failures and drift from the rest', () => {
    const error = { code: 'server_failed', message: 'answered 500', hint: 'h', exitCode: 75 } as const;
    const lines = display([
      [0, { type: 'stream-finished', report: makeStreamReport() }],
      [0, { type: 'stream-finished', report: makeStreamReport({ verdict: 'drifted' }) }],
      [0, { type: 'stream-finished', report: makeStreamReport({ status: 'failed', error }) }],
      [0, { type: 'warning', stream: 's', message: 'odd' }],
      [0, { type: 'stream-restarted', stream: 's', reason: 'the data moved' }],
    ]);
    expect(lines.map(({ level }) => level)).toEqual(['info', 'warn', 'error', 'warn', 'warn']);
  });
});

describe('the log writer', () => {
  const line: LogLine = { level: 'warn', message: 'odd \u001b[2J\nforged', fields: { stream: 's' } };
  const write = (format: 'pretty' | 'json', level: 'info' | 'error' = 'info') => {
    const lines: string[] = [];
    const options = {
      level,
      format,
      colours: false,
      now: () => NOW_MS,
      write: (text: string) => lines.push(text),
    };
    createLogWriter(options)(line);
    return lines;
  };

  it('writes one plain line that no server text can break', () => {
    expect(write('pretty')).toEqual([String.raw`[2026-11-20T13:48:00Z] WARN: odd \x1b[2J forged`]);
  });

  it('writes one JSON object a line', () => {
    expect(JSON.parse(write('json')[0] ?? '')).toEqual({
      level: 'warn',
      time: '2026-11-20T13:48:00.000Z',
      stream: 's',
      msg: String.raw`odd \x1b[2J forged`,
    });
  });

  it('keeps to its level', () => {
    expect(write('pretty', 'error')).toEqual([]);
  });
});
