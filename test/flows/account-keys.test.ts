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

describe('a key in the place of another account', () => {
  it('is refused for both accounts before a request, and nothing of them changes', async () => {
    const flow = createAccountsFlow({ names: ['acme', 'globex', 'initech'] });
    expect((await flow.sync()).exitCode).toBe(0);
    const before = await Promise.all(['acme', 'globex'].map((name) => readAll(flow, name)));
    swapKeys(flow, 'acme', 'globex');
    const asked = flow.simulator.log.length;
    const report = await flow.sync(['--force']);
    expect(errorsOf(report)).toEqual({ acme: refused, globex: refused, initech: accepted });
    expect(report.accounts[0]?.error?.message).toBe(
      'the key of acme is the one that reads the rows of globex',
    );
    expect(report.accounts[0]?.error?.hint).toContain('sluice sync --accounts acme --accept-new-key');
    expect(flow.simulator.log.slice(asked).filter(({ account }) => account !== 'initech')).toEqual([]);
    expect(await Promise.all(['acme', 'globex'].map((name) => readAll(flow, name)))).toEqual(before);
    // A plan says so as well, without a request.
    const plan = await flow.run(['plan', '--accounts', 'acme']);
    expect(plan.exitCode).toBe(2);
    expect(plan.stdout + plan.stderr).toContain('the key of acme is the one that reads the rows of globex');
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
    expect(report.accounts[0]?.error?.message).toBe(
      'acme and globex have the same key and ask for the same: acme would have the rows of globex',
    );
    expect(flow.isPublished('acme')).toBe(false);
  });

  it('never gives both accounts its rows where both begin at once', async () => {
    const flow = createAccountsFlow({ names: ['acme', 'globex'] });
    writeFileSync(keyFile(flow, 'acme'), readFileSync(keyFile(flow, 'globex')));
    for (let run = 1; run <= 2; run += 1) {
      await flow.sync();
      expect(flow.isPublished('acme') && flow.isPublished('globex')).toBe(false);
    }
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
});
