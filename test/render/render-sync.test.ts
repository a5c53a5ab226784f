import { describe, expect, it } from 'vitest';
import { renderRunReport } from '../../src/render/render-sync.ts';
import { summarizeRun } from '../../src/render/describe-run.ts';
import type { RunReport } from '../../src/model/run-report.ts';
import { NOW_MS, makeRunReport, makeStreamReport } from '../cli/support/reports.ts';

function render(report: RunReport, columns?: number): string {
  return renderRunReport(report, { nowMs: NOW_MS, columns });
}

const rows = { read: 300, inserted: 20, updated: 3, unchanged: 277, deleted: 0, quarantined: 0 };
const good = makeStreamReport({
  stream: 'visibility_mentions',
  rows,
  rowsInTable: 1_200,
  reasons: ['learned the key (date, mention_id)'],
  schemaChanges: [
    { column: 'sentiment', change: 'added', fromType: undefined, toType: 'DOUBLE' },
    { column: 'rank', change: 'widened', fromType: 'BIGINT', toType: 'DOUBLE' },
  ],
});
const error = {
  code: 'server_failed',
  message: 'answered 500 five times',
  hint: 'Wait.',
  exitCode: 75,
} as const;
const bad = makeStreamReport({
  stream: 'prompts_analytics',
  status: 'failed',
  pages: 12,
  rowsInTable: 500,
  error,
});
const fresh = makeStreamReport({ stream: 'commerce_top_products', status: 'fresh', verdict: undefined });

describe('a run without trouble', () => {
  it('is a table and what it cost', () => {
    expect(render(makeRunReport({ streams: [good], retries: 2, waitedMs: 720_000 }))).toBe(
      [
        'STREAM               VERDICT   NEW  CHANGED  SAME  IN TABLE  REQUESTS  NOTE',
        'visibility_mentions  verified   20        3   277     1,200         2  ' +
          'learned the key (date, mention_id); new column: sentiment; rank is now DOUBLE (was BIGINT)',
        '',
        '42 requests used (2 retries); 558 of 600 requests left until 14:00 UTC; waited 12 min; took 1 min 5 s.',
        'Published /data/warehouse.duckdb (4.2 MB). Readers may keep it open; they see the new data once they close it and open it again.',
      ].join('\n'),
    );
  });

  it('does not list the columns of a new table one by one', () => {
    const columns = ['a', 'b', 'c'].map((column) => {
      return { column, change: 'added', fromType: undefined, toType: 'BIGINT' } as const;
    });
    expect(render(makeRunReport({ streams: [makeStreamReport({ schemaChanges: columns })] }))).toContain(
      '3 columns learned',
    );
  });

  it('says why a stream was left alone', () => {
    const text = render(makeRunReport({ streams: [fresh], published: undefined }));
    expect(text).toMatch(/commerce_top_products +fresh +- +- +- .*--force/);
    expect(text).not.toContain('Published');
  });
});

describe('a run with trouble', () => {
  it('says what failed, what is safe and what to do next', () => {
    const text = render(makeRunReport({ streams: [good, bad], exitCode: 5, error }));
    expect(text).toContain(
      [
        'prompts_analytics failed: answered 500 five times',
        '  safe: the 500 rows of earlier runs are untouched; 12 pages already read are kept',
        '  next: Wait.',
      ].join('\n'),
    );
    const onePage = render(makeRunReport({ streams: [{ ...bad, pages: 1 }], exitCode: 5, error }));
    expect(onePage).toContain('1 page already read is kept\n');
    // The run's error is the stream's and told once.
    expect(text.match(/answered 500/g)).toHaveLength(1);
  });

  it('reports a failure of the run itself', () => {
    const publish = {
      code: 'publish_failed',
      message: 'no space left',
      hint: 'Free some.',
      exitCode: 6,
    } as const;
    const text = render(makeRunReport({ status: 'failed', exitCode: 6, error: publish }));
    expect(text).toContain('the run failed: no space left\n  next: Free some.');
  });

  it('says when to come back', () => {
    const resumeAt = new Date(NOW_MS + 720_000).toISOString();
    expect(render(makeRunReport({ exitCode: 75, resumeAt }))).toMatch(
      /^Run the same command again from 14:00:00 UTC.* on: it continues/m,
    );
    expect(render(makeRunReport({ exitCode: 75 }))).toContain('Run the same command again later');
    expect(render(makeRunReport({ resumeAt }))).not.toContain('Run the same command again');
  });

  it('names no time to come back at where none has to be waited for', () => {
    for (const code of ['request_limit_reached', 'deadline_reached'] as const) {
      const ended = { ...error, code };
      const text = render(makeRunReport({ status: 'stopped', exitCode: 75, error: ended }));
      expect(text).toContain('Run the same command again: it continues from here.');
    }
    const resumeAt = new Date(NOW_MS - 1).toISOString();
    expect(render(makeRunReport({ exitCode: 75, resumeAt }))).toContain('Run the same command again: it');
  });

  it('says what a signal left committed and unpublished', () => {
    const streams = [good, makeStreamReport({ stream: 'late', status: 'not-run' })];
    const stopped = makeRunReport({ status: 'interrupted', exitCode: 130, streams, published: undefined });
    expect(render(stopped)).toMatch(/^visibility_mentions is committed, but not published yet: .*next run/m);
    expect(render({ ...stopped, streams: streams.slice(1) })).not.toContain('committed');
  });

  it('counts in its summary what was not reached', () => {
    const streams = [
      good,
      bad,
      ...['a', 'b'].map((stream) => makeStreamReport({ stream, status: 'not-run' })),
    ];
    expect(summarizeRun(makeRunReport({ streams }))).toContain('3 streams not complete');
  });

  it('escapes what the server said', () => {
    const hostile = { ...error, message: 'boo\u001b[2J\u202e', hint: 'x\u0007' };
    const text = render(makeRunReport({ streams: [{ ...bad, error: hostile }], warnings: ['w\u001b]0;t'] }));
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
  });
});

describe('on a terminal', () => {
  const report = makeRunReport({ streams: [good, fresh] });

  it('notes stand below a table they do not fit next to', () => {
    const lines = render(report, 90).split('\n');
    expect(lines).toContain(
      'visibility_mentions: learned the key (date, mention_id); new column: sentiment; rank is',
    );
    expect(lines.filter((line) => line.length > 90)).toEqual([]);
    expect(lines[0]).not.toContain('NOTE');
  });

  it('a table that does not fit becomes a list', () => {
    const text = render(report, 40);
    expect(text).toMatch(
      /^visibility_mentions\n {2}verified\n {2}new 20, changed 3, unchanged 277\n {2}in table 1,200$/m,
    );
    expect(text).not.toContain('STREAM');
  });
});
