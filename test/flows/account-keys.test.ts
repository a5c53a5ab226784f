import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AccountsReport } from '../../src/model/accounts-report.ts';
import { type AccountsFlow, createAccountsFlow, TABLES } from '../support/accounts-flow.ts';
import { DAY_MS } from '../support/sync-harness.ts';

const errorsOf = ({ accounts }: AccountsReport) =>
  Object.fromEntries(accounts.map(({ account, exitCode, error }) => [account, [exitCode, error?.code]]));
const accepted = [0, undefined];
const refused = [2, 'identity_mismatch'];
const keyFile = ({ folder }: AccountsFlow, name: string) => join(folder, 'keys', name);

function swapKeys(flow: AccountsFlow, one: string, other: string): void {
  const [first, second] = [keyFile(flow, one), keyFile(flow, other)].map((file) =>
    readFileSync(file, 'utf8'),
  );
  writeFileSync(keyFile(flow, one), second ?? '');
  writeFileSync(keyFile(flow, other), first ?? '');
}

const readAll = (flow: AccountsFlow, name: string) =>
  Promise.all(TABLES.map((table) => flow.rows(name, table)));

const readOwners = async (flow: AccountsFlow, name: string) =>
  new Set((await readAll(flow, name)).flat().map(({ workspace }) => workspace));

describe('a key in the place of another account', () => {
  it('is refused for both accounts before a request, and nothing of them changes', async () => {
    const flow = createAccountsFlow({ names: ['acme', 'globex', 'initech'] });
    expect((await flow.sync()).exitCode).toBe(0);
    const before = await Promise.all(['acme', 'globex'].map((name) => readAll(flow, name)));
    swapKeys(flow, 'acme', 'globex');
    const asked = flow.simulator.log.length;
    const report = await flow.sync(['--force']);
    expect(errorsOf(report)).toEqual({ acme: refused, globex: refused, initech: accepted });
    expect(report.accounts[0]?.error?.message).toBe('the key of acme reads the rows of globex');
    expect(report.accounts[0]?.error?.hint).toMatch(
      /sluice -c \S+ state reset --accounts acme --drop-tables/,
    );
    expect(flow.simulator.log.slice(asked).filter(({ account }) => account !== 'initech')).toEqual([]);
    expect(await Promise.all(['acme', 'globex'].map((name) => readAll(flow, name)))).toEqual(before);
    // A plan says so as well, without a request.
    const plan = await flow.run(['plan', '--accounts', 'acme']);
    expect(plan.exitCode).toBe(2);
    expect(plan.stdout + plan.stderr).toContain('the key of acme reads the rows of globex');
    // It stays refused, alone as well, until it is put right.
    expect(errorsOf(await flow.sync(['--accounts', 'acme']))).toEqual({ acme: refused });
    swapKeys(flow, 'acme', 'globex');
    expect((await flow.sync(['--force'])).exitCode).toBe(0);
  });

  it('is refused where the account has no rows yet', async () => {
    const flow = createAccountsFlow({ names: ['acme', 'globex'] });
    expect((await flow.sync(['--accounts', 'globex'])).exitCode).toBe(0);
    writeFileSync(keyFile(flow, 'acme'), readFileSync(keyFile(flow, 'globex')));
    const report = await flow.sync();
    expect(errorsOf(report)).toEqual({ acme: refused, globex: accepted });
    expect(report.accounts[0]?.error?.message).toBe('the key of acme reads the rows of globex');
    expect(flow.isPublished('acme')).toBe(false);
  });

  it('is refused for all that have it before anything of them is synced, in any order', async () => {
    const names = ['acme', 'globex', 'initech'];
    const flow = createAccountsFlow({ names, config: { concurrency: 1 } });
    for (const name of ['globex', 'initech'])
      writeFileSync(keyFile(flow, name), readFileSync(keyFile(flow, 'acme')));
    for (const args of [[], [], ['--accounts', 'acme']]) {
      const report = await flow.sync(args);
      expect(report.accounts.map(({ error }) => error?.code)).toEqual(
        report.accounts.map(() => 'identity_mismatch'),
      );
      expect(report.accounts[0]?.error?.hint).toContain('apiKey: ${file:./keys/${account}}');
    }
    expect(flow.simulator.log).toEqual([]);
    expect((await flow.run(['plan'])).exitCode).toBe(2);
  });

  it('that read the tables first is not mixed with the right one, whatever is accepted', async () => {
    const flow = createAccountsFlow({ names: ['acme', 'globex'] });
    swapKeys(flow, 'acme', 'globex');
    expect((await flow.sync()).exitCode).toBe(0);
    swapKeys(flow, 'acme', 'globex');
    for (const args of [[], ['--accept-new-key'], ['--accept-new-key', '--full-refresh']])
      expect(errorsOf(await flow.sync(args))).toEqual({ acme: refused, globex: refused });
    for (const [account, other] of [
      ['acme', 'globex'],
      ['globex', 'acme'],
    ] as const)
      expect(await readOwners(flow, account)).toEqual(new Set([other]));
    // What the hint says, for one after the other.
    const reset = (account: string) =>
      flow.run(['state', 'reset', '--drop-tables', '--accounts', account, '--yes']);
    expect((await reset('acme')).exitCode).toBe(0);
    const report = await flow.sync();
    expect(errorsOf(report)).toEqual({ acme: refused, globex: refused });
    expect(report.accounts[0]?.error?.hint).toContain(
      '--accounts acme --drop-tables` and sync again; or do the same for globex',
    );
    expect((await reset('globex')).exitCode).toBe(0);
    expect(errorsOf(await flow.sync())).toEqual({ acme: accepted, globex: accepted });
    for (const account of ['acme', 'globex'])
      expect(await readOwners(flow, account)).toEqual(new Set([account]));
  });

  it('is noticed where one of two swapped ones has read a page, and committed nothing', async () => {
    const flow = createAccountsFlow({ names: ['acme', 'globex', 'initech'] });
    const begun = ['--accounts', 'acme', '--streams', 'prompts_analytics', '--max-requests', '1'];
    expect((await flow.sync(begun)).exitCode).toBe(75);
    expect(flow.isPublished('acme')).toBe(false);
    swapKeys(flow, 'acme', 'globex');
    const asked = flow.simulator.log.length;
    const report = await flow.sync();
    expect(errorsOf(report)).toEqual({ acme: refused, globex: refused, initech: accepted });
    expect(report.accounts[0]?.error?.message).toBe('the key that acme had is now the key of globex');
    expect(flow.simulator.log.slice(asked).filter(({ account }) => account !== 'initech')).toEqual([]);
    swapKeys(flow, 'acme', 'globex');
    expect((await flow.sync()).exitCode).toBe(0);
    for (const name of ['acme', 'globex']) expect(await readOwners(flow, name)).toEqual(new Set([name]));
  });

  it('may be shared by accounts that ask for different things', async () => {
    const own = (category: string) => ({
      streams: { prompts_analytics: { params: { category: [category] } } },
    });
    const flow = createAccountsFlow({
      names: ['acme', 'globex'],
      own: { acme: own('a'), globex: own('b') },
    });
    writeFileSync(keyFile(flow, 'acme'), readFileSync(keyFile(flow, 'globex')));
    expect(errorsOf(await flow.sync())).toEqual({ acme: accepted, globex: accepted });
    await flow.clock.sleep(DAY_MS);
    expect(errorsOf(await flow.sync())).toEqual({ acme: accepted, globex: accepted });
  });

  it('can be accepted for one account by name', async () => {
    const flow = createAccountsFlow({ names: ['acme', 'globex'] });
    expect((await flow.sync(['--accounts', 'globex'])).exitCode).toBe(0);
    writeFileSync(keyFile(flow, 'acme'), readFileSync(keyFile(flow, 'globex')));
    expect(errorsOf(await flow.sync())).toEqual({ acme: refused, globex: accepted });
    const accept = ['--accounts', 'acme', '--accept-new-key'];
    expect(errorsOf(await flow.sync(accept))).toEqual({ acme: accepted });
    await flow.clock.sleep(DAY_MS);
    expect(errorsOf(await flow.sync(['--force']))).toEqual({ acme: accepted, globex: accepted });
  });

  it('is refused once the config lets two that share it ask for the same, whichever runs first', async () => {
    const own = (category: string) => ({
      streams: { prompts_analytics: { params: { category: [category] } } },
    });
    const flow = createAccountsFlow({
      names: ['acme', 'globex'],
      own: { acme: own('a'), globex: own('b') },
    });
    const share = (how: NonNullable<Parameters<AccountsFlow['writeConfig']>[1]>) => {
      flow.writeConfig(['acme', 'globex'], how);
      writeFileSync(keyFile(flow, 'acme'), readFileSync(keyFile(flow, 'globex')));
    };
    share({ acme: own('a'), globex: own('b') });
    expect(errorsOf(await flow.sync())).toEqual({ acme: accepted, globex: accepted });
    // Both changed: none of them is the one that was there first.
    share({});
    const asked = flow.simulator.log.length;
    const report = await flow.sync();
    expect(errorsOf(report)).toEqual({ acme: refused, globex: refused });
    expect(report.accounts[0]?.error?.message).toContain('acme, globex have the same key');
    expect(errorsOf(await flow.sync(['--accounts', 'globex', '--force']))).toEqual({ globex: refused });
    expect((await flow.run(['plan'])).exitCode).toBe(2);
    expect((await flow.run(['check'])).exitCode).toBe(2);
    expect(flow.simulator.log.slice(asked).filter(({ path }) => path.includes('prompts'))).toEqual([]);
    // Only one of them changed.
    share({ acme: own('a'), globex: own('a') });
    expect(errorsOf(await flow.sync(['--accounts', 'acme']))).toEqual({ acme: accepted });
    expect(errorsOf(await flow.sync())).toEqual({ acme: accepted, globex: refused });
    // What was accepted stays so, also with another config, one after the other.
    expect(errorsOf(await flow.sync(['--accounts', 'globex', '--accept-new-key']))).toEqual({
      globex: accepted,
    });
    share({});
    for (const account of ['acme', 'globex', 'acme'])
      expect(errorsOf(await flow.sync(['--accounts', account]))).toEqual({ [account]: accepted });
  });
});
