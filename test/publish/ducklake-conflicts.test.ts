import { afterAll, beforeAll, expect, it } from 'vitest';
import { DuckLake } from '../../src/publish/lakehouse/ducklake/ducklake.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { findExtensions, type PostgresServer, startPostgres } from '../support/lake-servers.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

describeWithServers('two publishers of one DuckLake in Postgres', () => {
  let postgres: PostgresServer;
  const open: Database[] = [];
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(async () => {
    await Promise.all(open.map((database) => database.release()));
    await postgres.stop();
  });

  async function openTwo(name: string) {
    const url = new URL(await postgres.createDatabase(name));
    const lake = new DuckLake({
      kind: 'ducklake',
      path: 'the lake',
      catalog: { kind: 'postgres', url },
      data: makeTempFolder(),
      schema: 'main',
      store: {},
      extensions: { folder: findExtensions() ?? '', installs: false },
      secrets: [],
    });
    const openOne = async () => {
      const database = await lake.open({ mode: 'create' });
      if (database === undefined) throw new Error('there is no lake');
      open.push(database);
      return database;
    };
    const [one, other] = [await openOne(), await openOne()];
    await one.run('CREATE TABLE lake.main.a AS SELECT 1 AS x');
    await one.run('CREATE TABLE lake.main.b AS SELECT 1 AS x');
    return { lake, one, other };
  }

  it('that meet: the later one fails as a whole, and the extension does not try again by itself', async () => {
    const { lake, one, other } = await openTwo('meet');
    const thrown: unknown = await one
      .transaction(async () => {
        await one.run('UPDATE lake.main.a SET x = 2');
        await other.run('UPDATE lake.main.b SET x = 2');
      })
      .catch((error: unknown) => error);
    expect(lake.isConflict(thrown)).toBe(true);
    const told = lake.describeFailure(thrown);
    expect(`${told.message} ${told.hint}`).toMatch(/others committed to the catalog[^]*Run again/);
    expect(told.message).not.toContain('increasing');
    const rows = await other.all('SELECT (SELECT x FROM lake.main.a) AS a, (SELECT x FROM lake.main.b) AS b');
    expect(rows).toEqual([{ a: 1, b: 2 }]);
  });

  it('that take turns: the second begins after the first has committed, and does not meet it', async () => {
    const { lake, one, other } = await openTwo('turns');
    const events: string[] = [];
    let second: Promise<void> | undefined;
    await one.transaction(async () => {
      await lake.begin(one);
      second = other.transaction(async () => {
        await lake.begin(other);
        events.push('the second begins');
        await other.run('UPDATE lake.main.b SET x = x + 1');
      });
      await one.run('UPDATE lake.main.a SET x = 2');
      await one.run('UPDATE lake.main.b SET x = 10');
      events.push('the first commits');
    });
    await second;
    expect(events).toEqual(['the first commits', 'the second begins']);
    expect(await one.all('SELECT x FROM lake.main.b')).toEqual([{ x: 11 }]);
  });
});
