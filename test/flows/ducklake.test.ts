import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { maintainLakes } from '../../src/commands/maintain-lakes.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import type { SyncError } from '../../src/model/errors.ts';
import { Database } from '../../src/warehouse/database.ts';
import { quoteIdentifier, quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { openLakeReader, openReader } from '../support/ducklake-reader.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { hookSteps } from '../support/io-steps.ts';
import {
  findExtensions,
  type ObjectStore,
  type PostgresServer,
  startObjectStore,
  startPostgres,
} from '../support/lake-servers.ts';
import { countRuns, createRandom, hasTurn } from '../support/seeds.ts';
import { createItemsFlow, DAY_MS, type FlowConfig, makeItems, START_MS } from '../support/sync-harness.ts';
import {
  change,
  describeLakehouse,
  expectEqual,
  expectVerified,
  ITEMS,
  type LakeFlow,
  setRecords,
  type Site,
  syncWell,
} from './lakehouse-suite.ts';

const engine = { extensionDirectory: findExtensions() ?? '' };

const local: Site = {
  title: 'DuckLake',
  days: countRuns(4),
  create: (records, parts = {}) => {
    const ducklake = { catalog: 'sqlite:./catalog.sqlite', data: './data' };
    const config = { ...parts.config, destination: { ducklake, duckdb: './warehouse.duckdb' }, engine };
    const flow = createItemsFlow(records, { ...parts, config });
    const open = (options?: string) =>
      openLakeReader(`sqlite:${join(flow.folder, 'catalog.sqlite')}`, options);
    return Promise.resolve({ flow, open, schema: 'main' });
  },
};

async function countSnapshots({ open }: LakeFlow): Promise<number> {
  const reader = await open();
  const [count = 0] = await reader.values(`SELECT count(*) AS value FROM ducklake_snapshots('lake')`);
  reader.close();
  return count;
}

function describeLake(title: string, place: number, getSite: () => Site): void {
  describeLakehouse(title, place, getSite);
  if (!hasTurn(place)) return;
  const stream = { key: ['id'], cursor: { field: 'date' } };
  const all = { key: ['id'], cursor: { field: 'date', lookback: '60d' } };

  describe(`${title}, with its maintenance`, () => {
    it('is maintained on request, with the same rows', async () => {
      const config = { retention: { lake: '0s' } };
      const lake = await getSite().create(ITEMS, { stream: all, config });
      const path = expect.any(String) as string;
      const about = { destination: path, title: 'DuckLake' };
      const maintain = () => maintainLakes(lake.flow.settings(), { clock: lake.flow.clock });
      expect(await maintain()).toEqual({ destinations: [{ ...about, outcome: 'nothing is published' }] });
      await syncWell(lake.flow);
      setRecords(
        lake.flow,
        ITEMS.map((item) => ({ ...item, amount: item.amount + 1 })),
      );
      await syncWell(lake.flow);
      expect(await countSnapshots(lake)).toBeGreaterThan(1);
      const report = await maintain();
      expect(report.destinations).toMatchObject([{ ...about, outcome: 'maintained' }]);
      expect(await countSnapshots(lake)).toBe(1);
      await expectEqual(lake);
      await expectVerified(lake.flow, 'DuckLake');
    });

    it('holds columns that its catalog could not, from the start and added later', async () => {
      // Names of DuckLake's own, of Postgres's own, and those that Postgres would cut to the same one.
      const odd = {
        row_id: 1,
        begin_snapshot: 1,
        xmin: 1,
        tableoid: 1,
        [`${'n'.repeat(64)}a`]: 'a',
        [`${'n'.repeat(64)}b`]: 'b',
      };
      const added = { end_snapshot: 2, ctid: 'c', cmin: 3 };
      const lake = await getSite().create(
        ITEMS.map((item) => ({ ...item, ...odd })),
        { stream: all, config: { retention: { lake: '0s' } } },
      );
      await syncWell(lake.flow);
      for (const values of [added, { ...added, cmin: 4 }]) {
        setRecords(
          lake.flow,
          ITEMS.map((item) => ({ ...item, ...odd, ...(item.id % 7 === 0 && values) })),
        );
        await lake.flow.clock.sleep(DAY_MS);
        await syncWell(lake.flow);
        await expectEqual(lake);
      }
      await expectVerified(lake.flow, 'DuckLake');
    });

    it.each<[string, readonly string[]]>([
      [
        'replaced by one without rows',
        ['CREATE TABLE lake.main.new AS FROM lake.main.items LIMIT 0', 'DROP TABLE lake.main.items', RENAME],
      ],
      ['replaced by one that was there before', ['DROP TABLE lake.main.items', RENAME]],
    ])('repairs a table that another program has %s', async (how, statements) => {
      for (const records of [ITEMS, ITEMS.map((item) => (item.id === 3 ? { ...item, amount: 7 } : item))]) {
        const lake = await getSite().create(ITEMS, { stream });
        await syncWell(lake.flow);
        const writer = await lake.open('');
        if (how.includes('before')) {
          await writer.run('CREATE TABLE lake.main.new AS FROM lake.main.items');
          await writer.run('UPDATE lake.main.new SET amount = -1');
          setRecords(lake.flow, makeItems(60, { perDay: 10 }));
          await syncWell(lake.flow);
        }
        for (const statement of ['BEGIN', ...statements, 'COMMIT']) await writer.run(statement);
        writer.close();
        setRecords(lake.flow, records);
        await syncWell(lake.flow);
        await expectEqual(lake);
        await expectVerified(lake.flow, 'DuckLake');
      }
    });

    it('repairs rows that another program changed in a snapshot that has expired', async () => {
      const lake = await getSite().create(ITEMS, { stream });
      await syncWell(lake.flow);
      const writer = await lake.open('');
      const listSnapshots = () =>
        writer.values("SELECT snapshot_id AS value FROM ducklake_snapshots('lake')");
      await writer.run('DELETE FROM lake.main.items WHERE id < 20');
      const changed = Math.max(...(await listSnapshots()));
      await writer.run('CREATE TABLE lake.main.third AS SELECT 1 AS n');
      await writer.run(`CALL ducklake_expire_snapshots('lake', versions => [${changed}])`);
      expect(await listSnapshots()).not.toContain(changed);
      writer.close();
      await syncWell(lake.flow);
      await expectEqual(lake);
      await expectVerified(lake.flow, 'DuckLake');
    });

    it('is not maintained while rows are there that another program changed', async () => {
      const lake = await getSite().create(ITEMS, { stream });
      await syncWell(lake.flow);
      const writer = await lake.open('');
      await writer.run('UPDATE lake.main.items SET amount = -1 WHERE id < 20');
      writer.close();
      const maintain = () => maintainLakes(lake.flow.settings(), { clock: lake.flow.clock });
      await expect(maintain()).rejects.toThrow(/another program changed .* since the last publish/);
      await syncWell(lake.flow);
      await expectEqual(lake);
      await expectVerified(lake.flow, 'DuckLake');
      expect((await maintain()).destinations).toMatchObject([{ outcome: 'maintained' }]);
    });

    it('hides no change of another program that comes between the transactions of its maintenance', async () => {
      const lake = await getSite().create(ITEMS, { stream, config: { retention: { lake: '0s' } } });
      await syncWell(lake.flow);
      const maintain = () => maintainLakes(lake.flow.settings(), { clock: lake.flow.clock });
      const transaction = Reflect.get<Database, 'transaction'>(Database.prototype, 'transaction');
      for (const at of [0, 1, 2, 3]) {
        let begun = 0;
        const spy = vi.spyOn(Database.prototype, 'transaction').mockImplementation(async function (
          this: Database,
          work,
        ) {
          if (begun++ === at) {
            const writer = await lake.open('');
            await writer.run(`UPDATE lake.main.items SET amount = -1 - ${at} WHERE id < 5`);
            writer.close();
          }
          return transaction.call(this, work);
        });
        const end = maintain().finally(() => spy.mockRestore());
        await expect(end).rejects.toThrow(/another program changed .* since the last publish/);
        await syncWell(lake.flow);
        await expectEqual(lake);
      }
      expect((await maintain()).destinations).toMatchObject([{ outcome: 'maintained' }]);
      await expectVerified(lake.flow, 'DuckLake');
    });

    it('gives filters every row, also where the engine records no bounds of long texts', async () => {
      const long = '日本'.repeat(100);
      const name = (records: readonly object[], text: string) =>
        records.map((item, at) => ({ ...item, name: `${text}${at}` }));
      const lake = await getSite().create(name(ITEMS, long), { stream: all });
      const more = makeItems(80, { perDay: 10 }).slice(50);
      const steps = [
        [...name(ITEMS, long), ...name(more, 'b')],
        // Few rows are kept in the catalog, until the maintenance writes them to files.
        [...name(ITEMS, long), ...name(more.slice(3), 'b'), ...name(more.slice(0, 3), 'c')],
        [...name(ITEMS, 'a'), ...name(more, 'b')],
      ];
      for (const records of [name(ITEMS, long), ...steps]) {
        setRecords(lake.flow, records);
        await lake.flow.clock.sleep(DAY_MS);
        await syncWell(lake.flow);
        const reader = await lake.open();
        for (const text of ['a', 'c', long]) {
          const wanted = records.filter((item) => String(Reflect.get(item, 'name')) >= text).length;
          const where = `name >= '${text}'`;
          expect({
            where,
            n: await reader.values(`SELECT count(*) AS value FROM lake.main.items WHERE ${where}`),
          }).toEqual({ where, n: [wanted] });
        }
        reader.close();
      }
    });

    it('gives filters every row of columns that had no value at first', async () => {
      const types = {
        ...{ whole: 'BIGINT', big: 'HUGEINT', part: 'DOUBLE', price: 'DECIMAL(20,4)', flag: 'BOOLEAN' },
        ...{ seen: 'DATE', at: 'TIMESTAMP', zoned: 'TIMESTAMPTZ', note: 'VARCHAR', more: 'JSON' },
      };
      const columns = Object.fromEntries(Object.entries(types).map(([name, type]) => [name, { type }]));
      const daily = { key: ['id'], cursor: { field: 'date' }, history: true, columns } as const;
      const dayOf = (day: number) => new Date(START_MS + day * DAY_MS).toISOString().slice(0, 10);
      const fill = (day: number | undefined) =>
        day === undefined
          ? Object.fromEntries(Object.keys(types).map((name) => [name, null]))
          : {
              ...{
                whole: 7 - day,
                big: `${day}0000000000000000000`,
                part: 1 / day,
                price: 90.5 - day,
                flag: day > 3,
              },
              ...{ seen: dayOf(-day), at: `${dayOf(-day)}T10:00:00`, zoned: `${dayOf(-day)}T10:00:00Z` },
              ...{ note: `n${9 - day}`, more: [9 - day] },
            };
      // Enough rows for a file of their own each day; of those of the day before, three are restated from the second day on.
      const rowsOf = (day: number) => [
        ...Array.from({ length: 40 }, (_, id) => ({
          id,
          date: dayOf(Math.floor(id / 4) - 9),
          ...fill(undefined),
        })),
        ...Array.from({ length: 20 * day }, (_, at) => {
          const came = Math.floor(at / 20) + 1;
          const isRestated = at % 20 > 16 && came < day;
          return { id: 40 + at, date: dayOf(came), ...fill(isRestated ? came : undefined) };
        }),
      ];
      const lake = await getSite().create(rowsOf(0), { stream: daily });
      for (let day = 0; day < 6; day += 1) {
        setRecords(lake.flow, rowsOf(day));
        await syncWell(lake.flow);
        await lake.flow.clock.sleep(DAY_MS);
        // The bounds go wrong where the values of a second day come.
        if (day < 4) continue;
        const reader = await lake.open();
        await reader.run(`ATTACH ${quoteLiteral(lake.flow.duckdbPath)} AS file (READ_ONLY)`);
        const columns = await reader.rows(
          `SELECT table_name AS t, column_name AS c FROM duckdb_columns() WHERE database_name = 'file' AND schema_name = 'main'`,
        );
        for (const { t, c } of columns) {
          const [table, column] = [String(t), quoteIdentifier(String(c))];
          const [bounds] = await reader.rows(
            `SELECT min(${column})::VARCHAR AS least, max(${column})::VARCHAR AS greatest FROM file.main.${table}`,
          );
          const { least, greatest } = bounds ?? {};
          const tell = (of: string) =>
            reader.rows(
              `SELECT (SELECT min(${column})::VARCHAR || max(${column})::VARCHAR FROM ${of}) AS bounds,
                 (SELECT count(*) FROM ${of} WHERE ${column} <= ${quoteLiteral(String(least))}) AS first,
                 (SELECT count(*) FROM ${of} WHERE ${column} >= ${quoteLiteral(String(greatest))}) AS last`,
            );
          const about = { day, table, column };
          if (least === null) continue;
          expect({ ...about, found: await tell(`lake.main.${table}`) }).toEqual({
            ...about,
            found: await tell(`file.main.${table}`),
          });
        }
        reader.close();
        await expectVerified(lake.flow, 'DuckLake');
      }
    });

    it.each([
      ['of the table', 'UPDATE c.ducklake_table_column_stats SET max_value = min_value', 'amount'],
      ['of a file', 'UPDATE c.ducklake_file_column_stats SET min_value = max_value', 'amount'],
      ['of texts', "UPDATE c.ducklake_file_column_stats SET max_value = 'item'", 'name'],
      ['of nulls', 'UPDATE c.ducklake_file_column_stats SET null_count = 0', 'part'],
      [
        'of values',
        'UPDATE c.ducklake_file_column_stats SET null_count = value_count, value_count = 0',
        'part',
      ],
    ])('is not verified where filters miss rows by what the catalog says %s', async (_, sql, column) => {
      const records = ITEMS.map((item) => ({ ...item, ...(item.id % 3 > 0 && { part: item.id % 3 }) }));
      const lake = await getSite().create(records, { stream });
      await syncWell(lake.flow);
      await expectVerified(lake.flow, 'DuckLake');
      const writer = await lake.open('');
      const of = `FROM c.ducklake_column JOIN c.ducklake_table USING (table_id) WHERE table_name = 'items' AND column_name = '${column}'`;
      const changed = `${sql} WHERE (table_id, column_id) IN (SELECT table_id, column_id ${of})`;
      await writer.run(changed.replaceAll(' c.', ' __ducklake_metadata_lake.'));
      writer.close();
      const { items } = await verifyState(lake.flow.settings(), { clock: lake.flow.clock });
      expect(items.filter(({ status }) => status === 'failed')).toEqual([
        expect.objectContaining({
          name: 'DuckLake',
          detail: expect.stringContaining(`main.items: a filter by ${column} may miss`) as string,
        }),
      ]);
      const [, advice = ''] =
        /drop the tables .* and (DROP SCHEMA .* CASCADE), and run/.exec(
          items.find(({ status }) => status === 'failed')?.fix ?? '',
        ) ?? [];
      expect(advice).not.toBe('');
      const dropper = await lake.open('');
      await dropper.run('DROP TABLE lake.main.items');
      await dropper.run(advice.replace('SCHEMA ', 'SCHEMA lake.'));
      dropper.close();
      await syncWell(lake.flow);
      await expectEqual(lake);
      await expectVerified(lake.flow, 'DuckLake');
    });

    it('is verified while somebody writes between what the catalog says and the rows', async () => {
      const lake = await getSite().create(ITEMS, { stream });
      await syncWell(lake.flow);
      const writer = await lake.open('');
      const real = Reflect.get<Database, 'all'>(Database.prototype, 'all');
      let looks = 0;
      const spy = vi.spyOn(Database.prototype, 'all').mockImplementation(async function (
        this: Database,
        ...given
      ) {
        const isLook = given[0].includes('count_if(CASE WHEN "id"') && (looks += 1) === 1;
        if (isLook) await writer.run('INSERT INTO lake.main.items (id, amount) VALUES (1000, 1000000)');
        return real.apply(this, given);
      });
      const { items } = await verifyState(lake.flow.settings(), { clock: lake.flow.clock }).finally(() =>
        spy.mockRestore(),
      );
      writer.close();
      expect(looks).toBeGreaterThan(1);
      expect(items.filter(({ status }) => status === 'failed')).toEqual([]);
    });

    it('keeps no value that was masked since, in no snapshot and no file', async () => {
      const lake = await getSite().create(ITEMS, { stream });
      await syncWell(lake.flow);
      const masked = {
        streams: {
          items: { path: 'items', paginated: true, ...stream, columns: { name: { exclude: true as const } } },
        },
      };
      await syncWell(lake.flow, { config: masked });
      expect(await countSnapshots(lake)).toBe(1);
      const reader = await lake.open();
      const columns = await reader.rows('DESCRIBE lake.main.items');
      expect(columns.map(({ column_name: name }) => name)).not.toContain('name');
      const [held] = await reader.rows(
        `SELECT list(data_file) AS files FROM ducklake_list_files('lake', 'items')`,
      );
      const files = (held?.['files'] ?? []) as readonly string[];
      for (const file of files) {
        const fields = await reader.rows(`SELECT name FROM parquet_schema('${file}')`);
        expect(fields.map(({ name }) => name)).not.toContain('name');
      }
      reader.close();
    });

    it('stays small and quick over weeks, with one maintenance a day, and is equal afterwards', async () => {
      const random = createRandom();
      let records: readonly object[] = makeItems(300, { perDay: 10 });
      const config = { retention: { lake: '0s' } };
      const lake = await getSite().create(records, { stream: { ...all, deletes: 'hard' }, config });
      const statements: number[] = [];
      for (let day = 0; day <= getSite().days; day += 1) {
        let count = 0;
        const unhook = await hookSteps(
          { before: ({ name }) => void (count += Number(name.startsWith('sql '))) },
          () => false,
        );
        await syncWell(lake.flow).finally(unhook);
        statements.push(count);
        if (day === getSite().days) break;
        records = change(records, random, day);
        setRecords(lake.flow, records);
        await lake.flow.clock.sleep(DAY_MS);
      }
      // The first one makes the tables. A year of them is timed in the benchmarks.
      const [, early = NaN] = statements;
      expect(statements.at(-1), statements.join(' ')).toBeLessThan(1.5 * early);
      const reader = await lake.open();
      const [row] = await reader.rows(
        `SELECT (SELECT count(*) FROM ducklake_snapshots('lake'))::INTEGER AS snapshots,
           (SELECT sum(file_count + delete_file_count) FROM ducklake_table_info('lake'))::INTEGER AS files`,
      );
      reader.close();
      expect(row?.['snapshots']).toBeLessThan(5);
      expect(row?.['files']).toBeLessThan(60);
      await expectEqual(lake);
      await expectVerified(lake.flow, 'DuckLake');
    });
  });
}

const RENAME = 'ALTER TABLE lake.main.new RENAME TO items';

describeWithServers('a DuckLake', () => {
  describeLake('on this machine', 0, () => local);

  it.each([
    ['data_file', 'record_count'],
    ['delete_file', 'delete_count'],
  ])('is not verified where the catalog has another number of rows for a %s', async (file, column) => {
    const stream = { key: ['id'], cursor: { field: 'date' }, deletes: 'hard', maxDeleteRatio: 1 } as const;
    const lake = await local.create(ITEMS, { stream });
    await syncWell(lake.flow);
    lake.flow.simulator.editRecords('items', (records) => records.filter((_, at) => at % 4 > 0));
    await syncWell(lake.flow, { fullRefresh: true });
    await expectVerified(lake.flow, 'DuckLake');
    const writer = await lake.open('');
    const entries = `__ducklake_metadata_lake.ducklake_${file}`;
    expect(await writer.rows(`SELECT 1 AS n FROM ${entries} WHERE end_snapshot IS NULL`)).not.toEqual([]);
    await writer.run(`UPDATE ${entries} SET ${column} = ${column} + 1 WHERE end_snapshot IS NULL`);
    writer.close();
    const { items } = await verifyState(lake.flow.settings(), { clock: lake.flow.clock });
    expect(items.filter(({ status }) => status === 'failed')).toEqual([
      expect.objectContaining({
        name: 'DuckLake',
        detail: expect.stringMatching(
          /main\.items: count\(\*\) may be wrong: the catalog says that \S+ has \d+ rows, it has \d+/,
        ) as string,
      }),
    ]);
  });

  it('is not verified where filters miss rows by what a file says of them', async () => {
    const lake = await local.create(ITEMS, { stream: { key: ['id'], cursor: { field: 'date' } } });
    await syncWell(lake.flow);
    const [file = ''] = globSync(join(lake.flow.folder, 'data/main/items/**/*.parquet'));
    const bytes = readFileSync(file);
    // The greatest name, in the part of the file that describes the rest.
    let at = bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8);
    while ((at = bytes.indexOf('item 9', at)) >= 0) bytes.write('item 1', at);
    writeFileSync(file, bytes);
    const { items } = await verifyState(lake.flow.settings(), { clock: lake.flow.clock });
    const detail = `main.items: a filter by name may miss 48 rows: what ${file} says of its values is wrong`;
    expect(items).toContainEqual(expect.objectContaining({ name: 'DuckLake', status: 'failed', detail }));
  });

  describe('on servers', () => {
    let postgres: PostgresServer;
    let store: ObjectStore;
    let lakes = 0;

    beforeAll(async () => {
      [postgres, store] = await Promise.all([startPostgres(), startObjectStore()]);
      await store.createBucket('bucket');
    });
    afterAll(async () => {
      await Promise.all([postgres.stop(), store.stop()]);
    });

    /** The parts of a config for a new lake. */
    async function makeConfig(): Promise<{ readonly catalog: string; readonly config: FlowConfig }> {
      lakes += 1;
      const catalog = await postgres.createDatabase(`lake${lakes}`);
      const { endpoint, region, keyId, secret } = store;
      const destination = {
        duckdb: './warehouse.duckdb',
        ducklake: { catalog, data: `s3://bucket/lake${lakes}` },
        s3: {
          endpoint: `http://${endpoint}`,
          region,
          urlStyle: 'path' as const,
          credentials: { keyId, secret },
        },
      };
      return { catalog, config: { destination, engine } };
    }

    describeLake('on Postgres and S3', 1, () => ({
      title: 'DuckLake',
      days: countRuns(4),
      create: async (records, parts = {}) => {
        const { catalog, config } = await makeConfig();
        const flow = createItemsFlow(records, { ...parts, config: { ...parts.config, ...config } });
        return {
          flow,
          schema: 'main',
          open: (options) => openLakeReader(`postgres:${catalog}`, options, store),
        };
      },
    }));

    it('is whole for each of several accounts that publish at the same time', async () => {
      const { config, catalog } = await makeConfig();
      const makeDay = (day: number, account: number) =>
        makeItems(40 + day, { perDay: 10 }).map((item) => ({ ...item, amount: day * 100 + account }));
      const stream = { key: ['id'], cursor: { field: 'date', lookback: '90d' } };
      await Promise.all(
        Array.from({ length: 3 }, async (_, account) => {
          const schema = `account_${account}`;
          const { ducklake = { catalog, data: '' }, s3 } = config.destination ?? {};
          // A state folder that is gone after each sync: all of it comes from the lake, and is compared with its sums.
          const lake = { ducklake: { ...ducklake, schema }, ...(s3 && { s3 }) };
          const flow = createItemsFlow([], { stream, config: { ...config, destination: lake } });
          for (let day = 0; day < 3; day += 1) {
            flow.simulator.editRecords('items', () => makeDay(day, account));
            expect(await flow.sync({ force: true })).toMatchObject({ exitCode: 0 });
            rmSync(flow.stateDir, { recursive: true });
            await flow.clock.sleep(DAY_MS);
          }
          const reader = await openLakeReader(`postgres:${catalog}`, 'READ_ONLY', store);
          const [row] = await reader
            .rows(`SELECT count(*)::INT AS rows, sum(amount)::INT AS amount FROM lake.${schema}.items`)
            .finally(() => reader.close());
          expect(row).toEqual({ rows: 42, amount: 42 * (200 + account) });
        }),
      );
    });

    it.each<[string, string, (config: NonNullable<FlowConfig['destination']>) => object]>([
      [
        'password',
        'refuses this user',
        ({ ducklake, ...rest }) => ({
          ...rest,
          ducklake: { ...ducklake, catalog: ducklake?.catalog.replace(/:[^:@]+@/, ':wrong@') },
        }),
      ],
      [
        'database',
        'does not exist',
        ({ ducklake, ...rest }) => ({
          ...rest,
          ducklake: { ...ducklake, catalog: ducklake?.catalog.replace(/[^/]+$/, 'nowhere') },
        }),
      ],
      [
        'server',
        'the server of the catalog cannot be reached',
        ({ ducklake, ...rest }) => ({
          ...rest,
          ducklake: { ...ducklake, catalog: ducklake?.catalog.replace(/@[^/]+/, '@127.0.0.1:1') },
        }),
      ],
      [
        'secret',
        'refuses the key',
        ({ s3, ...rest }) => ({
          ...rest,
          s3: { ...s3, credentials: { keyId: store.keyId, secret: 'wrong-secret' } },
        }),
      ],
      [
        'bucket',
        'bucket does not exist',
        ({ ducklake, ...rest }) => ({
          ...rest,
          ducklake: { ...ducklake, data: 's3://nowhere/lake' },
        }),
      ],
      [
        'store',
        'the object store cannot be reached',
        ({ s3, ...rest }) => ({ ...rest, s3: { ...s3, endpoint: 'http://127.0.0.1:1' } }),
      ],
    ])('refuses a wrong %s before a request, without a secret in its words', async (_, words, change) => {
      const { config } = await makeConfig();
      const destination = change(config.destination ?? {}) as NonNullable<FlowConfig['destination']>;
      const flow = createItemsFlow(ITEMS, { config: { ...config, destination } });
      const error = await flow.sync().then(
        () => undefined,
        (thrown: unknown) => thrown as SyncError,
      );
      expect(error?.message).toContain(words);
      expect([2, 6]).toContain(error?.exitCode);
      expect(error?.hint).toMatch(/destination\.|CREATE/);
      expect(error?.hint).toMatch(/nothing was requested/i);
      expect(flow.simulator.log).toEqual([]);
      const said = `${error?.message} ${error?.hint} ${String(error?.cause)}`;
      for (const secret of [store.secret, postgres.password, 'wrong-secret'])
        expect(said).not.toContain(secret);
    });

    it('needs no more rights on Postgres than docs/lakehouse.md lists, and readers need fewer', async () => {
      const { catalog, config } = await makeConfig();
      const name = new URL(catalog).pathname.slice(1);
      const [writer, reader] = [`writer_${name}`, `reader_${name}`];
      const as = (role: string) => catalog.replace(/\/\/[^@]+@/, `//${role}:secret@`);
      const owner = await openReader(['postgres_scanner'], [`ATTACH '${catalog}' AS lake (TYPE postgres)`]);
      for (const statement of [
        `CREATE ROLE ${writer} LOGIN PASSWORD 'secret'`,
        `CREATE ROLE ${reader} LOGIN PASSWORD 'secret'`,
        `REVOKE ALL ON DATABASE ${name} FROM PUBLIC`,
        `REVOKE ALL ON SCHEMA public FROM PUBLIC`,
        `GRANT CONNECT ON DATABASE ${name} TO ${writer}, ${reader}`,
        `GRANT USAGE, CREATE ON SCHEMA public TO ${writer}`,
        `GRANT USAGE ON SCHEMA public TO ${reader}`,
        `ALTER DEFAULT PRIVILEGES FOR ROLE ${writer} IN SCHEMA public GRANT SELECT ON TABLES TO ${reader}`,
      ])
        await owner.run(`CALL postgres_execute('lake', '${statement.replaceAll("'", "''")}')`);
      owner.close();
      const { ducklake, ...rest } = config.destination ?? {};
      const limited = {
        ...config,
        destination: { ...rest, ducklake: { data: '', ...ducklake, catalog: as(writer) } },
      };
      const flow = createItemsFlow(ITEMS, { config: limited, stream: { key: ['id'] } });
      await syncWell(flow);
      setRecords(flow, makeItems(70, { perDay: 10 }));
      await syncWell(flow);
      expect((await maintainLakes(flow.settings(), { clock: flow.clock })).destinations).toMatchObject([
        { outcome: 'maintained' },
      ]);
      const open = (options?: string) => openLakeReader(`postgres:${as(reader)}`, options, store);
      await expectEqual({ flow, open, schema: 'main' });
      const other = await open('');
      await expect(other.run('DELETE FROM lake.main.items')).rejects.toThrow(/permission denied/);
      other.close();
    });

    it('lets one of two writers publish, and changes nothing for the other', async () => {
      const { config, catalog } = await makeConfig();
      const flow = createItemsFlow(ITEMS, { config });
      await syncWell(flow);
      const other = createItemsFlow(ITEMS, { config, clock: flow.clock });
      cpSync(flow.stateDir, other.stateDir, { recursive: true });
      setRecords(flow, makeItems(70, { perDay: 10 }));
      setRecords(other, makeItems(65, { perDay: 10 }));
      const ends = await Promise.all(
        [flow, other].map((one) => one.sync({ force: true }).catch((thrown: unknown) => thrown as SyncError)),
      );
      const winner = [flow, other].filter((_, at) => ends[at]?.exitCode === 0);
      expect(winner.length).toBe(1);
      const loser = ends.find((end) => end.exitCode !== 0);
      expect([2, 6]).toContain(loser?.exitCode);
      const open = (options?: string) => openLakeReader(`postgres:${catalog}`, options, store);
      for (const one of winner) await expectEqual({ flow: one, open, schema: 'main' });
    });

    it('asks nothing about each table of other schemas', async () => {
      const { config, catalog } = await makeConfig();
      const flow = createItemsFlow(ITEMS, { config });
      await syncWell(flow);
      const others = 40;
      const before = await countLooks(catalog, async () => {
        setRecords(flow, makeItems(60, { perDay: 10 }));
        await syncWell(flow);
      });
      const writer = await openLakeReader(`postgres:${catalog}`, '', store);
      await writer.run('CREATE SCHEMA lake.other');
      for (let at = 0; at < others; at += 1)
        await writer.run(`CREATE TABLE lake.other.t${at} AS SELECT 1 AS n`);
      writer.close();
      const after = await countLooks(catalog, async () => {
        setRecords(flow, makeItems(70, { perDay: 10 }));
        await syncWell(flow);
      });
      expect(before).toBeGreaterThan(0);
      expect(after).toBeLessThan(before + others / 2);
    });

    it('shows a reader inside a transaction what it saw first', async () => {
      const { config, catalog } = await makeConfig();
      const flow = createItemsFlow(ITEMS, { config });
      await syncWell(flow);
      const reader = await openLakeReader(`postgres:${catalog}`, 'READ_ONLY', store);
      await reader.run('BEGIN');
      const count = 'SELECT count(*)::INTEGER AS value FROM lake.main.items';
      expect(await reader.values(count)).toEqual([50]);
      setRecords(flow, makeItems(70, { perDay: 10 }));
      await syncWell(flow);
      expect(await reader.values(count)).toEqual([50]);
      await reader.run('COMMIT');
      expect(await reader.values(count)).toEqual([70]);
      reader.close();
    });
  });
});

/** How often rows about tables were looked up in a catalog while something was done. */
async function countLooks(catalog: string, work: () => Promise<void>): Promise<number> {
  const client = new Client({ connectionString: catalog });
  await client.connect();
  try {
    const before = await readLooks(client);
    await work();
    return (await readLooks(client)) - before;
  } finally {
    await client.end();
  }
}

/** A session's counts are there once it has ended. */
async function readLooks(client: Client): Promise<number> {
  for (;;) {
    const { rows } = await client.query<{ open: number }>(
      'SELECT count(*)::int AS open FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    if (rows[0]?.open === 0) break;
  }
  const { rows } = await client.query<{ looks: number }>(
    `SELECT (seq_scan + coalesce(idx_scan, 0))::int AS looks FROM pg_stat_user_tables WHERE relname = 'ducklake_table_stats'`,
  );
  return rows[0]?.looks ?? 0;
}
