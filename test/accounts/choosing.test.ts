import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinReports, listCompleted } from '../../src/accounts/join-reports.ts';
import { judgeAccounts } from '../../src/accounts/judge-accounts.ts';
import { matchAccounts, matchesPattern } from '../../src/accounts/match-accounts.ts';
import type { ExitCode } from '../../src/model/errors.ts';
import { makeRunReport, makeStreamReport } from '../cli/support/reports.ts';
import { countRuns } from '../support/seeds.ts';

describe('naming accounts', () => {
  const names = ['acme', 'globex', 'globex-eu', 'initech'];

  it.each([
    [undefined, names],
    [['*'], names],
    [['globex*'], ['globex', 'globex-eu']],
    [
      ['initech', 'acme'],
      ['acme', 'initech'],
    ],
    [['?cme', 'acme'], ['acme']],
  ])('%j means %j, in the order of the config', (patterns, found) => {
    expect(matchAccounts(names, patterns)).toEqual(found);
  });

  it('refuses a name that the config does not have, and suggests another', () => {
    expect(() => matchAccounts(names, ['acme', 'globx'])).toThrow(
      'no account is called "globx"; did you mean "globex"?',
    );
    expect(() => matchAccounts(names, ['acm.'])).toThrow('no account is called');
  });
});

describe('a pattern of account names', () => {
  /** Tries everything that a star may stand for. */
  const isLike = (name: string, pattern: string): boolean => {
    if (pattern === '') return name === '';
    const rest = pattern.slice(1);
    if (pattern.startsWith('*')) return isLike(name, rest) || (name !== '' && isLike(name.slice(1), pattern));
    return name !== '' && (pattern.startsWith('?') || pattern[0] === name[0]) && isLike(name.slice(1), rest);
  };

  it('means what trying everything finds', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'b', '-'), maxLength: 8 }),
        fc.string({ unit: fc.constantFrom('a', 'b', '-', '*', '?'), maxLength: 8 }),
        (name, pattern) => matchesPattern(name, pattern) === isLike(name, pattern),
      ),
      { numRuns: countRuns(8_000) },
    );
  });

  it('is decided at once, however many stars it has', () => {
    const pattern = `${'*a'.repeat(31)}b`;
    const started = performance.now();
    expect(matchesPattern('a'.repeat(63), pattern)).toBe(false);
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});

describe('the exit code of several accounts', () => {
  it.each([
    [[0, 0], 0],
    [[0, 3], 5],
    [[3, 3], 3],
    [[3, 4], 5],
    [[75, 0], 75],
    [[75, 75], 75],
    [[75, 0, 3], 5],
    [[75, 3], 5],
    [[5, 0], 5],
    [[5, 5], 5],
    [[2, 2], 2],
    [[130, 0], 130],
    [[0, 143, 3], 143],
    [[0, 1, 75], 1],
  ] as const)('%j: %i', (codes: readonly ExitCode[], expected) => {
    expect(judgeAccounts(codes)).toBe(expected);
  });
});

describe('a run and the one that continued it', () => {
  const first = makeRunReport({
    requests: 6,
    waitedMs: 10,
    warnings: ['one'],
    streams: [
      makeStreamReport({ stream: 'a' }),
      makeStreamReport({ stream: 'b', slice: 'x=1' }),
      makeStreamReport({ stream: 'b', slice: 'x=2', status: 'stopped' }),
      makeStreamReport({ stream: 'c', status: 'not-run' }),
    ],
  });

  it('does not read again what was completed', () => {
    expect(listCompleted(first)).toEqual(['a', 'b (x=1)']);
  });

  it('is one report: each scan as it was read, the sum of what was spent', () => {
    const fresh = { status: 'fresh', rows: { ...first.rows, read: 0, inserted: 0 } } as const;
    const second = makeRunReport({
      runId: 'run-2',
      requests: 4,
      waitedMs: 5,
      warnings: ['one', 'two'],
      published: undefined,
      streams: [
        makeStreamReport({ stream: 'a', ...fresh }),
        makeStreamReport({ stream: 'b', slice: 'x=1', ...fresh }),
        makeStreamReport({ stream: 'b', slice: 'x=2', requests: 9 }),
        makeStreamReport({ stream: 'c' }),
      ],
    });
    const joined = joinReports(first, second);
    expect(joined).toMatchObject({ runId: 'run-2', requests: 10, waitedMs: 15, warnings: ['one', 'two'] });
    expect(joined.rows.inserted).toBe(200);
    expect(joined.published).toEqual(first.published);
    expect(joined.streams.map(({ status }) => status)).toEqual([
      'complete',
      'complete',
      'complete',
      'complete',
    ]);
    expect(joined.streams[0]?.rows.inserted).toBe(100);
    expect(joined.streams[2]?.requests).toBe(9);
    expect(joinReports(undefined, second)).toBe(second);
  });
});
