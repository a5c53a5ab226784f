import { describe, expect, it } from 'vitest';
import {
  type AccountLoopOptions,
  type AccountTask,
  type RunLimits,
  runAccounts,
} from '../../src/accounts/run-accounts.ts';
import type { AccountEvent } from '../../src/model/accounts-report.ts';
import { AbortedError, AuthError, QuotaError } from '../../src/model/errors.ts';
import type { EndedRun } from '../../src/model/run-observer.ts';
import { toReportedError } from '../../src/model/run-report.ts';
import { makeRunReport, makeStreamReport } from '../cli/support/reports.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const MINUTE_MS = 60_000;

/** What one run of an account does: takes a while, then ends. */
interface Step {
  readonly tookMs?: number;
  /** Time after it has read all, to publish. */
  readonly publishesMs?: number;
  /** Loads in between, and then reads once more. */
  readonly loadsMs?: number;
  /** The quota returns this long after the run's end. */
  readonly resumeInMs?: number;
  /** Why it stops until then. */
  readonly code?: 'quota_exhausted' | 'deadline_reached';
  readonly fails?: true;
  readonly throwsAuth?: true;
  /** As nothing should. */
  readonly throws?: true;
}

function createLoop(
  scripts: Readonly<Record<string, readonly Step[]>>,
  options: Partial<AccountLoopOptions> = {},
) {
  const clock = createVirtualClock();
  const startMs = clock.now();
  const log: string[] = [];
  const limits: Record<string, RunLimits[]> = {};
  let atWork = 0;
  let most = 0;
  const say = (text: string) => void log.push(`${(clock.now() - startMs) / MINUTE_MS} ${text}`);
  const tasks = Object.entries(scripts).map(([name, steps]): AccountTask => {
    let run = 0;
    return {
      name,
      async run(given, onReading) {
        (limits[name] ??= []).push(given);
        const step = steps[run] ?? {};
        run += 1;
        atWork += 1;
        most = Math.max(most, atWork);
        await clock.sleep(step.tookMs ?? MINUTE_MS);
        if (step.loadsMs !== undefined) {
          onReading(false);
          await clock.sleep(step.loadsMs);
          onReading(true);
          await clock.sleep(step.tookMs ?? MINUTE_MS);
        }
        if (step.publishesMs !== undefined) {
          onReading(false);
          await clock.sleep(step.publishesMs);
        }
        atWork -= 1;
        if (step.throws === true) throw new Error('a defect');
        return endRun(step, clock);
      },
    };
  });
  const run = () =>
    runAccounts(tasks, {
      concurrency: 2,
      clock,
      onEvent: (event) => say(describe_(event)),
      ...options,
    });
  return { run, log, limits, clock, most: () => most };
}

function describe_(event: AccountEvent): string {
  if (event.type === 'account-ended') return `${event.end.account} ended ${event.end.exitCode}`;
  return `${event.account} ${event.type.slice('account-'.length)}`;
}

function endRun(
  { resumeInMs, code = 'quota_exhausted', fails, throwsAuth }: Step,
  clock: VirtualClock,
): EndedRun {
  const startedAtMs = clock.now();
  const refused = new AuthError('the key was rejected', { code: 'key_rejected', hint: 'Check it.' });
  if (throwsAuth === true) return { startedAtMs, error: refused };
  if (fails === true) {
    const error = toReportedError(refused);
    return { startedAtMs, report: makeRunReport({ exitCode: 3, status: 'failed', error }) };
  }
  if (resumeInMs === undefined) return { startedAtMs, report: makeRunReport() };
  const resumeAtMs = clock.now() + resumeInMs;
  const error = toReportedError(new QuotaError('the quota is spent', { code, hint: 'Later.', resumeAtMs }));
  const streams = [
    makeStreamReport({ stream: 'a' }),
    makeStreamReport({ stream: 'b', status: 'stopped', error }),
  ];
  return { startedAtMs, report: makeRunReport({ exitCode: 75, status: 'stopped', streams, error }) };
}

describe('a sync of several accounts', () => {
  it('runs as many at once as it may, in the order of the config', async () => {
    const loop = createLoop({ a: [{}], b: [{ tookMs: 3 * MINUTE_MS }], c: [{}], d: [{}] });
    const ends = await loop.run();
    expect(ends.map(({ account, exitCode }) => [account, exitCode])).toEqual([
      ['a', 0],
      ['b', 0],
      ['c', 0],
      ['d', 0],
    ]);
    expect(loop.most()).toBe(2);
    expect(loop.log).toEqual([
      '0 a started',
      '0 b started',
      '1 a ended 0',
      '1 c started',
      '2 c ended 0',
      '2 d started',
      '3 b ended 0',
      '3 d ended 0',
    ]);
  });

  it('lets the next one read while an account only publishes, with at most two of those', async () => {
    const publishes = { publishesMs: 9 * MINUTE_MS };
    const loop = createLoop({ a: [publishes], b: [publishes], c: [{}], d: [{}] }, { concurrency: 1 });
    await loop.run();
    expect(loop.most()).toBe(3);
    expect(loop.log).toEqual([
      '0 a started',
      '1 b started',
      '2 c started',
      '3 c ended 0',
      '3 d started',
      '4 d ended 0',
      '10 a ended 0',
      '11 b ended 0',
    ]);
    const full = createLoop({ a: [publishes], b: [publishes], c: [publishes], d: [{}] }, { concurrency: 1 });
    await full.run();
    expect(full.most()).toBe(3);
    expect(full.log).toContain('10 d started');
  });

  it('lets the next one read while an account loads, and takes no place for one that reads again', async () => {
    const loads = { loadsMs: 2 * MINUTE_MS };
    const loop = createLoop({ a: [loads], b: [{ tookMs: 9 * MINUTE_MS }], c: [{}] }, { concurrency: 1 });
    await loop.run();
    expect(loop.log).toEqual([
      '0 a started',
      '1 b started',
      '4 a ended 0',
      '10 b ended 0',
      '10 c started',
      '11 c ended 0',
    ]);
  });

  it('gives the place of one whose quota is spent to others, and continues it when the quota is back', async () => {
    const loop = createLoop({ a: [{ resumeInMs: 5 * MINUTE_MS }, {}], b: [{}], c: [{}] }, { concurrency: 1 });
    const [a] = await loop.run();
    expect(loop.log).toEqual([
      '0 a started',
      '1 a waiting',
      '1 b started',
      '2 b ended 0',
      '2 c started',
      '3 c ended 0',
      '6 a started',
      '7 a ended 0',
    ]);
    expect(a).toMatchObject({ exitCode: 0, runs: 2, resumeAt: undefined });
    expect(a?.report?.requests).toBe(84);
    expect(loop.limits['a']).toMatchObject([{ maxWaitMs: 0 }, { maxWaitMs: 0, completed: ['a'] }]);
    expect(loop.limits['a']?.[0]).not.toHaveProperty('completed');
  });

  it('keeps what fails in one out of the others', async () => {
    const loop = createLoop({ a: [{ throwsAuth: true }], b: [{ fails: true }], c: [{}] });
    const ends = await loop.run();
    expect(ends.map(({ exitCode }) => exitCode)).toEqual([3, 3, 0]);
    expect(ends[0]).toMatchObject({ report: undefined, error: { code: 'key_rejected' }, runs: 1 });
    expect(ends[1]?.error).toMatchObject({ code: 'key_rejected' });
  });

  it('comes to the end of all where a run of one throws what it never should', async () => {
    const loop = createLoop({ a: [{ throws: true }], b: [{ tookMs: 2 * MINUTE_MS }], c: [{}] });
    const ends = await loop.run();
    expect(ends.map(({ exitCode }) => exitCode)).toEqual([1, 0, 0]);
    expect(ends[0]?.error?.message).toContain('a defect');
  });

  it('does not wait longer than it may in all', async () => {
    const wait = { resumeInMs: 40 * MINUTE_MS };
    const loop = createLoop({ a: [wait, wait, {}] }, { maxWaitMs: 60 * MINUTE_MS });
    const [a] = await loop.run();
    expect(a).toMatchObject({ exitCode: 75, runs: 2 });
    expect(a?.resumeAt).toBe(new Date(loop.clock.now() + 40 * MINUTE_MS).toISOString());
    expect(await createLoop({ a: [wait] }, { maxWaitMs: 0 }).run()).toMatchObject([
      { exitCode: 75, runs: 1 },
    ]);
  });

  it('begins nothing after its deadline, and does not wait for a quota that returns later', async () => {
    const loop = createLoop(
      { a: [{ resumeInMs: 30 * MINUTE_MS }], b: [{ tookMs: 20 * MINUTE_MS }], c: [{}] },
      { concurrency: 1, deadlineMs: 20 * MINUTE_MS },
    );
    const ends = await loop.run();
    expect(ends).toMatchObject([
      { exitCode: 75, runs: 1, error: { code: 'quota_exhausted' } },
      { exitCode: 0 },
      { exitCode: 75, runs: 0, report: undefined, error: { code: 'deadline_reached' } },
    ]);
    expect(loop.limits['a']?.[0]?.deadlineMs).toBe(20 * MINUTE_MS);
    expect(loop.limits['b']?.[0]?.deadlineMs).toBe(19 * MINUTE_MS);
  });

  it('says when to run again, whatever ended it and asks for that', async () => {
    const inMs = 50 * MINUTE_MS;
    const loop = createLoop({ a: [{ resumeInMs: inMs, code: 'deadline_reached' }], b: [{ fails: true }] });
    const [a, b] = await loop.run();
    expect(a).toMatchObject({ exitCode: 75, runs: 1, error: { code: 'deadline_reached' } });
    expect(a?.resumeAt).toBe(new Date(loop.clock.now() + inMs).toISOString());
    expect(b?.resumeAt).toBeUndefined();
    const late = createLoop(
      { a: [{ tookMs: 2 * MINUTE_MS }], b: [{}] },
      { concurrency: 1, deadlineMs: MINUTE_MS },
    );
    expect((await late.run())[1]).toMatchObject({
      error: { code: 'deadline_reached' },
      resumeAt: new Date(late.clock.now() - MINUTE_MS).toISOString(),
    });
  });

  it('pauses before a run that may continue at once, so that it does not spin', async () => {
    const now = { tookMs: 0, resumeInMs: -MINUTE_MS };
    const loop = createLoop({ a: [now, now, now, {}] }, { maxWaitMs: 2_500 });
    expect(await loop.run()).toMatchObject([{ exitCode: 75, runs: 3 }]);
  });

  it('begins no other account once it is stopped, and names those that were not begun', async () => {
    const stop = new AbortController();
    const loop = createLoop(
      { a: [{ resumeInMs: 60 * MINUTE_MS }], b: [{ tookMs: 2 * MINUTE_MS }], c: [{}] },
      { concurrency: 1, signal: stop.signal },
    );
    const ended = loop.run();
    const reason = new AbortedError('stopped by SIGTERM', {
      code: 'aborted',
      hint: 'Run again.',
      exitCode: 143,
    });
    await loop.clock.sleep(2 * MINUTE_MS);
    stop.abort(reason);
    expect(await ended).toMatchObject([
      { exitCode: 143, runs: 1, error: { code: 'aborted' }, report: { exitCode: 75 } },
      { exitCode: 0, runs: 1 },
      { exitCode: 143, runs: 0, error: { code: 'aborted' } },
    ]);
  });

  it('survives a clock that is set forward and back while it waits', async () => {
    const loop = createLoop({ a: [{ resumeInMs: 10 * MINUTE_MS }, {}], b: [{ tookMs: 4 * MINUTE_MS }] });
    const ended = loop.run();
    await loop.clock.sleep(2 * MINUTE_MS);
    loop.clock.stepWall(30 * MINUTE_MS);
    expect(await ended).toMatchObject([{ exitCode: 0, runs: 2 }, { exitCode: 0 }]);
    expect(loop.clock.monotonic()).toBeLessThanOrEqual(6 * MINUTE_MS);
  });
});
