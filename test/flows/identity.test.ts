import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SyncError } from '../../src/model/errors.ts';
import {
  createItemsFlow,
  DAY_MS,
  eventsOf,
  type Flow,
  type FlowConfig,
  HOUR_MS,
  type ItemsOptions,
  makeFolder,
  makeItems,
} from '../support/sync-harness.ts';

const KEY_A = 'key-of-account-a-01';
const KEY_B = 'key-of-account-b-02';

/** A project of account A, and another account's data behind the same address. */
function createAccounts(theirs: readonly unknown[], options: ItemsOptions = {}) {
  const folder = makeFolder();
  const simulator = { keys: [KEY_A, KEY_B] };
  const source = { apiKey: KEY_A };
  const mine = createItemsFlow(makeItems(250), {
    folder,
    simulator,
    ...options,
    config: { ...options.config, source },
  });
  const others = createItemsFlow(theirs, {
    folder,
    simulator,
    clock: mine.clock,
    ...options,
    config: { ...options.config, source: { apiKey: KEY_B } },
  });
  return { folder, mine, others };
}

const theirItems = makeItems(250).map((item) => ({ ...item, id: item.id + 5_000, amount: item.amount + 1 }));
const sameIds = makeItems(250).map((item) => ({
  ...item,
  name: `theirs ${item.id}`,
  amount: item.amount + 1,
}));
const elsewhere = (folder: string): FlowConfig => ({ destination: { duckdb: join(folder, 'b.duckdb') } });
const withKey = (apiKey: string): FlowConfig => ({ source: { apiKey } });

async function failureOf(sync: Promise<unknown>): Promise<SyncError> {
  return sync.then(
    () => expect.unreachable('the sync should be refused'),
    (thrown: unknown) => thrown as SyncError,
  );
}

function publishedOf(flow: Flow): string {
  return createHash('sha256').update(readFileSync(flow.duckdbPath)).digest('hex');
}

describe('another destination and another key on one state folder', () => {
  it.each([KEY_B, 'a-key-that-is-wrong'])(
    'end with 2 before a request, and publish nothing (%s)',
    async (key) => {
      const { folder, mine, others } = createAccounts(theirItems);
      await mine.sync();
      const before = publishedOf(mine);
      const error = await failureOf(others.sync({ config: { ...elsewhere(folder), ...withKey(key) } }));
      expect(error).toMatchObject({ exitCode: 2, code: 'identity_mismatch' });
      expect(error.hint).toMatch(/write "stateDir: \.\/\.sluice-\w+" and a destination of its own into .+/);
      expect(`${error.message}${error.hint}`).not.toContain(key);
      expect(others.arrivals).toEqual([]);
      expect(existsSync(join(folder, 'b.duckdb'))).toBe(false);
      expect(publishedOf(mine)).toEqual(before);
      // As it says.
      const own = createItemsFlow(theirItems, {
        folder,
        stateDir: join(folder, '.sluice-b'),
        simulator: { keys: [KEY_B] },
        config: { ...elsewhere(folder), ...withKey(KEY_B) },
      });
      expect((await own.sync()).exitCode).toBe(0);
    },
  );

  it('are refused of a lake as well', async () => {
    const { folder, mine, others } = createAccounts(theirItems);
    const lake = (name: string) => ({ destination: { parquet: join(folder, name) } });
    await mine.sync({ config: lake('a') });
    const error = await failureOf(others.sync({ config: lake('b') }));
    expect(error).toMatchObject({ exitCode: 2, code: 'identity_mismatch' });
    expect(existsSync(join(folder, 'b'))).toBe(false);
  });
});

describe('another destination alone', () => {
  it('is a move: published there without a request, and told', async () => {
    const { folder, mine } = createAccounts([]);
    await mine.sync();
    const report = await mine.sync({ config: elsewhere(folder) });
    expect(report).toMatchObject({ exitCode: 0, requests: 0 });
    expect(existsSync(join(folder, 'b.duckdb'))).toBe(true);
    expect(
      eventsOf(mine, 'note')
        .map(({ message }) => message)
        .join(),
    ).toMatch(/the destination was .+warehouse\.duckdb/);
    await mine.sync({ config: elsewhere(folder) });
    expect(eventsOf(mine, 'note')).toEqual([]);
  });

  it('is refused by a command that has no key to compare', async () => {
    const { folder, mine } = createAccounts([]);
    await mine.sync();
    await expect(mine.rebuild({ config: elsewhere(folder) })).rejects.toMatchObject({
      exitCode: 2,
      code: 'identity_mismatch',
    });
    expect(existsSync(join(folder, 'b.duckdb'))).toBe(false);
  });
});

describe('another key alone', () => {
  it('continues after one request that shows the same rows', async () => {
    const { mine } = createAccounts([]);
    await mine.sync();
    expect(await mine.sync({ config: withKey(KEY_B) })).toMatchObject({ exitCode: 0, requests: 1 });
    expect(eventsOf(mine, 'note')).toHaveLength(1);
    expect(await mine.sync({ config: withKey(KEY_B) })).toMatchObject({ exitCode: 0, requests: 0 });
  });

  it('continues after a year of new rows on top, by the last page', async () => {
    const { mine, others } = createAccounts([...makeItems(400, { from: 250 }), ...makeItems(250)]);
    await mine.sync();
    expect(await others.sync({ force: true })).toMatchObject({ exitCode: 0 });
    expect(await others.rows('items')).toHaveLength(650);
  });

  it.each([
    ['other ids', theirItems],
    ['the same ids and other values', sameIds],
    ['no rows', []],
  ])('that shows %s is refused with 2, and nothing is written', async (_, records) => {
    const { mine, others } = createAccounts(records);
    await mine.sync();
    const before = publishedOf(mine);
    await mine.clock.sleep(DAY_MS);
    const error = await failureOf(others.sync());
    expect(error).toMatchObject({ exitCode: 2, code: 'identity_mismatch' });
    expect(error.hint).toMatch(/--accept-new-key.+Nothing was written/s);
    expect(publishedOf(mine)).toEqual(before);
    await failureOf(others.sync());
    expect((await mine.sync()).exitCode).toBe(0);
    expect((await mine.rows('items')).length).toBe(250);
  });

  it('is refused where its state was restored from a destination of the other', async () => {
    const { folder, mine } = createAccounts([]);
    await mine.sync();
    const others = createItemsFlow(theirItems, {
      folder,
      stateDir: join(folder, 'state-b'),
      simulator: { keys: [KEY_B] },
      config: withKey(KEY_B),
    });
    const before = publishedOf(mine);
    expect(await failureOf(others.sync())).toMatchObject({ exitCode: 2, code: 'identity_mismatch' });
    expect(publishedOf(mine)).toEqual(before);
  });

  it('is accepted unseen by --accept-new-key', async () => {
    const { mine, others } = createAccounts(sameIds);
    await mine.sync();
    expect(await others.sync({ acceptNewKey: true, force: true })).toMatchObject({
      exitCode: 0,
      warnings: [],
    });
    expect((await others.sync()).exitCode).toBe(0);
  });

  it('is warned of where it was accepted unseen and does not return all rows', async () => {
    const { mine, others } = createAccounts(theirItems);
    await mine.sync();
    const accepted = await others.sync({ acceptNewKey: true, force: true });
    expect(accepted.exitCode).toBe(0);
    const warning =
      /items: 250 rows .* did not come with the accepted key and stay\..*state reset items --drop-tables/;
    expect(accepted.warnings).toEqual([expect.stringMatching(warning)]);
    const again = await others.sync({ acceptNewKey: true, force: true, fullRefresh: true });
    expect(again.warnings).toEqual([]);
  });

  it('of a document is held to its records', async () => {
    const document = { endpoint: { paginated: false }, stream: { paginated: false } } as const;
    const { mine, others } = createAccounts(sameIds, document);
    await mine.sync();
    expect(await failureOf(others.sync())).toMatchObject({ exitCode: 2 });
    expect((await mine.sync({ config: withKey(KEY_B) })).exitCode).toBe(0);
  });

  it('does not continue with staged pages unless the head shows that they are of the same data', async () => {
    const folder = makeFolder();
    const config = { quota: { requestsPerHour: 4 } };
    const simulator = { keys: [KEY_A, KEY_B] };
    const theirs = makeItems(600).map((item) => ({ ...item, amount: item.amount + 1 }));
    const others = createItemsFlow(theirs, { folder, simulator, config: { ...config, ...withKey(KEY_B) } });
    const { clock } = others;
    const mine = createItemsFlow(makeItems(600), { folder, simulator, clock, config: withKey(KEY_A) });
    expect((await others.sync({ maxWaitMs: 0 })).exitCode).toBe(75);
    await clock.sleep(HOUR_MS);
    await mine.sync({ maxRequests: 1 });
    expect((await mine.sync()).exitCode).toBe(0);
    const rows = await mine.rows('items');
    expect(rows.filter(({ id, amount }) => Number(amount) !== (Number(id) * 7919) % 1000)).toEqual([]);
    expect(rows).toHaveLength(600);
  });
});
