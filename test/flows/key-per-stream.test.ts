import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SyncError } from '../../src/model/errors.ts';
import type { Transport } from '../../src/model/http.ts';
import { runChecks } from '../../src/commands/check.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { resetState } from '../../src/commands/state/change-state.ts';
import { readStatus } from '../../src/commands/status.ts';
import { createSimulatorTransport } from '../support/simulator-transport.ts';
import {
  createFlow,
  DAY_MS,
  eventsOf,
  type Flow,
  type FlowConfig,
  type FlowOptions,
  HOUR_MS,
  makeFolder,
  makeItems,
  noBuiltIns,
  streamOf,
} from '../support/sync-harness.ts';

// `cat` is the same for every account, `mine` is not: a key that shows the one says nothing of the other.

const KEYS = { a: 'key-of-account-a-01', b: 'key-of-account-b-02', c: 'key-of-account-c-03' };
type Account = keyof typeof KEYS;

const catalog = makeItems(60);
const ownOf = (account: Account, entity = 'x') =>
  makeItems(60).map((item, at) => ({
    ...item,
    name: `${account} ${item.id}`,
    amount: `${account}${at}`,
    entity,
  }));

const streams = (mine?: NonNullable<FlowConfig['streams']>[string]): FlowConfig => ({
  streams: {
    ...noBuiltIns,
    cat: { path: 'cat', paginated: true, key: ['id'] },
    ...(mine !== undefined && { mine: { path: 'mine', paginated: true, key: ['id'], ...mine } }),
  },
});
const both = streams({});
const disabled = streams({ enabled: false });
const removed = streams();

/** One project that several accounts' keys are used in. */
function createAccounts(options: FlowOptions = {}) {
  const folder = makeFolder();
  const flows = new Map<string, Flow>();
  let { clock } = options;
  const as = (account: Account, own: readonly unknown[] | undefined = ownOf(account)): Flow => {
    const flow = createFlow({
      folder,
      ...(clock && { clock }),
      ...options,
      simulator: {
        ...options.simulator,
        builtIns: false,
        keys: Object.values(KEYS),
        endpoints: {
          cat: { paginated: true, records: () => catalog },
          ...(own && { mine: { paginated: true, records: () => own } }),
        },
      },
      config: { source: { apiKey: KEYS[account] } },
    });
    clock ??= flow.clock;
    flows.set(account, flow);
    return flow;
  };
  const a = as('a');
  return { a, as, later: () => a.clock.stepWall(DAY_MS) };
}

async function failureOf(sync: Promise<unknown>): Promise<SyncError> {
  return sync.then(
    () => expect.unreachable('the sync should be refused'),
    (thrown: unknown) => thrown as SyncError,
  );
}

const MISMATCH = { exitCode: 2, code: 'identity_mismatch' };
const namesOf = async (flow: Flow) => [
  ...new Set((await flow.rows('mine')).map(({ name }) => String(name).slice(0, 1))),
];
const notesOf = (flow: Flow) =>
  eventsOf(flow, 'note')
    .map(({ message }) => message)
    .join();

/** A synced both streams; B's key has become the project's, by the stream that is the same for both. */
async function rotatePast({ a, as, later }: ReturnType<typeof createAccounts>, config = disabled) {
  await a.sync({ config: both });
  later();
  const b = as('b');
  expect(await failureOf(b.sync({ config: both }))).toMatchObject(MISMATCH);
  expect((await b.sync({ config })).exitCode).toBe(0);
  later();
  return b;
}

describe('a stream that a new key was not asked for', () => {
  it.each([
    ['was disabled', disabled],
    ['was not in the config', removed],
  ])('is refused when it %s and shows rows of another account', async (_, config) => {
    const accounts = createAccounts();
    const b = await rotatePast(accounts, config);
    expect(notesOf(b)).toMatch(/reads the same data.+not checked yet: mine/);
    const error = await failureOf(b.sync({ config: both }));
    expect(error).toMatchObject(MISMATCH);
    expect(error.message).toMatch(/the rows of mine were read with a different key.+0 with all values/);
    expect(error.hint).toMatch(/--accept-new-key.+Nothing was written/s);
    for (const options of [{ force: true }, { limit: 5 }, { fullRefresh: true }, { streams: ['mine'] }])
      expect(await failureOf(b.sync({ config: both, ...options }))).toMatchObject(MISMATCH);
    expect((await b.sync({ config: both, streams: ['cat'] })).exitCode).toBe(0);
    expect(await namesOf(b)).toEqual(['a']);
  });

  it('is refused when the API did not have it, and the tables are those of the first account', async () => {
    const { a, as, later } = createAccounts();
    await a.sync({ config: both });
    later();
    const without = as('b', []);
    const gone = createFlow({
      folder: without.folder,
      clock: a.clock,
      simulator: {
        builtIns: false,
        keys: [KEYS.b],
        endpoints: { cat: { paginated: true, records: () => catalog } },
      },
      config: { source: { apiKey: KEYS.b } },
    });
    await gone.sync({ config: both });
    later();
    const b = as('b');
    expect(await failureOf(b.sync({ config: both }))).toMatchObject(MISMATCH);
    expect(await namesOf(b)).toEqual(['a']);
  });

  it('is refused right before its scan, when the API has it again within the run', async () => {
    const accounts = createAccounts();
    const { folder, clock } = accounts.a;
    await rotatePast(accounts);
    const b = accounts.as('b');
    const inner = createSimulatorTransport(b.simulator, clock, {});
    let refused = 0;
    const transport: Transport = {
      close: () => inner.close(),
      async send(request) {
        if (!request.url.pathname.endsWith('/mine') || refused > 0) return inner.send(request);
        refused += 1;
        const url = new URL(request.url);
        url.pathname = url.pathname.replace(/mine$/, 'gone');
        return inner.send({ ...request, url });
      },
    };
    const flaky = createFlow({
      folder,
      clock,
      transport,
      simulator: b.simulator,
      config: { source: { apiKey: KEYS.b } },
    });
    const report = await flaky.sync({ config: both });
    expect(report.exitCode).toBe(5);
    expect(streamOf(report, 'mine')).toMatchObject({ status: 'failed', error: MISMATCH });
    expect(await namesOf(b)).toEqual(['a']);
  });

  it('goes on after one request where it is the same account', async () => {
    const { a, as, later } = createAccounts();
    await a.sync({ config: both });
    later();
    const b = as('b', ownOf('a'));
    await b.sync({ config: disabled });
    later();
    const report = await b.sync({ config: both });
    expect(report).toMatchObject({ exitCode: 0, requests: 5 });
    expect(notesOf(b)).toMatch(/reads the same data of mine as well/);
    later();
    expect(await b.sync({ config: both })).toMatchObject({ exitCode: 0, requests: 4 });
    expect(notesOf(b)).not.toMatch(/key/);
  });

  it('needs no proof where its table is empty', async () => {
    const { a, as, later } = createAccounts();
    await a.sync({ config: disabled });
    later();
    const b = as('b');
    await b.sync({ config: disabled });
    expect(notesOf(b)).not.toMatch(/mine/);
    later();
    expect((await b.sync({ config: both })).exitCode).toBe(0);
    expect(await namesOf(b)).toEqual(['b']);
  });

  it('is accepted unseen by --accept-new-key', async () => {
    const b = await rotatePast(createAccounts());
    expect((await b.sync({ config: both, acceptNewKey: true })).exitCode).toBe(0);
    expect((await b.sync({ config: both, force: true })).exitCode).toBe(0);
  });

  it('needs no proof of the key that its rows were read with', async () => {
    const accounts = createAccounts();
    await rotatePast(accounts);
    const changed = ownOf('a').map((item) => ({ ...item, amount: `other ${item.amount}` }));
    const a = accounts.as('a', changed);
    expect((await a.sync({ config: both })).exitCode).toBe(0);
    expect((await a.rows('mine')).every(({ amount }) => String(amount).startsWith('other'))).toBe(true);
  });

  it('stays so through a third key, which has to show it as well', async () => {
    const accounts = createAccounts();
    await rotatePast(accounts);
    const c = accounts.as('c', ownOf('b'));
    expect((await c.sync({ config: disabled })).exitCode).toBe(0);
    accounts.later();
    expect(await failureOf(c.sync({ config: both }))).toMatchObject(MISMATCH);
    expect((await accounts.as('c', ownOf('a')).sync({ config: both })).exitCode).toBe(0);
    expect(await namesOf(c)).toEqual(['a']);
  });

  it('has to show one of its slices that have rows, and where none has, the rows there are', async () => {
    const sliced = { params: { entity: ['x', 'y'] }, sliceBy: ['entity'] };
    const accounts = createAccounts();
    const a = accounts.as('a', [
      ...ownOf('a'),
      ...ownOf('a', 'y').map((item) => ({ ...item, id: item.id + 900 })),
    ]);
    await a.sync({ config: streams(sliced) });
    accounts.later();
    const b = accounts.as('b', [...ownOf('b'), ...ownOf('b', 'y'), ...ownOf('b', 'z')]);
    await b.sync({ config: streams({ ...sliced, enabled: false }) });
    for (const entity of [['x', 'y'], ['z']]) {
      const config = streams({ ...sliced, params: { entity } });
      expect(await failureOf(b.sync({ config }))).toMatchObject(MISMATCH);
    }
    expect(await namesOf(a)).toEqual(['a']);
  });
});

describe('a new key of the same account', () => {
  it('is accepted with the slices removed or changed in the same edit', async () => {
    const sliced = { params: { entity: ['x'] }, sliceBy: ['entity'] };
    for (const mine of [{}, sliced]) {
      const { a, as, later } = createAccounts();
      await a.sync({ config: streams(mine === sliced ? {} : sliced) });
      later();
      expect((await as('b', ownOf('a')).sync({ config: streams(mine) })).exitCode).toBe(0);
    }
  });
});

describe('what is known of it', () => {
  it('is told by check and status, and stays over commands without a key', async () => {
    const b = await rotatePast(createAccounts());
    await b.rebuild({ config: both });
    await resetState(b.settings(both), {
      confirm: () => Promise.resolve(true),
      clock: b.clock,
      streams: ['cat'],
    });
    const status = await readStatus(b.settings(both), b.clock.now());
    expect(status.streams.map(({ stream, isUnproved }) => [stream, isUnproved])).toEqual([
      ['cat', undefined],
      ['mine', true],
    ]);
    const report = await runChecks(b.settings(both), {
      clock: b.clock,
      transport: createSimulatorTransport(b.simulator, b.clock, {}),
    });
    expect(report.items.find(({ name }) => name === 'state folder')?.detail).toMatch(
      /the rows of mine were read with a different key/,
    );
    expect(await failureOf(b.sync({ config: both }))).toMatchObject(MISMATCH);
  });

  it('stays when the checkpoint alone is forgotten, and goes with the table', async () => {
    const b = await rotatePast(createAccounts());
    const options = { confirm: () => Promise.resolve(true), clock: b.clock, streams: ['mine'] };
    await resetState(b.settings(both), options);
    expect(await failureOf(b.sync({ config: both }))).toMatchObject(MISMATCH);
    await resetState(b.settings(both), { ...options, dropTables: true });
    const status = await readStatus(b.settings(both), b.clock.now());
    expect(status.streams.map(({ isUnproved }) => isUnproved)).toEqual([undefined, undefined]);
    expect((await b.sync({ config: both })).exitCode).toBe(0);
    expect(await namesOf(b)).toEqual(['b']);
  });
});

describe('a key that is checked in a run that finds nothing to publish', () => {
  it.each([
    ['a duckdb file', {}],
    ['a lake', { destination: { parquet: './lake' } }],
  ])('leaves what verify compares equal: %s', async (_, destination: FlowConfig) => {
    const { a, as } = createAccounts();
    const config = { ...disabled, ...destination };
    await a.sync({ config });
    const b = as('b');
    expect(await b.sync({ config })).toMatchObject({ exitCode: 0, rows: { read: 0 } });
    const { items } = await verifyState(b.settings(config), { clock: b.clock });
    expect(items.filter(({ status }) => status === 'failed')).toEqual([]);
  });
});

describe('a stream whose table was dropped, and rebuilt from the archive', () => {
  /** As in archives of earlier releases. */
  function forgetReaders({ stateDir }: Flow) {
    const archive = join(stateDir, 'archive');
    for (const name of readdirSync(archive, { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.json')) continue;
      const header = join(archive, name);
      const { key, sum, ...rest } = JSON.parse(readFileSync(header, 'utf8')) as Record<string, unknown>;
      expect([typeof key, typeof sum]).toEqual(['string', 'number']);
      writeFileSync(header, JSON.stringify(rest));
    }
  }

  async function dropMine(readers: 'recorded' | 'unknown') {
    const accounts = createAccounts();
    const { a, later } = accounts;
    await a.sync({ config: both });
    if (readers === 'unknown') forgetReaders(a);
    const options = { confirm: () => Promise.resolve(true), clock: a.clock, streams: ['mine'] };
    await resetState(a.settings(both), { ...options, dropTables: true });
    later();
    return accounts;
  }

  it('stays dropped where another key read its archived pages', async () => {
    const { as, later } = await dropMine('recorded');
    const b = as('b');
    expect((await b.sync({ config: disabled })).exitCode).toBe(0);
    const refused = { status: 'failed', error: { code: 'archive_incomplete' } };
    expect(await b.rebuild({ config: both, dryRun: true })).toMatchObject({
      exitCode: 5,
      streams: [{ status: 'planned' }, refused],
    });
    const { exitCode, items } = await verifyState(b.settings(both), { clock: b.clock });
    expect(exitCode).toBe(0);
    const doubts = items.filter(({ status }) => status !== 'ok');
    expect(doubts).toMatchObject([{ name: 'archive of mine', status: 'warning' }]);
    expect(doubts[0]?.detail).toMatch(/read with a different key/);
    const report = await b.rebuild({ config: both });
    expect(report).toMatchObject({ exitCode: 5, streams: [{ status: 'rebuilt' }, refused] });
    expect(report.streams[1]?.error?.message).toMatch(/were read with a different key than the other tables/);
    await expect(b.rows('mine')).rejects.toThrow(/does not exist/);
    later();
    expect((await b.sync({ config: both })).exitCode).toBe(0);
    expect((await b.rebuild({ config: both })).exitCode).toBe(0);
    expect(await namesOf(b)).toEqual(['b']);
  });

  it('needs no proof of the key that read its archived pages', async () => {
    const { a, later } = await dropMine('recorded');
    const { exitCode, streams } = await a.rebuild({ config: both });
    expect([exitCode, streams.map(({ notes }) => notes.join())]).toEqual([0, ['', '']]);
    later();
    expect((await a.sync({ config: both })).exitCode).toBe(0);
    expect(notesOf(a)).not.toMatch(/key/);
  });

  it('has to be shown by another key where the state was lost as well', async () => {
    const { a, as, later } = createAccounts();
    await a.sync({ config: both });
    rmSync(join(a.stateDir, 'work.duckdb'));
    rmSync(a.duckdbPath);
    expect((await a.rebuild({ config: both })).exitCode).toBe(0);
    later();
    expect(await failureOf(as('b').sync({ config: both }))).toMatchObject(MISMATCH);
    expect((await a.sync({ config: both })).exitCode).toBe(0);
    later();
    expect((await a.sync({ config: both })).exitCode).toBe(0);
    expect(notesOf(a)).not.toMatch(/key/);
  });

  it('is refused to another key, which reads other rows than were archived', async () => {
    const { as, later } = await dropMine('unknown');
    const b = as('b');
    expect((await b.sync({ config: disabled })).exitCode).toBe(0);
    const { streams } = await b.rebuild({ config: both });
    const said = streams.map(({ stream, notes }) => [stream, notes.join()]);
    expect(said).toEqual([
      ['cat', ''],
      ['mine', expect.stringContaining('it is not recorded which key read these rows')],
    ]);
    later();
    expect(await failureOf(b.sync({ config: both }))).toMatchObject(MISMATCH);
    expect(await namesOf(b)).toEqual(['a']);
  });

  it('goes on after one more request where the key reads the same rows', async () => {
    const { a } = await dropMine('unknown');
    expect((await a.rebuild({ config: both })).exitCode).toBe(0);
    expect((await a.sync({ config: both, streams: ['mine'] })).exitCode).toBe(0);
    expect(notesOf(a)).toContain('the key reads the same data of mine as well');
    const status = await readStatus(a.settings(both), a.clock.now());
    expect(status.streams.map(({ isUnproved }) => isUnproved)).toEqual([undefined, undefined]);
  });
});

describe('a stream with slices', () => {
  const sliced = (...entities: string[]): FlowConfig => ({
    streams: {
      ...noBuiltIns,
      mine: { path: 'mine', paginated: true, key: ['id'], params: { entity: entities }, sliceBy: ['entity'] },
    },
  });
  const config = sliced('acme', 'globex');
  const removedSlices: FlowConfig = {
    streams: { ...noBuiltIns, mine: { path: 'mine', paginated: true, key: ['id'] } },
  };

  /** Rows of some clients; those of acme are the same for every key. */
  function createSliced(entities = ['acme', 'globex']) {
    const folder = makeFolder();
    const rowsOf = (account: Account) =>
      entities.flatMap((entity, at) =>
        ownOf(entity === 'acme' ? 'a' : account, entity).map((row) => ({ ...row, id: row.id + at * 1_000 })),
      );
    const as = (account: Account, owner: Account, clock?: Flow['clock']) =>
      createFlow({
        folder,
        ...(clock && { clock }),
        simulator: {
          builtIns: false,
          keys: Object.values(KEYS),
          endpoints: { mine: { paginated: true, records: () => rowsOf(owner) } },
        },
        config: { source: { apiKey: KEYS[account] } },
      });
    const a = as('a', 'a');
    const later = (owner: Account) => {
      a.clock.stepWall(DAY_MS);
      return as('b', owner, a.clock);
    };
    return { a, later };
  }

  it('is checked slice by slice: one that reads other rows fails, and its rows are unchanged', async () => {
    const { a, later } = createSliced();
    expect((await a.sync({ config })).exitCode).toBe(0);
    const b = later('b');
    for (const options of [{}, { fullRefresh: true }, { force: true }]) {
      const report = await b.sync({ config, ...options });
      expect(report.exitCode).toBe(5);
      expect(report.streams).toMatchObject([{ status: 'complete' }, { status: 'failed', error: MISMATCH }]);
      expect(report.streams[1]?.error?.message).toMatch(/the rows of mine \(.*globex.*\) were read with/);
      expect(await namesOf(b)).toEqual(['a']);
      b.clock.stepWall(DAY_MS);
    }
    const status = await readStatus(b.settings(config), b.clock.now());
    expect(status.streams.map(({ isUnproved }) => isUnproved)).toEqual([undefined, true]);
    expect((await b.sync({ config, acceptNewKey: true })).exitCode).toBe(0);
    expect((await namesOf(b)).toSorted()).toEqual(['a', 'b']);
  });

  it('is read after one request a slice where they are the same', async () => {
    const { a, later } = createSliced();
    await a.sync({ config });
    const b = later('a');
    const report = await b.sync({ config });
    expect(report).toMatchObject({ exitCode: 0, streams: [{ status: 'complete' }, { status: 'complete' }] });
    b.clock.stepWall(DAY_MS);
    expect(report.requests - (await b.sync({ config })).requests).toBe(2);
    const status = await readStatus(b.settings(config), b.clock.now());
    expect(status.streams.map(({ isUnproved }) => isUnproved)).toEqual([undefined, undefined]);
  });

  it('is checked too where the config did not have the slice meanwhile', async () => {
    const { a, later } = createSliced();
    await a.sync({ config });
    const b = later('b');
    expect((await b.sync({ config: sliced('acme') })).exitCode).toBe(0);
    b.clock.stepWall(DAY_MS);
    const report = await b.sync({ config });
    expect(report.streams).toMatchObject([{ status: 'complete' }, { status: 'failed', error: MISMATCH }]);
    expect(await namesOf(b)).toEqual(['a']);
  });

  it.each([
    ['was not sliced before', removedSlices],
    ['had other slices before', sliced('acme', 'globex')],
  ])('that %s shows the rows that each slice takes over', async (_, before) => {
    const { a, later } = createSliced();
    await a.sync({ config: before });
    const b = later('b');
    // Another slice, or none, was read with the new key in between.
    await b.sync({ config: sliced('acme') });
    b.clock.stepWall(DAY_MS);
    const report = await b.sync({ config, fullRefresh: true });
    expect(report.streams).toMatchObject([{ status: 'complete' }, { status: 'failed', error: MISMATCH }]);
    expect(await namesOf(b)).toEqual(['a']);
  });

  it('that becomes sliced together with a new key is checked slice by slice, too', async () => {
    const { a, later } = createSliced();
    await a.sync({ config: removedSlices });
    const b = later('b');
    const report = await b.sync({ config });
    expect(report.streams).toMatchObject([{ status: 'complete' }, { status: 'failed', error: MISMATCH }]);
    expect(await namesOf(b)).toEqual(['a']);
    const again = later('a');
    expect((await again.sync({ config })).exitCode).toBe(0);
    expect((await again.rows('mine')).length).toBe(120);
  });

  it('may get a new slice once another one is checked', async () => {
    const { a, later } = createSliced(['acme', 'initech']);
    await a.sync({ config: sliced('acme') });
    const b = later('b');
    expect((await b.sync({ config: sliced('acme', 'initech') })).exitCode).toBe(0);
    expect((await namesOf(b)).toSorted()).toEqual(['a', 'b']);
  });
});

describe('tables that were rebuilt from the archive alone', () => {
  it('are checked as well: nobody knows which key read them', async () => {
    const { a, as, later } = createAccounts();
    await a.sync({ config: both });
    rmSync(a.duckdbPath);
    rmSync(join(a.stateDir, 'work.duckdb'));
    expect((await a.rebuild({ config: both })).exitCode).toBe(0);
    later();
    const b = as('b');
    expect(await failureOf(b.sync({ config: both }))).toMatchObject(MISMATCH);
    expect(await namesOf(b)).toEqual(['a']);
    const own = as('a');
    expect((await own.sync({ config: both })).exitCode).toBe(0);
  });
});

describe('a first scan that takes days', () => {
  it('begins again when the key becomes that of another account', async () => {
    const { a, as } = createAccounts({ simulator: { rateLimit: { requestsPerHour: 1 } } });
    const config = {
      quota: { requestsPerHour: 1 },
      streams: { ...noBuiltIns, mine: { path: 'mine', paginated: true, pageSize: 2 } },
    };
    const run = { config, maxWaitMs: 0 };
    for (let hour = 0; hour < 3; hour += 1) {
      expect((await a.sync(run)).exitCode).toBe(75);
      await a.clock.sleep(HOUR_MS);
    }
    const b = as(
      'b',
      ownOf('b').map((row) => ({ ...row, id: Number(row.id) + 1_000 })),
    );
    let exitCode = 75;
    for (let hour = 0; hour < 120 && exitCode === 75; hour += 1) {
      ({ exitCode } = await b.sync(run));
      await a.clock.sleep(HOUR_MS);
    }
    expect(exitCode).toBe(0);
    expect(await namesOf(b)).toEqual(['b']);
  });
});
