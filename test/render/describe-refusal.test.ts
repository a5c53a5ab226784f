import { describe, expect, it } from 'vitest';
import { toReportedError } from '../../src/model/run-report.ts';
import { describeRefusal } from '../../src/render/describe-refusal.ts';
import { wrapDatabaseError } from '../../src/warehouse/database-errors.ts';

const startedAt = '2026-11-20T14:07:00.000Z';
const LOCKED = 'IO Error: Could not set lock on file "/s/work.duckdb": Conflicting lock is held';

/** What is said later of a sync that found the work file open. */
function tell(detail: string): string {
  const error = toReportedError(wrapDatabaseError(new Error(`${LOCKED}${detail}`), '/s/work.duckdb'));
  return describeRefusal({ startedAt, since: startedAt, times: 1, error });
}

describe('a sync that was turned away', () => {
  it('names the program that had the work file open', () => {
    expect(tell(' in /usr/bin/python3.13 (PID 77).')).toMatch(
      /^A sync was turned away .* UTC: \/usr\/bin\/python3\.13 \(PID 77\) had \/s\/work\.duckdb open\.\n {2}next: once that/,
    );
    expect(tell('')).toContain(': another program had /s/work.duckdb open.\n');
  });

  it('quotes what else was in the way', () => {
    const message = 'another run publishes to /w.duckdb';
    const error = { code: 'state_locked', message, hint: '', exitCode: 75 } as const;
    expect(describeRefusal({ startedAt, since: startedAt, times: 1, error })).toContain(`: ${message}.\n`);
  });
});
