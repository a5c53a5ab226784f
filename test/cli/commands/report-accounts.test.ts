import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/cli/frame/engine.ts';
import { ConfigError } from '../../../src/model/errors.ts';
import type { OfflineSettings } from '../../../src/model/settings.ts';
import { renderAccountsReport } from '../../../src/report/render-accounts-report.ts';
import { makeAccountsData } from '../../report/make-report-data.ts';
import { run } from '../support/capture.ts';
import { makeKnownAccounts } from '../support/known-accounts.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-report-'));
afterAll(() => {
  rmSync(root, { recursive: true });
});
let cwd = root;
beforeEach(() => {
  cwd = mkdtempSync(join(root, 'case-'));
});

const data = makeAccountsData();
const typo = new ConfigError('initech is broken', { code: 'config_invalid', hint: 'Correct it.' });

/** Accounts whose settings can be read, but for `initech`; the report shows what it is given. */
const engine: Partial<Engine> = {
  listAccounts: () => Promise.resolve(makeKnownAccounts(data.accounts.map(({ account }) => account))),
  loadOfflineSettings: ({ account }) =>
    account?.name === 'initech'
      ? Promise.reject(typo)
      : Promise.resolve({
          stateDir: account?.name,
          notify: {},
          destinations: [],
        } as unknown as OfflineSettings),
  makeAccountsReport: (accounts) =>
    Promise.resolve(
      renderAccountsReport({
        ...data,
        accounts: accounts.flatMap((one) =>
          one.settings === undefined
            ? one
            : (data.accounts.find(({ account }) => account === one.account) ?? []),
        ),
      }),
    ),
};

describe('report of several accounts', () => {
  it('writes one file, and says what is amiss in which of them', async () => {
    const { exitCode, stdout, calls } = await run(['report'], { engine, cwd });
    expect(exitCode).toBe(0);
    expect(readdirSync(cwd)).toEqual(['report.html']);
    expect(readFileSync(join(cwd, 'report.html'), 'utf8')).toContain('id="account-globex"');
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^Wrote report\.html \(\d+(\.\d)? kB\)$/);
    expect(lines[1]).toBe('2 of 6 accounts need attention.');
    expect(lines[2]).toMatch(/^- globex: commerce_top_products failed at offset 1980/);
    expect(stdout).toContain('- initech: initech is broken');
    expect(stdout).toContain('- hooli: No file is published yet');
    expect(calls.find(({ name }) => name === 'makeAccountsReport')?.arguments[1]).toMatchObject({
      showValues: true,
    });
  });

  it('is of those that are named, without values where none are wanted', async () => {
    const argv = ['report', '--json', '--accounts', 'acme-*', '--no-values'];
    const { stdout, calls } = await run(argv, { engine, cwd });
    const { result } = JSON.parse(stdout) as { readonly result: Record<string, unknown> };
    expect(result).toMatchObject({
      path: join(cwd, 'report.html'),
      headline: 'All 2 accounts are verified and up to date',
      accounts: [
        { account: 'acme-0', ok: true, health: 'verified', error: null },
        { account: 'acme-1', ok: true, health: 'verified', error: null },
      ],
    });
    expect(calls.find(({ name }) => name === 'makeAccountsReport')?.arguments[1]).toMatchObject({
      showValues: false,
    });
  });

  it('says once what accounts have in common', async () => {
    const twice: Partial<Engine> = {
      ...engine,
      loadOfflineSettings: ({ account }) =>
        account?.name.startsWith('acme-') === true
          ? Promise.reject(typo)
          : engine.loadOfflineSettings!({} as never),
    };
    const { stdout } = await run(['report'], { engine: twice, cwd });
    expect(stdout).toContain('- acme-0, acme-1: initech is broken');
  });

  it('fails as one account does if nothing could be read', async () => {
    const { exitCode, stdout } = await run(['report', '--json', '--accounts', 'initech'], { engine, cwd });
    expect(exitCode).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ error: { message: 'initech is broken' } });
  });

  it('checks the place before anything is read', async () => {
    const { exitCode, calls } = await run(['report', '--output', 'none/x.html'], { engine, cwd });
    expect(exitCode).toBe(2);
    expect(calls.map(({ name }) => name)).not.toContain('makeAccountsReport');
  });
});
