import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { ExitCode } from '../../src/model/errors.ts';
import type { ReportedError } from '../../src/model/run-report.ts';
import type { NotifyRules } from '../../src/model/notify.ts';
import type { AccountsMessage } from '../../src/notify/build-message.ts';
import type { EndedRun } from '../../src/notify/notice.ts';
import { type NotifiedAccount, notifyAccounts } from '../../src/notify/notify-accounts.ts';
import { makeRunReport, makeStreamReport } from '../cli/support/reports.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-notify-accounts-'));
afterAll(() => rmSync(root, { recursive: true }));

const DAY_MS = 24 * 3_600_000;
const hook = (path: string) =>
  ({ kind: 'webhook', url: new URL(`https://hooks.example.com${path}`) }) as const;
const HOOK = hook('/services/T0/B0/Secret12345');
// No two keys have a piece in common, so that hiding one hides nothing of another.
const keyOf = (account: string) => createHash('sha256').update(account).digest('hex');

function fail(message = 'the server answered 500'): EndedRun {
  const error = { code: 'server_failed', message, hint: 'Wait.', exitCode: 75 } as const;
  return { report: makeRunReport({ exitCode: 75, streams: [makeStreamReport({ error })] }) };
}

/** How each account of a sync ended. */
type Runs = Readonly<Record<string, EndedRun>>;

/** A config with several accounts, its state folders, and the notices of its syncs. */
function createProject(rulesOf: (account: string) => NotifyRules = () => ({ failure: HOOK })) {
  const folder = mkdtempSync(join(root, 'project-'));
  const clock = createVirtualClock({ startMs: Date.parse('2026-11-20T08:00:00Z') });
  const posted: { readonly url: string; readonly body: string; readonly message: AccountsMessage }[] = [];
  /** Addresses that answer 404. */
  const down = new Set<string>();
  const stateOf = (account: string) => join(folder, account);
  const toAccount = ([account, run]: readonly [string, EndedRun]): NotifiedAccount => {
    mkdirSync(stateOf(account), { recursive: true });
    const settings = {
      notify: rulesOf(account),
      credentials: { kind: 'api-key', secret: keyOf(account) },
      hashKey: undefined,
      destinations: [],
      baseUrl: new URL('https://analytics.example.com/api/v1'),
      stateDir: stateOf(account),
      keyExpiresAt: undefined,
      keyExpiryWarning: undefined,
    } as const;
    return { account, settings, run };
  };
  return {
    clock,
    posted,
    down,
    memoryOf: (account: string) => join(stateOf(account), 'notified.json'),
    /** Tells how a sync ended; returns the warnings. */
    tell: (
      runs: Runs,
      exitCode: ExitCode = 5,
      env: NodeJS.ProcessEnv = {},
      joint?: ReportedError,
      accountCount = Object.keys(runs).length,
    ) =>
      notifyAccounts(
        Object.entries(runs).map(toAccount),
        { exitCode, accountCount, joint },
        {
          clock,
          env,
          post: (url, body) => {
            posted.push({ url: url.href, body, message: JSON.parse(body) as AccountsMessage });
            return Promise.resolve(down.has(url.href) ? 404 : 200);
          },
        },
      ),
    /** The accounts of each notice so far. */
    named: () => posted.map(({ message }) => message.accounts.map(({ account }) => account)),
  };
}

describe('notices of several accounts', () => {
  it('say once a day what kept the files that join them from being written', async () => {
    const project = createProject();
    const joint = {
      code: 'publish_failed',
      message: 'cannot write all.duckdb',
      hint: 'Fix it.',
      exitCode: 6,
    } as const;
    const ended = { acme: { report: makeRunReport() }, globex: fail() };
    for (let n = 0; n < 2; n += 1) expect(await project.tell(ended, 5, {}, joint)).toEqual([]);
    expect(project.posted.map(({ message }) => [message.event, message.accounts.length])).toEqual([
      ['failure', 0],
      ['failure', 1],
    ]);
    expect(project.posted[0]?.message).toMatchObject({
      ok: false,
      summary: 'what joins the accounts was not written: cannot write all.duckdb',
      error: { code: 'publish_failed', hint: 'Fix it.' },
      accountCount: 2,
    });
    await project.tell(ended, 5);
    await project.tell(ended, 5, {}, joint);
    expect(project.posted.filter(({ message }) => message.accounts.length === 0)).toHaveLength(2);
  });

  it('are one for all accounts with the same event and target', async () => {
    const project = createProject();
    expect(
      await project.tell({ acme: fail(), globex: { report: makeRunReport() }, initech: fail() }),
    ).toEqual([]);
    expect(project.named()).toEqual([['acme', 'initech']]);
    const { url, message } = project.posted[0]!;
    expect(url).toBe(HOOK.url.href);
    const summary = 'sync failed with exit code 75: prompts_analytics: the server answered 500';
    expect(message).toMatchObject({
      event: 'failure',
      summary: `2 of 3 accounts: acme: ${summary}; initech: ${summary}`,
      text: `Sluice (analytics.example.com): 2 of 3 accounts: acme: ${summary}; initech: ${summary}`,
      ok: false,
      exitCode: 5,
      source: 'analytics.example.com',
      error: { code: 'server_failed' },
      accountCount: 3,
    });
    expect(message.accounts[1]).toEqual({
      account: 'initech',
      summary,
      exitCode: 75,
      runId: 'run-1',
      error: { code: 'server_failed', message: 'the server answered 500', hint: 'Wait.' },
    });
  });

  it('differ by event, and by the target that each account names', async () => {
    const other = hook('/services/T0/B0/Other67890');
    const project = createProject((account) => ({
      ...(account !== 'silent' && { failure: account === 'globex' ? other : HOOK }),
      success: HOOK,
    }));
    const runs = { acme: fail(), globex: fail(), silent: fail(), fine: { report: makeRunReport() } };
    expect(await project.tell(runs)).toEqual([]);
    expect(
      project.posted.map(({ url, message: { event, accounts } }) => [url, event, accounts.length]),
    ).toEqual([
      [HOOK.url.href, 'failure', 1],
      [other.url.href, 'failure', 1],
      [HOOK.url.href, 'success', 1],
    ]);
    expect(project.named()).toEqual([['acme'], ['globex'], ['fine']]);
  });

  it('name an account whose run could not begin', async () => {
    const project = createProject();
    const error = { code: 'config_invalid', message: 'keey: is not a setting', hint: 'Did you mean key?' };
    await project.tell({ acme: { error: { ...error, code: 'config_invalid', exitCode: 2 } } }, 2);
    expect(project.posted[0]?.message).toMatchObject({
      exitCode: 2,
      error,
      accounts: [{ exitCode: 2, error }],
    });
    expect(project.posted[0]?.body).not.toContain('runId');
    expect(project.posted[0]?.message.summary).toMatch(/^1 of 1 account: acme: /);
  });

  it('are not written where no account has anything to report', async () => {
    const project = createProject();
    expect(await project.tell({ acme: { report: makeRunReport() } }, 0)).toEqual([]);
    expect(await project.tell({}, 0)).toEqual([]);
    expect(project.posted).toEqual([]);
  });
});

describe('a failure that continues', () => {
  it('is reported once a day, but an account that fails for the first time at once', async () => {
    const project = createProject();
    await project.tell({ acme: fail(), globex: { report: makeRunReport() } });
    await project.tell({ acme: fail(), globex: { report: makeRunReport() } });
    expect(project.named()).toEqual([['acme']]);
    await project.tell({ acme: fail(), globex: fail() });
    await project.tell({ acme: fail(), globex: fail() });
    expect(project.named()).toEqual([['acme'], ['globex']]);
    expect(project.posted[1]?.message.summary).toMatch(/^1 of 2 accounts: globex: /);
    project.clock.stepWall(DAY_MS);
    await project.tell({ acme: fail(), globex: fail() });
    expect(project.named()[2]).toEqual(['acme', 'globex']);
  });

  it('is reported again after a run without it, in that account alone', async () => {
    const project = createProject();
    await project.tell({ acme: fail(), globex: fail() });
    await project.tell({ acme: { report: makeRunReport() }, globex: fail() });
    await project.tell({ acme: fail(), globex: fail() });
    expect(project.named()).toEqual([['acme', 'globex'], ['acme']]);
  });

  it('is reported again where nobody was reached, with one warning for all accounts', async () => {
    const project = createProject();
    await project.tell({ acme: fail() });
    const before = readFileSync(project.memoryOf('acme'), 'utf8');
    project.clock.stepWall(DAY_MS);
    project.down.add(HOOK.url.href);
    expect(await project.tell({ acme: fail(), globex: fail() })).toEqual([
      'notify.onFailure failed: it answered 404; the run is not affected',
    ]);
    expect(readFileSync(project.memoryOf('acme'), 'utf8')).toBe(before);
    expect(existsSync(project.memoryOf('globex'))).toBe(false);
    project.down.clear();
    expect(await project.tell({ acme: fail(), globex: fail() })).toEqual([]);
    expect(await project.tell({ acme: fail(), globex: fail() })).toEqual([]);
    expect(project.named()).toEqual([['acme'], ['acme', 'globex'], ['acme', 'globex']]);
  });

  it('is remembered for one target while another cannot be reached', async () => {
    const other = hook('/services/T0/B0/Other67890');
    const project = createProject((account) => ({ failure: account === 'acme' ? HOOK : other }));
    project.down.add(other.url.href);
    const warnings = await project.tell({ acme: fail(), globex: fail() });
    expect(warnings).toHaveLength(1);
    expect(warnings.join()).not.toContain('Other67890');
    project.down.clear();
    await project.tell({ acme: fail(), globex: fail() });
    expect(project.named()).toEqual([['acme'], ['globex'], ['globex']]);
  });

  it('is a warning of its own account where it cannot be remembered', async () => {
    const project = createProject();
    await project.tell({ acme: { report: makeRunReport() }, globex: { report: makeRunReport() } });
    mkdirSync(project.memoryOf('globex'));
    expect(await project.tell({ acme: fail(), globex: fail() })).toEqual([
      expect.stringContaining('the sent notices could not be recorded, so they may be sent again: '),
    ]);
    expect(existsSync(project.memoryOf('acme'))).toBe(true);
  });
});

describe('a message about several accounts', () => {
  const accounts = Array.from({ length: 130 }, (_, at) => `client${at}`);

  it('shows the secret of none of them', async () => {
    const project = createProject((account) => ({ failure: HOOK, success: hook(`/services/${account}/S9`) }));
    const keys = ['acme', 'globex', 'initech'].map(keyOf).join(' and ');
    await project.tell({
      acme: fail(),
      globex: fail(`refused ${keys} /services/globex/S9`),
      initech: fail(),
    });
    const { body } = project.posted[0]!;
    expect(body).toContain('refused [redacted] and [redacted] and [redacted] [redacted]');
    expect(body).not.toContain('/S9');
  });

  it('shows no secret of an account that is not in it', async () => {
    const project = createProject();
    await project.tell({ acme: fail(`refused ${keyOf('globex')}`), globex: { report: makeRunReport() } });
    expect(project.posted[0]?.message.accounts[0]?.summary).toMatch(/refused \[redacted\]$/);
  });

  it('holds nothing that a chat or a terminal would act on', async () => {
    const project = createProject();
    const hostile = '<!channel> & <https://evil.example|here>\u001b[31m\u202e\nerror: forged';
    await project.tell({ acme: fail(), globex: fail(hostile) });
    const { message, body } = project.posted[0]!;
    expect(message.text).toContain('globex: sync failed');
    expect(message.text).toContain('&lt;!channel&gt; &amp; &lt;https://evil.example|here&gt;');
    expect(message.text).not.toMatch(/[<>]/);
    expect(body).not.toMatch(/\\u001b|\\n|\u202e/);
    expect(message.accounts[1]?.error?.message).toContain(String.raw`\x1b[31m\u{202e} error: forged`);
  });

  it('count the accounts whose config could not be read, too', async () => {
    const project = createProject(() => ({ success: HOOK }));
    const done = { report: makeRunReport({ exitCode: 0 }) };
    await project.tell({ acme: done, globex: done }, 5, {}, undefined, 3);
    expect(project.posted[0]?.message).toMatchObject({ event: 'success', accountCount: 3 });
    expect(project.posted[0]?.message.summary).toMatch(/^2 of 3 accounts: /);
  });

  it('lists 100 of them, names 5 in its sentence, counts all, and remembers each', async () => {
    const project = createProject();
    const runs = Object.fromEntries(accounts.map((account) => [account, fail('x'.repeat(2_000))]));
    await project.tell(runs);
    const { message } = project.posted[0]!;
    expect(message.accounts.map(({ account }) => account)).toEqual(accounts.slice(0, 100));
    expect(message.accountCount).toBe(130);
    expect(message.summary).toMatch(/^130 of 130 accounts: client0: /);
    expect(message.summary.length).toBeLessThanOrEqual(1_003);
    await project.tell(runs);
    expect(project.posted).toHaveLength(1);
    const short = Object.fromEntries(accounts.map((account) => [account, { report: makeRunReport() }]));
    await project.tell(short);
    await project.tell(Object.fromEntries(accounts.map((account) => [account, fail('down')])));
    const sentence = project.posted[1]?.message.summary ?? '';
    expect(sentence).toMatch(/client4: [^;]+: down; and 125 more$/);
    expect(sentence).not.toContain('client5');
  });
});

// Programs of a POSIX system.
describe.skipIf(process.platform === 'win32')('a program', () => {
  it('is started once for all, without a variable that holds the key of any account', async () => {
    const folder = mkdtempSync(join(root, 'program-'));
    const program = join(folder, 'tell.sh');
    writeFileSync(program, '#!/bin/sh\necho once >> count.txt\ncat > stdin.json\nenv > env.txt\n');
    chmodSync(program, 0o755);
    const target = { kind: 'command', program, args: [], cwd: folder } as const;
    // Each account resolves its own target: equal, but not the same value.
    const project = createProject(() => ({ failure: { ...target, args: [...target.args] } }));
    const env = {
      PATH: process.env['PATH'],
      MY_TOKEN: 'mine-and-wanted',
      ACME_KEY: keyOf('acme'),
      FINE_KEY: keyOf('fine'),
      GLOBEX_ARGS: `-H X-API-Key:${keyOf('globex')}`,
    };
    const runs = { acme: fail(), globex: fail(), fine: { report: makeRunReport() } };
    expect(await project.tell(runs, 5, env)).toEqual([]);
    expect(readFileSync(join(folder, 'count.txt'), 'utf8')).toBe('once\n');
    const message = JSON.parse(readFileSync(join(folder, 'stdin.json'), 'utf8')) as AccountsMessage;
    expect(message.accounts.map(({ account }) => account)).toEqual(['acme', 'globex']);
    const seen = readFileSync(join(folder, 'env.txt'), 'utf8');
    expect(seen).toContain('MY_TOKEN=mine-and-wanted\n');
    expect(seen).toContain('SLUICE_NOTIFY_EVENT=failure\n');
    expect(seen).toContain('SLUICE_NOTIFY_RUN_ID=\n');
    expect(seen).toContain('SLUICE_NOTIFY_EXIT_CODE=5\n');
    expect(seen).toContain(`SLUICE_NOTIFY_SUMMARY=${message.summary}\n`);
    expect(seen).not.toMatch(/ACME_KEY|FINE_KEY|GLOBEX_ARGS/);
  });
});
