import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { PostgresQuotaStore } from '../../../src/fleet/quota/postgres-quota-store.ts';
import { RETRY_AFTER_MS } from '../../../src/fleet/quota/quota-connection.ts';
import { lockRow, type QuotaClient, quotaTableSql, writeRow } from '../../../src/fleet/quota/quota-table.ts';
import { type Clock, systemClock } from '../../../src/model/clock.ts';
import { count, describeQuotaStore, read } from '../../state/quota-store-conformance.ts';
import { describeWithServers } from '../../support/describe-with-servers.ts';
import { type PostgresServer, startPostgres } from '../../support/lake-servers.ts';
import { connectQuotaClient } from '../../support/pg-quota-client.ts';

describeWithServers('a quota in Postgres', () => {
  let postgres: PostgresServer;

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  async function createTable(): Promise<string> {
    const url = await postgres.createDatabase(`quota_${randomBytes(4).toString('hex')}`);
    const client = await connectQuotaClient(url);
    // A migration may run again.
    await client.query(quotaTableSql);
    await client.query(quotaTableSql);
    await client.end();
    return url;
  }

  async function connect(url: string): Promise<QuotaClient> {
    const client = await connectQuotaClient(url);
    onTestFinished(() => client.end());
    return client;
  }

  // Two clocks that are read one after the other may differ by a millisecond, which counts as a clock that was set.
  const steady: Clock = { ...systemClock, monotonic: () => systemClock.now() };

  describeQuotaStore('Postgres', () => {
    const made = createTable();
    const ask = async (sql: string) => {
      const client = await connectQuotaClient(await made);
      const { rows } = await client.query(sql, []);
      await client.end();
      return rows;
    };
    return {
      open: () =>
        new PostgresQuotaStore({
          connect: async () => connectQuotaClient(await made),
          keyHash: 'key',
          clock: steady,
        }),
      describeWritten: () => ask('SELECT state, revision FROM sluice_fleet.quota'),
      damage: async () => {
        await ask('DROP TABLE sluice_fleet.quota');
      },
    };
  });

  it('reads the clock after the wait for the row, also where the one before wrote nothing', async () => {
    const url = await createTable();
    const [holder, waiter, watcher] = await Promise.all([connect(url), connect(url), connect(url)]);
    await lockRow(holder, 'key', () => 0);
    await writeRow(holder, 'key', '');
    await lockRow(holder, 'key', () => 0);
    const waiting = lockRow(waiter, 'key', () => 0);
    let isOver = false;
    const over = () => (isOver = true);
    waiting.then(over, over);
    const isWaiting =
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%'";
    while (!isOver && (await watcher.query(isWaiting, [])).rows.length === 0);
    const { rows } = await watcher.query(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
      [],
    );
    await holder.query('ROLLBACK');
    expect((await waiting).serverMs).toBeGreaterThan(Number(rows[0]?.['now']));
    await waiter.query('ROLLBACK');
  });

  it('keeps each key in a row of its own', async () => {
    const url = await createTable();
    const open = (keyHash: string) => {
      const store = new PostgresQuotaStore({
        connect: () => connectQuotaClient(url),
        keyHash,
        clock: systemClock,
      });
      onTestFinished(() => store.close());
      return store;
    };
    const [one, other] = [open('one'), open('other')];
    await Promise.all([count(one), count(one), count(other)]);
    expect((await read(open('one'))).consecutive429s).toBe(2);
    expect((await read(open('other'))).consecutive429s).toBe(1);
  });

  it('goes on when the server ends its connections, and shares again later', async () => {
    const url = await createTable();
    let passedMs = 0;
    const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs };
    const open = () => {
      const connect = () => connectQuotaClient(url);
      const store = new PostgresQuotaStore({ connect, keyHash: 'key', clock });
      onTestFinished(() => store.close());
      return store;
    };
    const [store, other] = [open(), open()];
    await count(store);
    await count(other);
    const watcher = await connect(url);
    await watcher.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      [],
    );
    // They end a moment after they were told to.
    const others =
      'SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';
    while ((await watcher.query(others, [])).rows[0]?.['n'] !== 0) await setImmediate();
    expect(await count(store)).toBe(2);
    expect(store.warning).toMatch(/cannot be used \(.*\): other processes with this key are not seen/);
    expect((await read(other)).consecutive429s).toBe(2);
    passedMs += RETRY_AFTER_MS;
    // They connect while changes go on.
    while ([store, other].some(({ warning }) => warning?.includes('cannot be used') === true)) {
      await setImmediate();
      await Promise.all([read(store), read(other)]);
    }
    expect(await count(store)).toBe(3);
    expect((await read(other)).consecutive429s).toBe(3);
    expect(store.warning).toMatch(/could not be used for a time/);
  });
});
