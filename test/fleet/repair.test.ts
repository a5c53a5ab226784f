import { afterAll, beforeAll, expect, it } from 'vitest';
import { endRun, type RunEnd } from '../../src/fleet/database/end-run.ts';
import { addAccounts } from '../../src/fleet/database/known-accounts.ts';
import { takeAccount, type TakenAccount } from '../../src/fleet/database/leases.ts';
import { repairFleetAccount } from '../../src/fleet/repair.ts';
import type { StateStore } from '../../src/fleet/store/state-store.ts';
import { StorageError } from '../../src/model/errors.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { type PostgresServer, startPostgres } from '../support/lake-servers.ts';
import { type OpenFleet, openFleet } from './open-fleet.ts';

const jobId = '00000000-0000-4000-8000-000000000000';
const plain = { forgetsState: false, removesOrphans: false, isInConfig: true };

function endWith(name: string): RunEnd {
  const object = { name, bytes: 10 };
  const said = { report: undefined, error: undefined, resumeInMs: undefined, source: undefined };
  return { status: 'ended', exitCode: 0, object, ...said };
}

/** A store with these objects; its list is read before `onList` has happened, and answered after it. */
function makeStore(names: Set<string>, onList: () => Promise<void> = () => Promise.resolve()): StateStore {
  return {
    place: 'a store',
    async list(prefix: string) {
      const found = () => [...names].filter((name) => name.startsWith(prefix));
      await onList();
      return found().map((name) => ({ name, bytes: 10, storedAtMs: 0 }));
    },
    remove: (gone: readonly string[]) => Promise.resolve(gone.forEach((name) => names.delete(name))),
  } as unknown as StateStore;
}

describeWithServers('the repair of an account', () => {
  let server: PostgresServer;
  let fleet: OpenFleet;
  beforeAll(async () => {
    server = await startPostgres();
    fleet = await openFleet(server, 'repairs');
  });
  afterAll(async () => {
    await fleet.close();
    await server.stop();
  });

  const take = async (account: string): Promise<TakenAccount> => {
    const holder = { worker: 'w', leaseMs: 60_000 };
    const taken = await fleet.database.transaction((sql) => takeAccount(sql, { account, jobId }, holder));
    if (taken === undefined) throw new Error(`${account} is held`);
    return taken;
  };
  const end = (taken: TakenAccount, name: string) =>
    endRun(fleet, taken, endWith(name), () => ({ delayMs: 0, failures: 0 }));

  it('keeps the state of a run that begins and ends while the store is asked', async () => {
    await addAccounts(fleet.database, ['acme']);
    await end(await take('acme'), 'acme/1-1.state');
    const names = new Set(['acme/1-1.state', 'acme/1-2.pages']);
    const store = makeStore(names, async () => {
      const taken = await take('acme');
      names.add('acme/2-1.state');
      await end(taken, 'acme/2-1.state');
      names.delete('acme/1-1.state');
    });
    const repair = await repairFleetAccount({ ...fleet, store }, 'acme', { ...plain, removesOrphans: true });
    expect(repair.orphans).toEqual(['acme/1-2.pages']);
    expect([...names]).toEqual(['acme/2-1.state']);
  });

  it('refuses a name that neither the config nor the fleet has, and adds nothing', async () => {
    const parts = { ...fleet, store: makeStore(new Set()) };
    const repair = repairFleetAccount(parts, 'acne', { ...plain, isInConfig: false });
    await expect(repair).rejects.toMatchObject({
      message: 'no account is called "acne", in the config or in the fleet',
      exitCode: 2,
    });
    expect(await fleet.database.query("SELECT FROM sluice_fleet.accounts WHERE account = 'acne'")).toEqual(
      [],
    );
    const known = await repairFleetAccount(parts, 'acne', plain);
    expect(known.outcome).toBe('not held');
    // It has left the config, and the fleet still has it.
    const left = await repairFleetAccount(parts, 'acne', { ...plain, isInConfig: false });
    expect(left.outcome).toBe('not held');
  });

  it('says that the lease was ended where the store is away', async () => {
    await addAccounts(fleet.database, ['globex']);
    await take('globex');
    const away = new StorageError('the store is away', {
      code: 'storage_failed',
      hint: 'Nothing was changed.',
    });
    const store = makeStore(new Set(), () => Promise.reject(away));
    const error: unknown = await repairFleetAccount({ ...fleet, store }, 'globex', plain).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ exitCode: 6 });
    expect(String(error)).toContain('globex was freed');
    expect(error).not.toMatchObject({ hint: expect.stringContaining('Nothing was changed') as string });
    expect((await take('globex')).isTakeover).toBe(true);
  });
});
