import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/cli/frame/engine.ts';
import { AuthError, ConfigError } from '../../../src/model/errors.ts';
import type { PlanReport } from '../../../src/model/plan-report.ts';
import type { VerifyReport } from '../../../src/model/reports.ts';
import type { Settings } from '../../../src/model/settings.ts';
import { run } from '../support/capture.ts';
import { makeKnownAccounts } from '../support/known-accounts.ts';
import { NOW_MS } from '../support/reports.ts';

const names = ['acme', 'globex', 'globex-eu'];
const keyOf = (account: string) => `sk-4711-${account}-Very-Secret-Key`;

/** The settings that each account resolves to; they name it by its state folder. */
const makeSettings = (account: string) =>
  ({
    stateDir: account,
    baseUrl: new URL('http://127.0.0.1/api/v1'),
    credentials: { kind: 'api-key', secret: keyOf(account) },
    notify: {},
    destinations: [],
    warnings: [],
  }) as unknown as Settings;

const typo = new ConfigError('accounts.globex.streems: is not a setting', {
  code: 'config_invalid',
  hint: 'Did you mean streams?',
});

/** An engine with these accounts; the config of those that are broken cannot be read. */
function makeEngine(
  answers: Partial<Engine>,
  broken: readonly string[] = [],
  listed = names,
): Partial<Engine> {
  const load = (account = 'none') =>
    broken.includes(account) ? Promise.reject(typo) : Promise.resolve(makeSettings(account));
  return {
    listAccounts: () => Promise.resolve(makeKnownAccounts(listed)),
    loadSettings: ({ account }) => load(account?.name),
    loadOfflineSettings: ({ account }) => load(account?.name),
    ...answers,
  };
}

interface Envelope {
  readonly ok: boolean;
  readonly exitCode: number;
  readonly summary: string;
  readonly error: unknown;
  readonly result: { readonly accounts: readonly Record<string, unknown>[] } | null;
}
const parse = (stdout: string) => JSON.parse(stdout) as Envelope;

const whole: VerifyReport = {
  ok: true,
  exitCode: 0,
  items: [{ name: 'work file', status: 'ok', detail: 'every block could be read', fix: undefined }],
  comparison: undefined,
};
const damaged: VerifyReport = {
  ...whole,
  ok: false,
  exitCode: 6,
  items: [{ name: 'items', status: 'failed', detail: 'it lacks name', fix: 'sluice rebuild items' }],
};
/** Of all accounts, only these are damaged. */
const verifying = (...bad: readonly string[]): Partial<Engine> => ({
  verifyState: ({ stateDir }) => Promise.resolve(bad.includes(stateDir) ? damaged : whole),
});

const plan: PlanReport = {
  offline: false,
  streams: [],
  totals: { rows: 0, pages: 0, requests: 0 },
  requestsSpent: 2,
  quota: {
    limit: 600,
    remaining: 558,
    resetAtMs: NOW_MS + 720_000,
    notBeforeMs: undefined,
    requestsPerHour: 600,
    windowSeconds: 3_600,
  },
  windows: undefined,
  etaMs: undefined,
  disk: undefined,
};

describe('a command over each account', () => {
  it('gives programs the result of each in the order of the config, and one error', async () => {
    const engine = makeEngine(verifying('globex'));
    const { stdout, exitCode } = await run(['verify', '--json'], { engine });
    expect(exitCode).toBe(5);
    const { ok, summary, error, result } = parse(stdout);
    expect({ ok, summary, error }).toEqual({
      ok: false,
      summary: '3 accounts, 1 failed: globex',
      error: {
        code: 'verify_failed',
        message: 'globex: items: it lacks name',
        hint: 'sluice rebuild --accounts globex items',
      },
    });
    expect(result?.accounts).toMatchObject([
      { account: 'acme', ok: true, exitCode: 0, summary: 'the files agree', error: null },
      { account: 'globex', ok: false, exitCode: 6, result: { items: [{ name: 'items' }] } },
      { account: 'globex-eu', ok: true, exitCode: 0, result: { ok: true } },
    ]);
    expect(Object.keys(result?.accounts[1] ?? {})).toEqual([
      'account',
      'ok',
      'exitCode',
      'summary',
      'result',
      'error',
    ]);
  });

  it('shows a person the page of each below its name', async () => {
    const { stdout, exitCode } = await run(['verify'], { engine: makeEngine(verifying()) });
    expect(exitCode).toBe(0);
    const page = 'ok      work file  every block could be read\n\nThe files agree.\n';
    expect(stdout).toBe(names.map((name) => `${name}:\n${page}`).join('\n'));
  });

  it('ends with the code that all of them share', async () => {
    const { stdout, exitCode } = await run(['verify', '--json'], { engine: makeEngine(verifying(...names)) });
    expect(exitCode).toBe(6);
    expect(parse(stdout).summary).toBe('3 accounts, 3 failed: acme, globex, globex-eu');
  });

  it('is of those that are named, by patterns too', async () => {
    const { stdout, calls } = await run(['verify', '--json', '--accounts', 'glob*'], {
      engine: makeEngine(verifying()),
    });
    expect(parse(stdout).summary).toBe('2 accounts');
    expect(parse(stdout).result?.accounts.map(({ account }) => account)).toEqual(['globex', 'globex-eu']);
    expect(calls.filter(({ name }) => name === 'verifyState')).toHaveLength(2);
    const one = await run(['verify', '--json', '--accounts', 'acm?'], { engine: makeEngine(verifying()) });
    expect(parse(one.stdout).summary).toBe('1 account');
  });

  it('takes them from the environment as well', async () => {
    const env = { SLUICE_ACCOUNTS: 'acme' };
    const { stdout } = await run(['verify', '--json'], { engine: makeEngine(verifying()), env });
    expect(parse(stdout).result?.accounts.map(({ account }) => account)).toEqual(['acme']);
  });
});

describe('a plan of accounts that share a key', () => {
  const settingsOf = (account: string) => {
    const key = account === 'globex-eu' ? keyOf(account) : keyOf('shared');
    return { ...makeSettings(account), credentials: { kind: 'api-key', secret: key } } as Settings;
  };

  it('tells what they take together, once for each key', async () => {
    const engine = makeEngine({
      loadSettings: ({ account }) => Promise.resolve(settingsOf(account?.name ?? '')),
      planSync: () => Promise.resolve({ ...plan, totals: { ...plan.totals, requests: 7 } }),
      planSharedQuotas: (planned) => {
        const together = planned.filter(({ from }) => from.key === planned[0]?.from.key);
        const accounts = together.map(({ account }) => account);
        const requests = together.reduce((sum, one) => sum + (one.requests ?? 0), 0);
        return Promise.resolve([
          { accounts, requests, isWhole: true, windows: 1, windowSeconds: 3_600, etaMs: 2_000 },
        ]);
      },
    });
    const { stdout } = await run(['plan'], { engine });
    expect(stdout).toContain(
      'acme, globex share one key and its quota: together they take 14 requests, about 2 s.',
    );
    const { result } = parse((await run(['plan', '--json'], { engine })).stdout);
    expect(result).toMatchObject({ sharedQuotas: [{ accounts: ['acme', 'globex'], requests: 14 }] });
  });
});

describe('the last line of a command over each account', () => {
  const planned = { ...plan, totals: { rows: 100, pages: 20, requests: 24 } };

  it('has the totals of a plan', async () => {
    const planSync: Engine['planSync'] = () => Promise.resolve(planned);
    const all = await run(['plan'], { engine: makeEngine({ planSync }) });
    expect(all.stdout).toMatch(
      /\n\n3 accounts: 3 ready; the next sync takes 72 requests in all; 6 requests used\.\n$/,
    );
    const some = await run(['plan'], { engine: makeEngine({ planSync }, ['globex']) });
    expect(some.stdout).toMatch(
      /\n\n3 accounts: 2 ready, 1 failed \(globex\); the next sync takes at least 48 requests in all; 4 requests used\.\n$/,
    );
  });

  it('has the totals of a check, and is not there where nothing is counted', async () => {
    const runChecks: Engine['runChecks'] = () =>
      Promise.resolve({ ...whole, error: undefined, quota: undefined, requestsSpent: 4 });
    const { stdout } = await run(['check'], { engine: makeEngine({ runChecks }, ['acme']) });
    expect(stdout).toMatch(/\n\n3 accounts: 2 ready, 1 failed \(acme\); 8 requests used\.\n$/);
    const none = await run(['verify'], { engine: makeEngine(verifying()) });
    expect(none.stdout).not.toContain('3 accounts');
  });

  it('is followed by the files with all accounts, which can fail by themselves', async () => {
    const runChecks: Engine['runChecks'] = () =>
      Promise.resolve({ ...whole, error: undefined, quota: undefined, requestsSpent: 4 });
    const error = new ConfigError('/data/all.duckdb is not ours', {
      code: 'config_invalid',
      hint: 'Move it.',
    });
    const path = '/data/all.duckdb';
    const tryWith = (found: typeof error | undefined) =>
      run(['check'], {
        engine: { ...makeEngine({ runChecks }), tryJoint: () => Promise.resolve([{ path, error: found }]) },
      });
    const fine = await tryWith(undefined);
    expect(fine.exitCode).toBe(0);
    expect(fine.stdout).toMatch(
      /\n\nthe files with all accounts:\nok {6}all accounts {2}\/data\/all\.duckdb\n$/,
    );
    const { exitCode, stdout } = await tryWith(error);
    expect(exitCode).toBe(2);
    expect(stdout).toMatch(
      /\nFAILED {2}all accounts {2}\/data\/all\.duckdb is not ours\n {8}fix: Move it\.\n$/,
    );
  });

  it('follows one page for all that failed in the same words', async () => {
    const { stdout } = await run(['plan'], { engine: makeEngine({}, names) });
    expect(stdout).toBe(
      'acme, globex, globex-eu:\nerror: accounts.globex.streems: is not a setting\nDid you mean streams?\n',
    );
  });
});

describe('an account whose config is broken', () => {
  const planSync: Engine['planSync'] = () => Promise.resolve(plan);

  it('keeps no other account from being shown', async () => {
    const engine = makeEngine({ planSync }, ['globex']);
    const { stdout, stderr, exitCode, calls } = await run(['plan'], { engine });
    expect(exitCode).toBe(5);
    expect(calls.filter(({ name }) => name === 'planSync')).toHaveLength(2);
    expect(stdout).toMatch(/^acme:\n/);
    expect(stdout).toMatch(/\n\nglobex-eu:\n/);
    expect(stdout).toContain(
      '\n\nglobex:\nerror: accounts.globex.streems: is not a setting\nDid you mean streams?\n\n',
    );
    expect(stdout + stderr).not.toMatch(/^ +at /m);
  });

  it('is an error of its own and of the whole for programs', async () => {
    const engine = makeEngine({ planSync }, ['globex']);
    const { stdout } = await run(['plan', '--json'], { engine });
    expect(parse(stdout)).toMatchObject({
      ok: false,
      exitCode: 5,
      summary: '3 accounts, 1 failed: globex',
      error: { code: 'config_invalid', message: 'globex: accounts.globex.streems: is not a setting' },
      result: {
        accounts: [
          { account: 'acme', ok: true },
          {
            account: 'globex',
            ok: false,
            exitCode: 2,
            result: null,
            error: { hint: 'Did you mean streams?' },
          },
          { account: 'globex-eu', ok: true },
        ],
      },
    });
  });

  it('is the exit code where nothing else was asked for', async () => {
    const engine = makeEngine({ planSync }, ['globex']);
    expect((await run(['plan', '--accounts', 'globex'], { engine })).exitCode).toBe(2);
    expect((await run(['plan'], { engine: makeEngine({ planSync }, names) })).exitCode).toBe(2);
  });
});

describe('what an account is given', () => {
  it('is its own config, and its notes have its name', async () => {
    const notes: Engine['loadSettings'] = ({ account }) =>
      Promise.resolve({ ...makeSettings(account?.name ?? 'none'), warnings: ['the key expires soon'] });
    const engine = makeEngine({ planSync: () => Promise.resolve(plan), loadSettings: notes });
    const { stderr, calls } = await run(['plan', '--accounts', 'acme,globex'], { engine });
    expect(stderr).toBe('acme: warning: the key expires soon\nglobex: warning: the key expires soon\n');
    const asked = calls.filter(({ name }) => name === 'loadSettings');
    expect(asked.map(({ arguments: [request] }) => request)).toMatchObject([
      { account: { name: 'acme' } },
      { account: { name: 'globex' } },
    ]);
  });

  it('shows no key of an account in the output of another', async () => {
    const engine = makeEngine({
      planSync: ({ stateDir }) =>
        stateDir === 'globex'
          ? Promise.reject(
              new AuthError(`refused ${keyOf('acme')} and ${keyOf('globex')}`, {
                code: 'key_rejected',
                hint: 'Renew it.',
              }),
            )
          : Promise.resolve(plan),
    });
    for (const argv of [['plan'], ['plan', '--json']]) {
      const { stdout, stderr } = await run(argv, { engine });
      expect(stdout + stderr).toContain('refused [redacted] and [redacted]');
      expect(stdout + stderr).not.toContain('Very-Secret');
    }
  });

  it('is nothing once somebody stopped the command', async () => {
    const stop = new AbortController();
    const seen: string[] = [];
    const engine = makeEngine({
      verifyState: ({ stateDir }) => {
        seen.push(stateDir);
        stop.abort();
        return Promise.resolve(whole);
      },
    });
    const { exitCode, stdout } = await run(['verify'], { engine, signal: stop.signal });
    expect(seen).toEqual(['acme']);
    expect(exitCode).toBe(130);
    expect(stdout).toBe('');
  });
});
