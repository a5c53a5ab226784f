import { afterAll, beforeAll, expect, it } from 'vitest';
import { askForRun, freeAccount, pauseAccount } from '../../src/fleet/database/change-accounts.ts';
import { queueDue } from '../../src/fleet/database/due-accounts.ts';
import { endRun, type RunEnd } from '../../src/fleet/database/end-run.ts';
import { addAccounts, planAgain } from '../../src/fleet/database/known-accounts.ts';
import {
  listMarks,
  recordQuota,
  settleTakeover,
  takeAccount,
  type TakenAccount,
} from '../../src/fleet/database/leases.ts';
import type { FleetDatabase } from '../../src/fleet/database/sql.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { type PostgresServer, startPostgres } from '../support/lake-servers.ts';
import { makeRun } from '../state/make-run.ts';
import { type OpenFleet, openFleet } from './open-fleet.ts';

const jobId = '00000000-0000-4000-8000-000000000000';
const atOnce = () => ({ delayMs: 0, failures: 0 });
const ended: RunEnd = {
  status: 'ended',
  exitCode: 0,
  report: undefined,
  error: undefined,
  resumeInMs: undefined,
  object: { name: 'acme/1-1.state', bytes: 10 },
  source: undefined,
};

describeWithServers('the lease of an account', () => {
  let server: PostgresServer;
  let fleet: OpenFleet;
  let accounts = 0;
  beforeAll(async () => {
    server = await startPostgres();
    fleet = await openFleet(server, 'leases');
  });
  afterAll(async () => {
    await fleet.close();
    await server.stop();
  });

  const addAccount = async () => {
    const account = `account-${(accounts += 1)}`;
    await addAccounts(fleet.database, [account]);
    return account;
  };
  const take = async (account: string, leaseMs = 60_000): Promise<TakenAccount> => {
    const taken = await fleet.database.transaction((sql) =>
      takeAccount(sql, { account, jobId }, { worker: 'w', leaseMs }),
    );
    if (taken === undefined) throw new Error(`${account} is held`);
    return taken;
  };

  it('is not begun by a run that leaves paused accounts out', async () => {
    const account = await addAccount();
    await pauseAccount(fleet.database, account);
    const ask = async (resumes: boolean) =>
      (await askForRun(fleet.database, account, { resumes, acceptsNewKey: false })).outcome;
    expect(await ask(false)).toBe('still paused');
    await expect(pauseAccount(fleet.database, account)).resolves.toMatchObject({ outcome: 'paused already' });
    expect(await ask(true)).toBe('queued');
    expect(await ask(false)).toBe('queued');
  });

  it('lets the run that is asked for accept a new key, until the state that has it was put away', async () => {
    const account = await addAccount();
    await askForRun(fleet.database, account, { resumes: true, acceptsNewKey: true });
    // One that is asked for as well, or by the schedule, takes nothing back.
    await askForRun(fleet.database, account, { resumes: false, acceptsNewKey: false });
    const report = makeRun();
    for (const end of [
      { ...ended, status: 'failed' as const },
      { ...ended, report, object: undefined },
    ]) {
      const taken = await take(account);
      expect(taken.acceptsNewKey).toBe(true);
      await endRun(fleet, taken, end, atOnce);
    }
    await endRun(fleet, await take(account), { ...ended, report }, atOnce);
    expect((await take(account)).acceptsNewKey).toBe(false);
  });

  it('says yes again to an end that was committed, and whose answer was lost', async () => {
    const account = await addAccount();
    const taken = await take(account);
    expect(await endRun(fleet, taken, ended, atOnce)).toBe(true);
    // Said no, the run would remove the object that the account has now.
    expect(await endRun(fleet, taken, ended, atOnce)).toBe(true);
    const next = await take(account);
    expect(next).toMatchObject({ token: 2, object: 'acme/1-1.state', isTakeover: false });
    expect(await endRun(fleet, taken, ended, atOnce)).toBe(true);
    expect(await readRuns(fleet.database, account)).toEqual(['1 ended', '2 running']);
  });

  it('refuses the end of a run that was taken over', async () => {
    const account = await addAccount();
    const late = await take(account, -1);
    await take(account);
    expect(await endRun(fleet, late, ended, atOnce)).toBe(false);
    expect(await readRuns(fleet.database, account)).toEqual(['1 lost', '2 running']);
  });

  it.each([
    ['keeps its retry', 1, true],
    ['waits until somebody asks', 0, false],
  ])('%s after a failed run, when a worker of no schedule starts', async (_, failures, isDue) => {
    const account = await addAccount();
    const failed = { ...ended, exitCode: 1, status: 'failed', object: undefined } as const;
    await endRun(fleet, await take(account), failed, () => ({ delayMs: 60_000, failures }));
    await planAgain(fleet.database, { names: [account], delaysMs: [undefined] });
    const rows = await fleet.database.query(
      'SELECT next_at IS NOT NULL AS due FROM sluice_fleet.accounts WHERE account = $1',
      [account],
    );
    expect(rows).toEqual([{ due: isDue }]);
  });

  it('stays one to take over until every destination refuses earlier holders', async () => {
    const account = await addAccount();
    await take(account, -1);
    const failed = await take(account);
    expect(failed.isTakeover).toBe(true);
    // It failed before it could reach a destination.
    await endRun(fleet, failed, { ...ended, exitCode: 6, object: undefined }, atOnce);
    const next = await take(account);
    expect(next.isTakeover).toBe(true);
    expect(await settleTakeover(fleet.database, next)).toBe(true);
    await endRun(fleet, next, ended, atOnce);
    const last = await take(account);
    expect(last.isTakeover).toBe(false);
    expect(await settleTakeover(fleet.database, next)).toBe(false);
    await freeAccount(fleet.database, account, { forgetsState: false, isInConfig: true });
    expect(await take(account)).toMatchObject({ isTakeover: true });
  });

  it('keeps what its holder noted of the quota for the next one', async () => {
    const account = await addAccount();
    const late = await take(account, -1);
    const read = () => listMarks(fleet.database, { account, key: undefined });
    expect(await read()).toEqual([]);
    expect(await recordQuota(fleet.database, late, { remaining: 3, resetAtMs: 7_200_000 })).toBe(true);
    const next = await take(account);
    expect(await read()).toEqual([{ remaining: 3, resetAtMs: 7_200_000 }]);
    expect(await recordQuota(fleet.database, late, { remaining: 20, resetAtMs: 7_200_000 })).toBe(false);
    expect(await recordQuota(fleet.database, next, { remaining: 2, resetAtMs: 7_200_000 })).toBe(true);
  });

  it('has what others noted of the quota of its key, though they have it no more', async () => {
    const [account, other, stranger] = [await addAccount(), await addAccount(), await addAccount()];
    const mark = { remaining: 3, resetAtMs: 7_200_000 };
    await recordQuota(fleet.database, await take(other), { ...mark, key: 'one' });
    await recordQuota(fleet.database, await take(stranger), { ...mark, key: 'two' });
    expect(await listMarks(fleet.database, { account, key: 'one' })).toEqual([{ ...mark, key: 'one' }]);
    expect(await listMarks(fleet.database, { account, key: 'three' })).toEqual([]);
  });

  it('is queued once, and again once its holder is gone', async () => {
    const account = await addAccount();
    expect(await queueDue(fleet.database, fleet.queue, [account])).toBe(1);
    expect(await queueDue(fleet.database, fleet.queue, [account])).toBe(0);
    await take(account, -1);
    expect(await queueDue(fleet.database, fleet.queue, [account])).toBe(1);
  });
});

async function readRuns(database: FleetDatabase, account: string): Promise<readonly string[]> {
  const rows = await database.query(
    'SELECT token, status FROM sluice_fleet.runs WHERE account = $1 ORDER BY token',
    [account],
  );
  return rows.map(({ token, status }) => `${String(token)} ${String(status)}`);
}
