import { describe, expect, it } from 'vitest';
import type { AccountsReport } from '../../src/model/accounts-report.ts';
import type { ErrorCode } from '../../src/model/errors.ts';
import { formatReturnTime } from '../../src/render/format-values.ts';
import { renderAccountsReport, summarizeAccounts } from '../../src/render/render-accounts-sync.ts';
import { makeAccountEnd } from '../cli/support/account-ends.ts';
import { makeRunReport, makeStreamReport, NOW_MS } from '../cli/support/reports.ts';

function makeReport(changes: Partial<AccountsReport> = {}): AccountsReport {
  return {
    exitCode: 0,
    startedAt: new Date(NOW_MS - 125_000).toISOString(),
    finishedAt: new Date(NOW_MS).toISOString(),
    accounts: [makeAccountEnd('acme'), makeAccountEnd('globex')],
    resumeAt: undefined,
    files: [],
    error: undefined,
    warnings: [],
    ...changes,
  };
}

const render = (report: AccountsReport, columns?: number) =>
  renderAccountsReport(report, { nowMs: NOW_MS, columns });

const words = (code: ErrorCode, message: string) =>
  ({ code, message, hint: 'Renew it.', exitCode: 3 }) as const;
const refused = makeAccountEnd('initech', {
  exitCode: 3,
  report: undefined,
  error: words('key_rejected', 'the key was refused'),
});
const later = makeAccountEnd('hooli', {
  exitCode: 75,
  runs: 3,
  report: makeRunReport({
    status: 'partial',
    exitCode: 75,
    requests: 1_200,
    streams: [
      makeStreamReport(),
      makeStreamReport({ status: 'stopped', verdict: undefined, rowsInTable: 7 }),
    ],
  }),
});

describe('a sync of several accounts', () => {
  it('is a line an account, what failed and why, what it cost, and when to run again', () => {
    const resumeMs = NOW_MS + 720_000;
    const resumeAt = new Date(resumeMs).toISOString();
    const accounts = [makeAccountEnd('acme'), refused, later];
    expect(render(makeReport({ exitCode: 5, accounts, resumeAt }), 120)).toBe(
      [
        'ACCOUNT  RESULT    VERIFIED        NEW  CHANGED  IN TABLE  REQUESTS',
        'acme     complete  1 of 1 stream   100        0       100        42',
        'initech  failed',
        'hooli    partial   1 of 2 streams  100        0       107     1,200',
        '',
        'initech: the key was refused',
        '  next: Renew it.',
        'hooli: exit code 75',
        '',
        '1 of 3 accounts complete, 1 failed (initech), 1 to be continued (hooli); 1,242 requests used; took 2 min 5 s.',
        `Run the same command again from ${formatReturnTime(resumeMs, NOW_MS)} on: those that are not done continue from here.`,
      ].join('\n'),
    );
  });

  it('says nothing of failures where there are none', () => {
    expect(render(makeReport()).split('\n').at(-1)).toBe(
      '2 of 2 accounts complete; 84 requests used; took 2 min 5 s.',
    );
    expect(render(makeReport())).not.toMatch(/next:|again|warning/);
  });

  it('tells an account that was not run from one that failed', () => {
    const stopped = words('aborted', 'stopped by SIGTERM');
    const accounts = [
      makeAccountEnd('acme', { exitCode: 143, report: undefined, runs: 0, error: stopped }),
      refused,
    ];
    const text = render(makeReport({ exitCode: 143, accounts }));
    expect(text).toMatch(/^acme +not run$/m);
    expect(text).toMatch(/^initech +failed$/m);
  });

  it('counts an account whose turn never came as not run, and one that was stopped as stopped', () => {
    const error = { ...words('aborted', 'stopped by SIGINT'), exitCode: 130 } as const;
    const stopped = { exitCode: 130, error } as const;
    const accounts = [
      makeAccountEnd('acme'),
      makeAccountEnd('globex', {
        ...stopped,
        report: makeRunReport({
          status: 'interrupted',
          exitCode: 130,
          streams: [makeStreamReport({ status: 'not-run', verdict: undefined, rowsInTable: undefined })],
        }),
      }),
      ...['hooli', 'initech'].map((name) => makeAccountEnd(name, { ...stopped, report: undefined, runs: 0 })),
    ];
    const report = makeReport({ exitCode: 130, accounts });
    expect(summarizeAccounts(report)).toBe('1 of 4 accounts complete, 1 stopped (globex), 2 not run');
    expect(render(report)).toMatch(/^globex +interrupted +0 of 1 stream +\S+ +\S+ +- /m);
  });

  it('calls an account busy that another run has, and says so once for all of them', () => {
    const accounts = ['acme', 'globex'].map((name) =>
      makeAccountEnd(name, {
        exitCode: 75,
        report: undefined,
        error: {
          code: 'state_locked',
          message: `another run holds /data/${name}: pid 7`,
          hint: 'Let it finish.',
          exitCode: 75,
        },
      }),
    );
    const text = render(makeReport({ exitCode: 75, accounts }));
    expect(text).toMatch(/^acme +busy$/m);
    expect(text).toContain(
      '\nacme, globex: another run is at work on each of them\n  next: Let it finish.\n',
    );
    expect(text).toContain('0 of 2 accounts complete, 2 busy (acme, globex);');
    const one = render(makeReport({ exitCode: 75, accounts: accounts.slice(0, 1) }));
    expect(one).toContain('\nacme: another run holds /data/acme: pid 7\n');
  });

  it('says that nothing was due only where every stream of every account was fresh', () => {
    const fresh = makeRunReport({ requests: 0, streams: [makeStreamReport({ status: 'fresh' })] });
    const all = [makeAccountEnd('acme', { report: fresh }), makeAccountEnd('globex', { report: fresh })];
    expect(render(makeReport({ accounts: all }))).toContain('\n\nNothing was due: every stream');
    expect(render(makeReport({ accounts: [...all, makeAccountEnd('hooli')] }))).not.toContain('due');
    expect(render(makeReport({ exitCode: 5, accounts: [...all, refused] }))).not.toContain('due');
  });

  it('says once what accounts have in common, and names at most ten causes', () => {
    const fail = (account: string, message: string) => ({
      ...refused,
      account,
      error: words('bug', message),
    });
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const alike = names.map((name) => fail(name, 'the same'));
    expect(render(makeReport({ exitCode: 3, accounts: alike }))).toContain(
      '\n\na, b, c, d, e and 2 more: the same\n  next: Renew it.\n\n',
    );
    const different = Array.from({ length: 12 }, (_, at) => fail(`client${at}`, `cause ${at}`));
    const text = render(makeReport({ exitCode: 3, accounts: different }));
    expect(text).toContain('client9: cause 9\n  next: Renew it.\nand 2 more causes\n\n');
    expect(text).not.toContain('cause 10\n');
  });

  it('asks to come back only where that helps', () => {
    const accounts = [makeAccountEnd('acme'), later];
    expect(render(makeReport({ exitCode: 75, accounts }))).toContain('Run the same command again later: ');
    const past = new Date(NOW_MS - 1).toISOString();
    expect(render(makeReport({ exitCode: 75, accounts, resumeAt: past }))).toContain('command again later: ');
    expect(render(makeReport({ exitCode: 143, accounts }))).not.toContain('again');
    expect(render(makeReport({ exitCode: 3, accounts: [refused] }))).not.toContain('again');
  });

  it('names the files with the data of all, and what kept one from being written', () => {
    const file = { path: '/data/all.duckdb', isReplaced: true, bytes: 4_200_000, leftOut: [] };
    const files = [
      file,
      { ...file, path: '/data/lake.duckdb', isReplaced: false, leftOut: ['initech', 'hooli'] },
      { ...file, path: '/data/none.duckdb', bytes: 0 },
    ];
    const text = render(makeReport({ files }));
    expect(text).toContain('\nAll accounts: /data/all.duckdb (4.2 MB).\n');
    expect(text).toContain(
      'All accounts: /data/lake.duckdb is unchanged. Without initech, hooli: nothing is published yet.',
    );
    expect(text).not.toContain('none.duckdb');
    const lost = makeReport({ exitCode: 5, error: words('publish_refused', 'all.duckdb is not ours') });
    expect(render(lost)).toContain(
      '\n\nall accounts together: all.duckdb is not ours\n  next: Renew it.\n\n',
    );
    expect(summarizeAccounts(lost)).toBe('2 of 2 accounts complete, what joins them was not written');
  });

  it('shows warnings and errors as text that cannot steer the terminal', () => {
    const hostile = 'odd\nwarning: forged \u001b[2J';
    const accounts = [{ ...refused, error: words('bug', hostile) }];
    const text = render(
      makeReport({ exitCode: 3, accounts, warnings: [hostile], error: words('bug', hostile) }),
    );
    expect(text).toContain(String.raw`warning: odd warning: forged \x1b[2J`);
    expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    expect(text).not.toMatch(/^warning: forged/m);
  });

  it.each([20, 40, 60, 80, 120])('is never wider than %i columns, and keeps every account', (columns) => {
    const name = 'a-client-with-a-longer-name';
    const accounts = [makeAccountEnd(name.slice(0, 18)), refused, later];
    const text = render(makeReport({ exitCode: 5, accounts, warnings: ['no notice was sent'] }), columns);
    expect(text.split('\n').filter((line) => line.length > columns)).toEqual([]);
    for (const { account } of accounts) expect(text).toContain(account);
  });

  it('leaves the requests out first where the terminal is narrow', () => {
    const [title] = render(makeReport({ accounts: [makeAccountEnd('acme'), later] }), 60).split('\n');
    expect(title).toBe('ACCOUNT  RESULT    VERIFIED        NEW  CHANGED  IN TABLE');
  });

  it('shows each account of hundreds, and names few of them in its sentence', () => {
    const accounts = Array.from({ length: 400 }, (_, at) => ({ ...later, account: `client${at}` }));
    const text = render(makeReport({ exitCode: 75, accounts }), 120);
    expect(text.match(/^client\d+ +partial/gm)).toHaveLength(400);
    expect(summarizeAccounts(makeReport({ exitCode: 75, accounts }))).toBe(
      '0 of 400 accounts complete, 400 to be continued (client0, client1, client2, client3, client4 and 395 more)',
    );
  });
});
