import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyState } from '../../src/commands/verify/verify.ts';
import type { SyncError } from '../../src/model/errors.ts';
import type { RunReport } from '../../src/model/run-report.ts';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { quoteIdentifier, quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { type LakeReader, openLakeReader } from '../support/ducklake-reader.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import {
  findExtensions,
  type ObjectStore,
  type PostgresServer,
  startObjectStore,
  startPostgres,
} from '../support/lake-servers.ts';
import { countRuns, createRandom } from '../support/seeds.ts';
import {
  createItemsFlow,
  DAY_MS,
  type Flow,
  type FlowConfig,
  makeItem,
  makeItems,
  type RunOptions,
  streamOf,
} from '../support/sync-harness.ts';

const ITEMS = makeItems(50, { perDay: 10 });
const engine = { extensionDirectory: findExtensions() ?? '' };

/** A project that publishes to a lake, and a way for others to read it. */
interface LakeFlow {
  readonly flow: Flow;
  readonly open: (options?: string) => Promise<LakeReader>;
}

type FlowParts = NonNullable<Parameters<typeof createItemsFlow>[1]>;
type Records = Parameters<typeof createItemsFlow>[0];

/** Where lakes of a kind are made. */
interface Site {
  /** Makes a flow with a lake of its own. */
  create(records: Records, parts?: FlowParts): Promise<LakeFlow>;
}

const local: Site = {
  create: (records, parts = {}) => {
    const ducklake = { catalog: 'sqlite:./catalog.sqlite', data: './data' };
    const config = { ...parts.config, destination: { ducklake, duckdb: './warehouse.duckdb' }, engine };
    const flow = createItemsFlow(records, { ...parts, config });
    const open = (options?: string) =>
      openLakeReader(`sqlite:${join(flow.folder, 'catalog.sqlite')}`, options);
    return Promise.resolve({ flow, open });
  },
};

const setRecords = (flow: Flow, records: readonly object[]) =>
  flow.simulator.editRecords('items', () => records);

async function syncWell(flow: Flow, options: RunOptions = {}): Promise<RunReport> {
  const report = await flow.sync({ force: true, ...options });
  expect(report.error).toBeUndefined();
  expect(report.exitCode).toBe(0);
  expect(report.warnings.filter((text) => text.includes('maintained'))).toEqual([]);
  return report;
}

/** Every table of the lake has exactly the rows of the published file, of the same values. */
async function expectEqual({ flow, open }: LakeFlow): Promise<void> {
  const reader = await open();
  try {
    await reader.run(`ATTACH ${quoteLiteral(flow.duckdbPath)} AS file (READ_ONLY)`);
    const tables = await reader.rows(
      `SELECT schema_name AS schema, table_name AS name, list(column_name ORDER BY column_index)::VARCHAR[] AS columns
         FROM duckdb_columns() WHERE database_name = 'file' AND schema_name IN ('main', '_sluice') GROUP BY ALL`,
    );
    expect(tables.length).toBeGreaterThan(5);
    for (const { schema, name, columns } of tables) {
      const table = `${quoteIdentifier(String(schema))}.${quoteIdentifier(String(name))}`;
      const list = (columns as readonly string[]).map(quoteIdentifier).join(', ');
      const [mine, theirs] = [`SELECT ${list} FROM file.${table}`, `SELECT ${list} FROM lake.${table}`];
      const [row] = await reader.rows(
        `SELECT (SELECT count(*) FROM (${mine} EXCEPT ALL ${theirs})) AS missing,
           (SELECT count(*) FROM (${theirs} EXCEPT ALL ${mine})) AS extra`,
      );
      expect({ table, ...row }).toEqual({ table, missing: 0n, extra: 0n });
    }
  } finally {
    reader.close();
  }
}

async function expectVerified(flow: Flow): Promise<void> {
  const { ok, items } = await verifyState(flow.settings(), { clock: flow.clock });
  expect(items.filter(({ status }) => status === 'failed')).toEqual([]);
  expect(ok).toBe(true);
  expect(items).toContainEqual(expect.objectContaining({ name: 'DuckLake', status: 'ok' }));
}

function describeLake(title: string, getSite: () => Site): void {
  const create: Site['create'] = (records, parts) => getSite().create(records, parts);
  const stream = { key: ['id'], cursor: { field: 'date' } };
  const all = { key: ['id'], cursor: { field: 'date', lookback: '60d' } };

  describe(title, () => {
    it('has the rows of every table, and is verified by value', async () => {
      const lake = await create(ITEMS, { stream });
      const report = await syncWell(lake.flow);
      expect(report.published?.bytes).toBeGreaterThan(0);
      await expectEqual(lake);
      await expectVerified(lake.flow);
    });

    it('follows 30 days of new, restated and deleted rows, equal by value', async () => {
      const random = createRandom();
      let records: readonly object[] = ITEMS;
      const lake = await create(ITEMS, {
        stream: { ...all, history: true, deletes: 'hard' },
        config: { defaults: { maxDeleteRatio: 1 } },
      });
      for (let day = 0; day < 30; day += 1) {
        await syncWell(lake.flow);
        if (day % 5 === 0 || day === 29) await expectEqual(lake);
        records = change(records, random, day);
        setRecords(lake.flow, records);
        await lake.flow.clock.sleep(DAY_MS);
      }
      await expectVerified(lake.flow);
    });

    it('follows new columns and retyped ones, and keeps large numbers exact', async () => {
      const lake = await create(ITEMS, { stream: all });
      await syncWell(lake.flow);
      setRecords(
        lake.flow,
        ITEMS.map((item) => ({ ...item, added: `${item.name}!` })),
      );
      await syncWell(lake.flow);
      await expectEqual(lake);
      const huge = ['9007199254740993', '170141183460469231731687303715884105727'];
      for (const text of huge) {
        setRecords(
          lake.flow,
          ITEMS.map((item, at) => ({ ...item, amount: at === 3 ? rawJson(text) : item.amount })),
        );
        await syncWell(lake.flow);
        const reader = await lake.open();
        const [row] = await reader.rows('SELECT amount::VARCHAR AS amount FROM lake.main.items WHERE id = 3');
        reader.close();
        expect(row).toEqual({ amount: text });
        await expectVerified(lake.flow);
      }
      setRecords(
        lake.flow,
        ITEMS.map((item) => ({ ...item, amount: `${item.amount} EUR` })),
      );
      await syncWell(lake.flow);
      await expectEqual(lake);
    });

    it('counts equal rows of a table without a key', async () => {
      const lake = await create([...ITEMS, ...ITEMS.slice(0, 5)], {
        stream: { cursor: false, deletes: 'hard' },
      });
      await syncWell(lake.flow);
      await expectEqual(lake);
      setRecords(lake.flow, [...ITEMS, ...ITEMS.slice(0, 2), ...ITEMS.slice(0, 2)]);
      await syncWell(lake.flow);
      await expectEqual(lake);
    });

    it('gives a container without a disk its state back, which goes on with what is new', async () => {
      const lake = await create(ITEMS, { stream });
      await syncWell(lake.flow);
      rmSync(lake.flow.stateDir, { recursive: true });
      rmSync(lake.flow.duckdbPath);
      setRecords(lake.flow, [...ITEMS, ...makeItems(10, { perDay: 10, from: 50 })]);
      const report = await syncWell(lake.flow);
      expect(streamOf(report).mode).toBe('incremental');
      expect(report.warnings).toEqual([]);
      await expectEqual(lake);
      await expectVerified(lake.flow);
    });

    it('finds rows that another program changed, and repairs them with the next sync', async () => {
      const lake = await create(ITEMS, { stream });
      await syncWell(lake.flow);
      const writer = await lake.open('');
      await writer.run('UPDATE lake.main.items SET amount = -1 WHERE id < 20');
      await writer.run('DELETE FROM lake.main.items WHERE id > 40');
      await writer.run(`INSERT INTO lake.main.items (id, date) VALUES (1000, DATE '1999-01-01')`);
      writer.close();
      const { ok, items } = await verifyState(lake.flow.settings(), { clock: lake.flow.clock });
      expect(ok).toBe(false);
      expect(items).toContainEqual(expect.objectContaining({ name: 'DuckLake', status: 'failed' }));
      await syncWell(lake.flow);
      await expectEqual(lake);
      await expectVerified(lake.flow);
    });

    it.each([
      ['altered', 'ALTER TABLE lake.main.items DROP COLUMN amount'],
      ['gone', 'DROP TABLE lake.main.items'],
    ])('makes a table again that is %s', async (found, sql) => {
      const lake = await create(ITEMS, { stream });
      await syncWell(lake.flow);
      const writer = await lake.open('');
      await writer.run(sql);
      writer.close();
      const { items } = await verifyState(lake.flow.settings(), { clock: lake.flow.clock });
      const detail = `another program changed the lake: main.items is ${found}`;
      expect(items).toContainEqual(expect.objectContaining({ status: 'failed', detail }));
      await syncWell(lake.flow);
      await expectEqual(lake);
      await expectVerified(lake.flow);
    });

    it('keeps no value that was masked since, in no snapshot and no file', async () => {
      const lake = await create(ITEMS, { stream });
      await syncWell(lake.flow);
      const masked = {
        streams: {
          items: { path: 'items', paginated: true, ...stream, columns: { name: { exclude: true as const } } },
        },
      };
      await syncWell(lake.flow, { config: masked });
      const reader = await lake.open();
      expect(await reader.rows(`SELECT count(*)::INTEGER AS value FROM ducklake_snapshots('lake')`)).toEqual([
        { value: 1 },
      ]);
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

    it('stays small over weeks, with one maintenance a day, and is equal afterwards', async () => {
      const random = createRandom();
      let records: readonly object[] = makeItems(300, { perDay: 10 });
      const config = { retention: { lake: '0s' } };
      const lake = await create(records, { stream: { ...all, deletes: 'hard' }, config });
      for (let day = 0; day < countRuns(20); day += 1) {
        await syncWell(lake.flow);
        records = change(records, random, day);
        setRecords(lake.flow, records);
        await lake.flow.clock.sleep(DAY_MS);
      }
      await syncWell(lake.flow);
      const reader = await lake.open();
      const [row] = await reader.rows(
        `SELECT (SELECT count(*) FROM ducklake_snapshots('lake'))::INTEGER AS snapshots,
           (SELECT sum(file_count + delete_file_count) FROM ducklake_table_info('lake'))::INTEGER AS files`,
      );
      reader.close();
      expect(row?.['snapshots']).toBeLessThan(12);
      expect(row?.['files']).toBeLessThan(60);
      await expectEqual(lake);
      await expectVerified(lake.flow);
    });

    it('leaves the tables of others alone', async () => {
      const lake = await create(ITEMS, { stream });
      await syncWell(lake.flow);
      const writer = await lake.open('');
      await writer.run('CREATE TABLE lake.main.theirs AS SELECT 42 AS answer');
      writer.close();
      await syncWell(lake.flow);
      const reader = await lake.open();
      expect(await reader.rows('FROM lake.main.theirs')).toEqual([{ answer: 42 }]);
      reader.close();
    });
  });
}

/** Some rows change, some go, some come. */
function change(records: readonly object[], random: () => number, day: number): readonly object[] {
  const kept = records.filter(() => random() > 0.03);
  const restated = kept.map((record) =>
    random() < 0.1 ? { ...record, amount: Math.floor(random() * 1e6) } : record,
  );
  return [...restated, ...Array.from({ length: 5 }, (_, at) => makeItem(1_000 + day * 5 + at, 10))];
}

describeWithServers('a DuckLake', () => {
  describeLake('on this machine', () => local);

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

    describeLake('on Postgres and S3', () => ({
      create: async (records, parts = {}) => {
        const { catalog, config } = await makeConfig();
        const flow = createItemsFlow(records, { ...parts, config: { ...parts.config, ...config } });
        return { flow, open: (options) => openLakeReader(`postgres:${catalog}`, options, store) };
      },
    }));

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
        'cannot be reached',
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
        'cannot be reached',
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
      expect(flow.simulator.log).toEqual([]);
      const said = `${error?.message} ${error?.hint} ${String(error?.cause)}`;
      for (const secret of [store.secret, postgres.password, 'wrong-secret'])
        expect(said).not.toContain(secret);
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
      for (const one of winner) await expectEqual({ flow: one, open });
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
