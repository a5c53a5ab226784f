import { describe, expect, it } from 'vitest';
import { createAccountsLines } from '../../../src/cli/progress/accounts-lines.ts';
import type { LogLine } from '../../../src/cli/progress/describe-event.ts';
import type { AccountEnd, AccountEvent } from '../../../src/model/accounts-report.ts';
import type { ReportedError } from '../../../src/model/run-report.ts';
import type { ProgressEvent } from '../../../src/model/progress.ts';
import { keyRefused, makeAccountEnd } from '../support/account-ends.ts';
import { stoppedClock } from '../support/capture.ts';
import { page } from '../support/progress-events.ts';
import { makeStreamReport, NOW_MS } from '../support/reports.ts';

/** An event of an account, or of the run of the account that is named, and when it came. */
type Happened = readonly [atMs: number, event: AccountEvent] | readonly [number, string, ProgressEvent];

function display(events: readonly Happened[], showsPages = true): readonly LogLine[] {
  const lines: LogLine[] = [];
  let nowMs = NOW_MS;
  const clock = { ...stoppedClock, now: () => nowMs };
  const shown = createAccountsLines(clock, (line) => lines.push(line), { showsPages });
  for (const [atMs, event, progress] of events) {
    nowMs = NOW_MS + atMs;
    if (typeof event !== 'string') shown.onAccount(event);
    else if (progress !== undefined) shown.follow(event)(progress);
  }
  shown.close();
  return lines;
}

const readMessages = (events: readonly Happened[], showsPages = true) =>
  display(events, showsPages).map(({ message }) => message);

const begin = (account: string, run = 1) => ({ type: 'account-started', account, run }) as const;
const wait = (account: string, untilMs: number) => ({ type: 'account-waiting', account, untilMs }) as const;
const end = (account: string, changes: Partial<AccountEnd> = {}): AccountEvent => ({
  type: 'account-ended',
  end: makeAccountEnd(account, changes),
});
const runStarted = (runId: string) =>
  ({ type: 'run-started', runId, streams: ['prompts_analytics'] }) as const;

describe('the lines of several accounts', () => {
  it('each begin with the name of their account', () => {
    expect(
      readMessages([
        [0, begin('acme')],
        [0, begin('globex')],
        [0, 'acme', runStarted('run-a')],
        [0, 'globex', runStarted('run-g')],
        [0, 'globex', page(1, 10)],
        [0, 'acme', page(2, 10)],
        [0, 'acme', { type: 'warning', stream: 'prompts_analytics', message: 'odd' }],
        [0, end('acme')],
      ]),
    ).toEqual([
      'acme: run run-a: 1 stream',
      'globex: run run-g: 1 stream',
      'globex: prompts_analytics: 1 of 10 pages, 100 of 1,000 rows',
      'acme: prompts_analytics: 2 of 10 pages, 200 of 1,000 rows',
      'acme: prompts_analytics: odd',
      'acme: complete',
    ]);
  });

  it('have the account as a value of their own, for machines', () => {
    const [run, done] = display([
      [0, 'acme', runStarted('run-a')],
      [0, end('acme')],
    ]);
    expect(run).toMatchObject({ level: 'info', fields: { account: 'acme', runId: 'run-a' } });
    expect(done?.fields).toEqual({
      type: 'account-ended',
      account: 'acme',
      exitCode: 0,
      runId: 'run-1',
      requests: 42,
    });
  });

  const ended = (stream: string, error: ReportedError): ProgressEvent => ({
    type: 'stream-finished',
    report: makeStreamReport({ stream, status: 'failed', verdict: undefined, error }),
  });

  it('tell of a stream that the quota stopped as of nothing that failed', () => {
    const error = {
      code: 'quota_exhausted',
      message: 'the quota is used up; it goes on in 40m, which is longer than this run may wait',
      hint: 'Run again.',
      exitCode: 75,
    } as const;
    const lines = display([
      [0, begin('acme')],
      [0, 'acme', ended('prompts_analytics', error)],
      [0, wait('acme', NOW_MS + 2_400_000)],
    ]);
    expect(lines.map(({ level }) => level)).toEqual(['info', 'info']);
    expect(lines[0]).toMatchObject({
      message: 'acme: prompts_analytics: the quota is used up; its progress is saved',
      fields: { account: 'acme', error: { code: 'quota_exhausted' } },
    });
  });

  it('say once why an account failed', () => {
    const error = {
      code: 'key_rejected',
      message: 'prompts_analytics: the API answered 401',
      hint: 'Renew the key.',
      exitCode: 3,
    } as const;
    const lines = display([
      [0, begin('acme')],
      [0, 'acme', ended('prompts_analytics', error)],
      [0, end('acme', { exitCode: 3, error })],
      [0, end('globex', { exitCode: 3, error })],
    ]);
    expect(lines.map(({ message }) => message)).toEqual([
      'acme: prompts_analytics: the API answered 401',
      'acme: not complete, exit code 3',
      'globex: prompts_analytics: the API answered 401',
    ]);
    expect(lines[1]).toMatchObject({ level: 'error', fields: { type: 'account-ended', error } });
  });

  it('say it once where the line of the stream has its name in front', () => {
    const lines = display([
      [0, 'acme', ended('prompts_analytics', keyRefused)],
      [0, end('acme', { exitCode: 3, error: keyRefused })],
    ]);
    expect(lines.map(({ message }) => message)).toEqual([
      'acme: prompts_analytics: the key was refused',
      'acme: not complete, exit code 3',
    ]);
  });

  it('keep the pace of each account apart', () => {
    const pages = (account: string) =>
      Array.from({ length: 10 }, (_, at): Happened => [at * 100, account, page(at + 1, 10)]);
    expect(readMessages(pages('acme'))).toHaveLength(1);
    expect(readMessages([...pages('acme'), ...pages('globex')])).toHaveLength(2);
  });

  it('leave pages out with --no-progress, but nothing of the accounts', () => {
    const events: readonly Happened[] = [
      [0, 'acme', page(1, 10)],
      [0, wait('acme', NOW_MS + 720_000)],
      [0, end('acme')],
    ];
    expect(readMessages(events, false)).toEqual([
      'acme: waiting for the quota until 14:00 UTC (12 min left)',
      'acme: complete',
    ]);
  });
});

describe('an account that waits for its quota', () => {
  it('says until when, and that it continues', () => {
    const lines = display([
      [0, begin('acme')],
      [0, wait('acme', NOW_MS + 720_000)],
      [720_000, begin('acme', 2)],
    ]);
    expect(lines.map(({ message }) => message)).toEqual([
      'acme: waiting for the quota until 14:00 UTC (12 min left)',
      'acme: the quota is back: continuing',
    ]);
    expect(lines[0]?.fields).toEqual({ ...wait('acme', NOW_MS + 720_000) });
  });

  it('counts its pages again in the next run', () => {
    const messages = readMessages([
      [0, begin('acme')],
      [0, 'acme', page(5, 10)],
      [100, 'acme', page(6, 10)],
      [200, begin('acme', 2)],
      [300, 'acme', page(6, 10)],
    ]);
    expect(messages.filter((line) => line.includes('of 10 pages'))).toHaveLength(2);
  });
});

describe('an account that ended', () => {
  const error = keyRefused;

  it.each([
    ['that failed', { exitCode: 3, error, report: undefined }, 'error', 'acme: the key was refused'],
    [
      'that names itself',
      { exitCode: 3, error: { ...error, message: 'acme: refused' } },
      'error',
      'acme: refused',
    ],
    ['that is to be continued', { exitCode: 75, error: undefined }, 'warn', 'acme: exit code 75'],
    ['that was stopped', { exitCode: 143, error: undefined }, 'error', 'acme: exit code 143'],
  ] as const)('%s', (_, changes, level, message) => {
    expect(display([[0, end('acme', changes)]])).toMatchObject([{ level, message }]);
  });

  it('has its error, and when to run again, for machines', () => {
    const resumeAt = '2026-11-20T14:00:00.000Z';
    const [failed] = display([[0, end('acme', { exitCode: 3, error, report: undefined })]]);
    expect(failed?.fields).toEqual({ type: 'account-ended', account: 'acme', exitCode: 3, error });
    const [later] = display([[0, end('acme', { exitCode: 75, resumeAt })]]);
    expect(later?.fields).toMatchObject({ exitCode: 75, resumeAt });
  });
});
