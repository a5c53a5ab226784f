import { describe, expect, it } from 'vitest';
import {
  type AccountProgress,
  type AccountsState,
  followAccount,
  placeAccount,
} from '../../../src/cli/progress/accounts-state.ts';
import { renderAccounts } from '../../../src/cli/progress/render-accounts.ts';
import type { AccountEnd } from '../../../src/model/accounts-report.ts';
import type { ProgressEvent } from '../../../src/model/progress.ts';
import { keyRefused as error, makeAccountEnd } from '../support/account-ends.ts';
import { page, replay, start } from '../support/progress-events.ts';
import { makeStreamReport, NOW_MS } from '../support/reports.ts';

const paint = (_style: unknown, text: string) => text;

function render(state: AccountsState, columns = 100, atMs = 0, hasUnicode = true): readonly string[] {
  return renderAccounts(state, { columns, nowMs: NOW_MS + atMs, hasUnicode, paint }).split('\n');
}

const asMap = (accounts: Readonly<Record<string, AccountProgress>>) => new Map(Object.entries(accounts));
const begin = (account: string) => placeAccount({ type: 'account-started', account, run: 1 }, NOW_MS);
const end = (changes: Partial<AccountEnd>) =>
  placeAccount({ type: 'account-ended', end: makeAccountEnd('any', changes) }, NOW_MS);
const wait = (untilMs: number) => placeAccount({ type: 'account-waiting', account: 'any', untilMs }, NOW_MS);
const work = (...events: readonly ProgressEvent[]): AccountProgress => ({
  state: 'working',
  run: replay([...start, ...events.map((event) => [0, event] as const)]),
});

const queued = { state: 'queued' } as const;

describe('an account', () => {
  it('is where the last event placed it', () => {
    expect(begin('acme')).toMatchObject({ state: 'working', run: { streams: [] } });
    expect(wait(NOW_MS + 60_000)).toEqual({ state: 'waiting', untilMs: NOW_MS + 60_000 });
    expect(end({})).toEqual({ state: 'done' });
    expect(end({ exitCode: 75, error: { ...error, exitCode: 75 } })).toEqual({ state: 'stopped' });
    expect(end({ exitCode: 130, runs: 0 })).toEqual({ state: 'stopped' });
    expect(end({ exitCode: 3, error })).toEqual({ state: 'failed', message: 'the key was refused' });
    expect(end({ exitCode: 4, error: undefined })).toEqual({ state: 'failed', message: 'exit code 4' });
  });

  it('takes the progress of a run while it works, and in no other state', () => {
    const [, [, event]] = start as readonly [unknown, readonly [number, ProgressEvent]];
    const [[, first]] = start as readonly [readonly [number, ProgressEvent]];
    const after = followAccount(followAccount(begin('acme'), first, NOW_MS), event, NOW_MS);
    expect(after).toMatchObject({ run: { streams: [{ state: 'reading' }, { state: 'queued' }] } });
    for (const other of [queued, wait(NOW_MS), end({}), end({ exitCode: 75 }), end({ exitCode: 3, error })])
      expect(followAccount(other, event, NOW_MS)).toBe(other);
    expect(followAccount(undefined, event, NOW_MS)).toEqual(queued);
  });
});

describe('renderAccounts', () => {
  it('lets one long name not push the progress of the others out of a line of 80 columns', () => {
    const lines = render(asMap({ acme: work(page(5, 20)), ['x'.repeat(63)]: work(page(5, 20)) }), 80);
    expect(lines[0]).toMatch(/^› acme {2,}0\/2 streams {2}.*page 5 of 20$/);
  });

  it('draws what failed, then those at work with their names aligned, then how many there are of each', () => {
    const state = asMap({
      acme: work(page(5, 20)),
      'globex-europe': work(),
      hooli: end({ exitCode: 3, error }),
      initech: wait(NOW_MS + 720_000),
      umbrella: wait(NOW_MS + 1_800_000),
      stark: queued,
      wayne: end({}),
      wonka: end({ exitCode: 75 }),
    });
    expect(render(state, 160)).toEqual([
      '✗ hooli  the key was refused',
      '› acme           0/2 streams  prompts_analytics: page 5 of 20',
      '› globex-europe  0/2 streams  prompts_analytics: page 0',
      '1 of 8 accounts done, 2 at work, 2 waiting for the quota (the first for 12 min), 1 queued, ' +
        '1 to be continued later, 1 failed',
    ]);
  });

  it('says what each run is at', () => {
    const loading: ProgressEvent = { type: 'stream-loading', stream: 'prompts_analytics', rows: 12_400 };
    const done: ProgressEvent = { type: 'stream-finished', report: makeStreamReport() };
    const publishing: ProgressEvent = { type: 'publishing', path: '/data/acme.duckdb' };
    const draw = (...events: readonly ProgressEvent[]) => render(asMap({ acme: work(...events) }))[0];
    expect(render(asMap({ acme: begin('acme') }))[0]).toBe('› acme  starting');
    expect(draw(page(1_234))).toBe('› acme  0/2 streams  prompts_analytics: page 1,234');
    expect(draw(page(10, 20), loading)).toMatch(
      /^› acme {2}0\/2 streams {2}prompts_analytics: loading [\d,]+ rows$/,
    );
    expect(draw(done)).toBe('› acme  1/2 streams');
    expect(draw(done, publishing)).toBe('› acme  1/2 streams  publishing');
  });

  it('counts down to the first that continues, and never below zero', () => {
    const state = asMap({ a: wait(NOW_MS + 90_000), b: wait(NOW_MS + 60_000) });
    expect(render(state)).toEqual(['0 of 2 accounts done, 2 waiting for the quota (the first for 1 min)']);
    expect(render(state, 100, 15_000)[0]).toContain('(the first for 45 s)');
    expect(render(state, 100, 61_000)[0]).toContain('(the first for 0 s)');
  });

  it('draws the end of a whole sync in one line', () => {
    expect(render(asMap({ acme: end({}) }))).toEqual(['1 of 1 account done']);
    expect(render(asMap({ acme: end({}), globex: end({}) }))).toEqual(['2 of 2 accounts done']);
  });

  it('fits a terminal of 24 lines however many accounts there are, and counts all of them', () => {
    const name = (at: number) => `client${at}`;
    const many = (count: number, make: (at: number) => AccountProgress) =>
      Array.from({ length: count }, (_, at) => make(at));
    const all = [
      ...many(300, () => queued),
      ...many(30, () => work(page(1, 9))),
      ...many(1_200, () => end({})),
      ...many(9, (at) => end({ exitCode: 3, error: { ...error, message: `cause ${at}` } })),
    ];
    const lines = render(new Map(all.map((one, at) => [name(at), one])));
    expect(lines.length).toBeLessThan(24);
    expect(lines.slice(4, 7)).toEqual([
      '✗ client1534  cause 4',
      '  and 4 more accounts that failed',
      '› client300  0/2 streams  prompts_analytics: page 1 of 9',
    ]);
    expect(lines.at(-1)).toBe('1,200 of 1,539 accounts done, 30 at work, 300 queued, 9 failed');
  });

  it('says that one more failed', () => {
    const failed = Object.fromEntries(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, end({ exitCode: 3 })]),
    );
    expect(render(asMap(failed))[5]).toBe('  and 1 more account that failed');
  });

  it.each([20, 30, 40, 60, 80, 120])('never draws a line wider than %i columns', (columns) => {
    const long = `the key was refused ${'by the server '.repeat(20)}価格`;
    const state = asMap({
      ['a'.repeat(63)]: work(page(1_000, 2_000)),
      globex: end({ exitCode: 3, error: { ...error, message: long } }),
      hooli: wait(NOW_MS + 720_000),
      ...Object.fromEntries(
        ['b', 'c', 'd', 'e', 'f', 'g'].map((name) => [name, end({ exitCode: 3, error })]),
      ),
      initech: queued,
    });
    for (const unicode of [true, false]) {
      const widths = render(state, columns, 0, unicode).map((line) => line.length);
      expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
    }
    expect(render(state, columns).join('\n')).toContain('…');
  });

  it('draws an error of the server as one line that cannot steer the terminal', () => {
    const hostile = 'refused\n✗ acme  forged \u001b[2J\u202e';
    const lines = render(asMap({ globex: end({ exitCode: 3, error: { ...error, message: hostile } }) }));
    expect(lines).toHaveLength(2);
    expect(lines[0]).toBe(String.raw`✗ globex  refused ✗ acme  forged \x1b[2J\u{202e}`);
  });

  it('draws with ASCII where the locale knows nothing else', () => {
    const state = asMap({ acme: work(page(5, 20)), globex: end({ exitCode: 3, error }), hooli: queued });
    expect(render(state, 40, 0, false).join('')).toMatch(/^[\x20-\x7e]+$/);
    expect(render(state, 20, 0, false)[0]).toBe('x globex  the key...');
  });
});
