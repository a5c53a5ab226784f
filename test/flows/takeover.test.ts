import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { destinationLockFile } from '../../state/destination-lock.ts';
import { createFleetLeases } from '../support/fleet-leases.ts';
import { queryFiles } from '../support/read-lake.ts';
import {
  createFlow,
  createItemsFlow,
  type Flow,
  type FlowConfig,
  makeItems,
  noBuiltIns,
  type RunOptions,
} from '../support/sync-harness.ts';

const OLD = makeItems(40, { perDay: 10 });
const NEW = makeItems(60, { perDay: 10 });
const items = { path: 'items', paginated: true, key: ['id'], cursor: { field: 'date' } };
const FILE = './out/warehouse.duckdb';
const LAKE = './out/lake';

/** An account whose machines have a state folder each; what is published, and the lease, are of all of them. */
function makeAccount(destination: NonNullable<FlowConfig['destination']>) {
  const first = createItemsFlow(OLD, { stream: items, config: { destination } });
  const { folder, simulator, clock } = first;
  const leases = createFleetLeases();
  const published = join(folder, 'out');
  let machines = 0;
  /** One that continues from a copy of a state; without one, from what is published. */
  function addMachine(from?: Flow) {
    machines += 1;
    const stateDir = join(folder, `state-${machines}`);
    if (from !== undefined) cpSync(from.stateDir, stateDir, { recursive: true });
    const config = { destination, streams: { ...noBuiltIns, items } };
    return createFlow({ simulator, clock, folder, stateDir, config });
  }
  const sync = (machine: Flow, options: RunOptions = {}) =>
    machine.sync({ force: true, takeLock: () => leases.take(), ...options });
  async function read() {
    const places = [
      destination.duckdb && 'warehouse.duckdb',
      destination.parquet && join('lake', 'lake.duckdb'),
    ];
    const counts = places
      .filter((place) => place !== undefined)
      .map(async (place) => {
        const [row] = await queryFiles('SELECT count(*) AS n FROM items', join(published, place));
        return Number(row?.['n']);
      });
    return Promise.all(counts);
  }
  const setRecords = (records: readonly object[]) => simulator.editRecords('items', () => records);
  return { leases, published, addMachine, sync, read, setRecords };
}

async function expectWell(account: ReturnType<typeof makeAccount>, machine: Flow, rows: number) {
  const report = await account.sync(machine);
  expect(report.error).toBeUndefined();
  expect(report.exitCode).toBe(0);
  expect(new Set(await account.read())).toEqual(new Set([rows]));
  const { ok, items: found } = await verifyState(machine.settings(), { clock: machine.clock });
  expect(found.filter(({ status }) => status === 'failed')).toEqual([]);
  expect(ok).toBe(true);
}

describe.each([
  ['a file', { duckdb: FILE }],
  ['a lake', { parquet: LAKE }],
  ['both', { duckdb: FILE, parquet: LAKE }],
])('an account with %s that another machine takes over', (_, destination) => {
  it.each([
    ['an earlier state', true],
    ['no state', false],
  ])('goes on from what the last one published, with %s', async (_, hasState) => {
    const account = makeAccount(destination);
    const one = account.addMachine();
    await expectWell(account, one, OLD.length);
    account.setRecords(NEW);
    const two = account.addMachine(one);
    expect((await account.sync(two)).exitCode).toBe(0);
    // It died before its state was put away.
    account.leases.end();
    const three = account.addMachine(hasState ? one : undefined);
    await expectWell(account, three, NEW.length);
    account.setRecords([...NEW, ...makeItems(10, { perDay: 10, from: 60 })]);
    await expectWell(account, account.addMachine(three), NEW.length + 10);
  });

  it('goes on from a first sync whose state was lost', async () => {
    const account = makeAccount(destination);
    expect((await account.sync(account.addMachine())).exitCode).toBe(0);
    account.leases.end();
    account.setRecords(NEW);
    await expectWell(account, account.addMachine(), NEW.length);
  });

  it('ends the overtaken run with 75, and readers keep what they had', async () => {
    const account = makeAccount(destination);
    const one = account.addMachine();
    await expectWell(account, one, OLD.length);
    account.setRecords(NEW);
    const two = account.addMachine(one);
    const locks = ['warehouse.duckdb', 'lake'].map((name) =>
      destinationLockFile(join(account.published, name)),
    );
    const report = await account.sync(two, {
      onProgress: ({ type }) => {
        expect(locks.filter((lock) => existsSync(lock))).toEqual([]);
        if (type === 'publishing') account.leases.end();
      },
    });
    expect(report.exitCode).toBe(75);
    expect(report.error).toMatchObject({ code: 'state_locked', exitCode: 75 });
    expect(report.error?.message).toMatch(/lost: another machine has the account/);
    expect(new Set(await account.read())).toEqual(new Set([OLD.length]));
    await expectWell(account, account.addMachine(one), NEW.length);
  });
});

describe('a takeover', () => {
  it.each([
    ['the lake, the file is behind', 'warehouse.duckdb'],
    ['the file, the lake is behind', 'lake'],
  ])('goes on from the destination that has the most: %s', async (_, behind) => {
    const account = makeAccount({ duckdb: FILE, parquet: LAKE });
    const one = account.addMachine();
    await expectWell(account, one, OLD.length);
    const [place, kept] = [join(account.published, behind), join(account.published, '..', 'kept')];
    cpSync(place, kept, { recursive: true, verbatimSymlinks: true });
    account.setRecords(NEW);
    expect((await account.sync(account.addMachine(one))).exitCode).toBe(0);
    // It died between its destinations.
    rmSync(place, { recursive: true });
    cpSync(kept, place, { recursive: true, verbatimSymlinks: true });
    account.leases.end();
    await expectWell(account, account.addMachine(one), NEW.length);
    account.leases.end();
    await expectWell(account, account.addMachine(), NEW.length);
  });

  it('that failed stays one for the next holder', async () => {
    const account = makeAccount({ duckdb: FILE });
    const one = account.addMachine();
    await expectWell(account, one, OLD.length);
    account.leases.end();
    const place = join(account.published, 'warehouse.duckdb');
    rmSync(place);
    writeFileSync(place, 'somebody else wrote this');
    await expect(account.sync(account.addMachine(one))).rejects.toMatchObject({ exitCode: 2 });
    rmSync(place);
    const next = await account.leases.take();
    expect(next.lease.isTakeover).toBe(true);
    await next.release();
    await expectWell(account, account.addMachine(one), OLD.length);
    const last = await account.leases.take();
    expect(last.lease.isTakeover).toBe(false);
    await last.release();
  });
});
