import { describe, expect, it } from 'vitest';
import { describeWorkerEvent } from '../../../src/cli/fleet/describe-worker.ts';
import type { WorkerEvent } from '../../../src/fleet/worker/worker-events.ts';
import { StorageError } from '../../../src/model/errors.ts';
import { makeRunReport, makeStreamReport } from '../support/reports.ts';

type Ended = Extract<WorkerEvent, { readonly type: 'run-ended' }>;

const error = { code: 'storage_failed', message: 'no room', hint: 'Free some.', exitCode: 6 } as const;

function ended(end: Partial<Ended['end']>, more: Partial<Ended> = {}): Ended {
  return {
    type: 'run-ended',
    account: 'acme',
    token: 4,
    end: {
      status: 'ended',
      exitCode: 0,
      report: makeRunReport({ requests: 22 }),
      error: undefined,
      resumeInMs: undefined,
      object: { name: 'acme/4-1.state', bytes: 1_000 },
      source: undefined,
      ...end,
    },
    nextInMs: 3_600_000,
    isAccepted: true,
    tookMs: 4_000.4,
    ...more,
  };
}

describe('a line of the log of a worker', () => {
  it.each<[string, WorkerEvent, string, string]>([
    [
      'a start',
      { type: 'run-started', account: 'acme', token: 4, isTakeover: false },
      'info',
      'acme: started',
    ],
    [
      'a takeover',
      { type: 'run-started', account: 'acme', token: 4, isTakeover: true },
      'info',
      'acme: started, after a run that did not end',
    ],
    ['a clean end', ended({}), 'info', 'acme: complete, 22 requests, 4 s, next in 1 h'],
    [
      'an end that read nothing',
      ended({ report: makeRunReport({ requests: 0, streams: [makeStreamReport({ status: 'fresh' })] }) }),
      'info',
      'acme: still fresh, 0 requests, 4 s, next in 1 h',
    ],
    [
      'an end without a next run',
      ended({}, { nextInMs: undefined }),
      'info',
      'acme: complete, 22 requests, 4 s',
    ],
    [
      'a deferral',
      ended({ exitCode: 75, error: { ...error, message: 'the quota is spent', exitCode: 75 } }),
      'info',
      'acme: exit code 75, 22 requests, 4 s, next in 1 h: the quota is spent',
    ],
    [
      'a failure',
      ended({ exitCode: 6, report: undefined, error }, { nextInMs: 15_000 }),
      'error',
      'acme: exit code 6, 0 requests, 4 s, next in 15 s: no room. Free some.',
    ],
    [
      'a refused end',
      ended({}, { isAccepted: false }),
      'warn',
      'acme: refused, because another worker has the account: nothing of this run counts',
    ],
    [
      'a lost lease',
      { type: 'run-lost', account: 'acme', token: 4 },
      'warn',
      'acme: the lease was lost, so its run was ended here; another worker continues',
    ],
    [
      'a stop',
      { type: 'draining', runs: 2 },
      'info',
      'stopping: no further account is taken, 2 runs to be put away',
    ],
    [
      'a stop without runs',
      { type: 'draining', runs: 0 },
      'info',
      'stopping: no further account is taken, no run is at work',
    ],
    ['a warning', { type: 'warning', message: 'the queue: slow' }, 'warn', 'the queue: slow'],
    ['a warning of an account', { type: 'warning', account: 'acme', message: 'slow' }, 'warn', 'acme: slow'],
    [
      'a database that is away',
      {
        type: 'database-away',
        error: new StorageError('db is away', { code: 'storage_failed', hint: 'Start it.' }),
      },
      'error',
      'db is away. Runs go on while their leases last; trying again',
    ],
    ['a database that is back', { type: 'database-back' }, 'info', "the fleet's database answers again"],
  ])('tells %s', (_, event, level, message) => {
    expect(describeWorkerEvent(event)).toMatchObject({ level, message });
  });

  it('gives programs the numbers of a run', () => {
    expect(describeWorkerEvent(ended({ exitCode: 6, error })).fields).toEqual({
      type: 'run-ended',
      account: 'acme',
      token: 4,
      exitCode: 6,
      isAccepted: true,
      requests: 22,
      rowsRead: makeRunReport().rows.read,
      objectBytes: 1_000,
      nextInMs: 3_600_000,
      tookMs: 4_000,
      error,
    });
  });
});
