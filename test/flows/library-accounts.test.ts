import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  type AccountEvent,
  check,
  type ConfigInput,
  defineConfig,
  plan,
  sync,
  syncAccounts,
  SyncError,
} from '../../src/index.ts';
import { type SimulatorServer, startSimulatorServer } from '../../src/simulator/server.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { queryCopy } from '../support/published.ts';
import { makeFolder, unlimited } from '../support/sync-harness.ts';

const names = ['acme', 'globex', 'initech'];
const simulator = createSimulator({
  rateLimit: unlimited,
  sizes: { historyDays: 4, prompts: 10, mentionsPerDay: 5, categories: 3, productsPerCategory: 10 },
  accounts: names.map((name) => ({ name, key: keyOf(name), revoked: name === 'globex' })),
});
let server: SimulatorServer;
beforeAll(async () => {
  server = await startSimulatorServer(simulator);
});
afterAll(() => server.close());

function keyOf(name: string): string {
  return `library-key-of-${name}`;
}

/** A config object; `change` is laid over each account. */
function makeConfig(folder: string, change: (name: string) => object = () => ({})): ConfigInput {
  const own = (name: string) => ({
    source: { apiKey: keyOf(name) },
    destination: { duckdb: join(folder, 'accounts', `${name}.duckdb`) },
    stateDir: join(folder, 'state', name),
    ...change(name),
  });
  return {
    source: {
      connector: 'analytics-read',
      baseUrl: server.baseUrl,
      quota: { ledgerDir: join(folder, 'quota') },
    },
    destination: {},
    defaults: { freshness: '0s' },
    streams: {
      visibility_mentions: { enabled: false },
      commerce_category_products: { enabled: false },
      commerce_top_products: { enabled: false },
    },
    accounts: Object.fromEntries(names.map((name) => [name, own(name)])),
    concurrency: 2,
  };
}

/** The same as a file, where names stand in paths. */
function writeConfig(folder: string): string {
  const { accounts: _accounts, source, ...rest } = makeConfig(folder);
  mkdirSync(join(folder, 'keys'));
  for (const name of names) writeFileSync(join(folder, 'keys', name), keyOf(name), { mode: 0o600 });
  const file = join(folder, 'sluice.yaml');
  const config = {
    ...rest,
    source: { ...source, apiKey: '${file:keys/${account}}' },
    destination: { duckdb: './accounts/${account}.duckdb' },
    accounts: Object.fromEntries(names.map((name) => [name, {}])),
  };
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(config));
  return file;
}

async function findRefusal(work: Promise<unknown>): Promise<SyncError> {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof SyncError) return thrown;
  throw new Error('it was not refused', { cause: thrown });
}

const readWorkspaces = async (folder: string, name: string) => {
  const file = join(folder, 'accounts', `${name}.duckdb`);
  const { rows } = await queryCopy(file, 'SELECT DISTINCT workspace FROM main.prompts_analytics');
  return rows;
};

describe('syncAccounts of the library', () => {
  it('begins the next account while one loads or publishes', async () => {
    const folder = makeFolder();
    const log: string[] = [];
    await syncAccounts(
      { ...makeConfig(folder), concurrency: 1 },
      {
        accounts: ['acme', 'initech'],
        onAccount: (event) =>
          log.push(`${event.type} ${event.type === 'account-ended' ? event.end.account : event.account}`),
        onProgress: ({ type }, account) => {
          if (type === 'reading-finished' || type === 'run-finished') log.push(`${type} ${account}`);
        },
      },
    );
    expect(log.indexOf('account-started initech')).toBeLessThan(log.indexOf('run-finished acme'));
    expect(log.toSorted()).toEqual([
      'account-ended acme',
      'account-ended initech',
      'account-started acme',
      'account-started initech',
      'reading-finished acme',
      'reading-finished initech',
      'run-finished acme',
      'run-finished initech',
    ]);
  });

  it.each([
    ['an object', (folder: string) => defineConfig(makeConfig(folder))],
    ['a file', writeConfig],
  ])('syncs the accounts of %s; what fails in one is in the report', async (_, make) => {
    const folder = makeFolder();
    const events: AccountEvent[] = [];
    const seen = new Set<string>();
    const ended: string[] = [];
    const report = await syncAccounts(make(folder), {
      onAccount: (event) => events.push(event),
      onProgress: (event, account) => void (event.type === 'stream-finished' && seen.add(account)),
      observers: (account) => [
        {
          name: 'mine',
          onEnd: () => {
            ended.push(account);
            return Promise.resolve([`seen by the observer of ${account}`]);
          },
        },
      ],
    });
    expect(report.accounts.map(({ account, exitCode, runs }) => [account, exitCode, runs])).toEqual([
      ['acme', 0, 1],
      ['globex', 3, 1],
      ['initech', 0, 1],
    ]);
    expect(report).toMatchObject({ exitCode: 5, warnings: [], resumeAt: undefined });
    expect(report.accounts[1]?.error).toMatchObject({ exitCode: 3 });
    expect(report.accounts[0]?.report?.warnings).toEqual(['seen by the observer of acme']);
    expect(events.filter(({ type }) => type === 'account-started')).toHaveLength(3);
    expect(events.filter(({ type }) => type === 'account-ended')).toHaveLength(3);
    expect([...seen].sort()).toEqual(names);
    expect(ended.toSorted()).toEqual(names);
    for (const name of ['acme', 'initech'])
      expect(await readWorkspaces(folder, name)).toEqual([{ workspace: name }]);
  });

  const failing: Readonly<Record<string, () => void>> = {
    throws: () => {
      throw new Error('not today');
    },
    // An async function fits a type that returns nothing.
    rejects: vi.fn().mockRejectedValue(new Error('not today')),
  };
  it.each(Object.entries(failing))(
    'syncs those that are named, and keeps going when what watches them %s',
    async (_, onAccount) => {
      const folder = makeFolder();
      const report = await syncAccounts(makeConfig(folder), { accounts: ['a*', 'initech'], onAccount });
      expect(report.accounts.map(({ account, exitCode }) => [account, exitCode])).toEqual([
        ['acme', 0],
        ['initech', 0],
      ]);
      expect(report).toMatchObject({ exitCode: 0, warnings: ['onAccount threw: not today'] });
      const unknown = await findRefusal(syncAccounts(makeConfig(folder), { accounts: ['glob'] }));
      expect(unknown.message).toBe('no account is called "glob"; did you mean "globex"?');
    },
  );

  it('reports an account that cannot start, and one that was stopped', async () => {
    const folder = makeFolder();
    const config = makeConfig(folder, (name) => (name === 'acme' ? { source: { apiKey: '' } } : {}));
    const report = await syncAccounts(config, { accounts: ['acme', 'initech'] });
    expect(report.accounts.map(({ exitCode }) => exitCode)).toEqual([2, 0]);
    expect(report.accounts[0]).toMatchObject({ report: undefined, error: { exitCode: 2 } });
    const stopped = await syncAccounts(config, { signal: AbortSignal.abort() });
    expect(stopped).toMatchObject({ exitCode: 130 });
    expect(stopped.accounts.map(({ runs }) => runs)).toEqual([0, 0, 0]);
  });

  it.each([
    [
      'duckdb',
      'destination.duckdb',
      (folder: string) => ({ destination: { duckdb: join(folder, 'one.duckdb') } }),
    ],
    [
      'parquet',
      'destination.parquet',
      (folder: string) => ({ destination: { parquet: join(folder, 'lake') } }),
    ],
    ['stateDir', 'stateDir', (folder: string) => ({ stateDir: join(folder, 'state') })],
  ])('refuses accounts of an object that share a place: %s', async (_, key, change) => {
    const folder = makeFolder();
    const config = makeConfig(folder, () => change(folder));
    for (const work of [syncAccounts(config), sync(config, { account: 'acme' })]) {
      const error = await findRefusal(work);
      expect(error.message).toMatch(/acme and globex would share .*, and each account needs its own$/);
      expect(error.hint).toContain(`accounts.globex.${key}: "`);
      expect(error.hint).not.toContain('${account}');
    }
  });

  it('refuses placeholders in an object, where each account would have the same path', async () => {
    const folder = makeFolder();
    const duckdb = join(folder, '${account}.duckdb');
    const error = await findRefusal(syncAccounts(makeConfig(folder, () => ({ destination: { duckdb } }))));
    expect(error.message).toContain('would share');
    expect(error.hint).toBe(
      `Write it for each account, e.g. accounts.globex.destination.duckdb: "${join(folder, 'globex.duckdb')}". ` +
        'Placeholders have no meaning in a config given as an object.',
    );
  });

  it('says once what is wrong for all accounts, and refuses options before it reads', async () => {
    const config = makeConfig(makeFolder());
    const shared = await findRefusal(syncAccounts({ ...config, concurrency: 0 }));
    expect(shared).toMatchObject({ code: 'config_invalid', message: 'concurrency: must be at least 1' });
    const options = await findRefusal(syncAccounts(config, { accounts: [] }));
    expect(options).toMatchObject({ exitCode: 2, code: 'usage_invalid' });
  });

  it('refuses a config without accounts', async () => {
    const { accounts: _accounts, concurrency: _concurrency, ...rest } = makeConfig(makeFolder());
    const error = await findRefusal(syncAccounts(rest));
    expect(error).toMatchObject({ exitCode: 2, message: 'the config has no accounts' });
    expect(await findRefusal(sync(rest, { account: 'acme' }))).toMatchObject({ exitCode: 2 });
  });
});

describe('one account of several', () => {
  it.each([
    ['an object', makeConfig],
    ['a file', writeConfig],
  ])('is planned, checked and synced by its name, from %s', async (_, make) => {
    const folder = makeFolder();
    const config = make(folder);
    const { streams } = await plan(config, { account: 'acme', offline: true });
    expect(streams.map(({ stream }) => stream)).toEqual(['prompts_analytics']);
    // The key of the one is revoked.
    expect(await check(config, { account: 'globex' })).toMatchObject({ ok: false });
    expect(await check(config, { account: 'acme' })).toMatchObject({ ok: true });
    const report = await sync(config, { account: 'acme' });
    const published = { path: join(folder, 'accounts/acme.duckdb') };
    expect(report).toMatchObject({ exitCode: 0, published });
    expect(await readWorkspaces(folder, 'acme')).toEqual([{ workspace: 'acme' }]);
  });

  it('has to be named', async () => {
    const config = makeConfig(makeFolder());
    for (const work of [sync(config), plan(config), plan(config, { offline: true }), check(config)]) {
      const error = await findRefusal(work);
      expect(error.message).toContain('has several accounts (acme, globex, initech)');
      expect(error.hint).toBe('Use syncAccounts, or name one of them, e.g. { account: "acme" }.');
    }
    const unknown = await findRefusal(sync(config, { account: 'acm*' }));
    expect(unknown.message).toContain('no account is called "acm*"');
  });
});
