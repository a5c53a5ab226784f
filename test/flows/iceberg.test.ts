import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { SyncError } from '../../src/model/errors.ts';
import { Iceberg as IcebergTables } from '../../src/publish/lakehouse/iceberg/iceberg.ts';
import { type CuttingProxy, startCuttingProxy } from '../support/cutting-proxy.ts';
import { python } from '../support/find-nessie.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { type IcebergCatalog, openCatalogReader, startCatalog } from '../support/iceberg-catalog.ts';
import { findExtensions, type ObjectStore, startObjectStore } from '../support/lake-servers.ts';
import { chooseStride, countRuns, seed } from '../support/seeds.ts';
import { createItemsFlow, type Flow, type FlowConfig, makeItems } from '../support/sync-harness.ts';
import {
  describeLakehouse,
  expectEqual,
  expectRepaired,
  expectVerified,
  ITEMS,
  type LakeFlow,
  setRecords,
  syncWell,
} from './lakehouse-suite.ts';

const stream = { key: ['id'], cursor: { field: 'date', lookback: '2d' } };

describeWithServers('Iceberg', () => {
  let store: ObjectStore;
  let catalog: IcebergCatalog;
  let proxy: CuttingProxy;
  let namespaces = 0;

  beforeAll(async () => {
    store = await startObjectStore();
    catalog = await startCatalog(store);
    proxy = await startCuttingProxy(new URL(catalog.endpoint).origin);
  });
  afterAll(async () => {
    await proxy.stop();
    await catalog.stop();
    await store.stop();
  });

  type Destination = NonNullable<FlowConfig['destination']>;
  type Iceberg = NonNullable<Destination['iceberg']>;

  function makeDestination(change: Partial<Iceberg> = {}): Destination {
    namespaces += 1;
    const { endpoint, region, keyId, secret } = store;
    return {
      duckdb: './warehouse.duckdb',
      iceberg: {
        endpoint: catalog.endpoint,
        warehouse: catalog.warehouse,
        namespace: `analytics${namespaces}`,
        ...change,
      },
      s3: { endpoint: `http://${endpoint}`, region, urlStyle: 'path', credentials: { keyId, secret } },
    };
  }

  const engine = { extensionDirectory: findExtensions() ?? '' };
  const open = () => openCatalogReader(catalog, store);

  interface Namespace extends LakeFlow {
    readonly config: FlowConfig;
  }

  function create(
    records: Parameters<typeof createItemsFlow>[0],
    { config: own, ...parts }: NonNullable<Parameters<typeof createItemsFlow>[1]> = {},
    change: Partial<Iceberg> = {},
  ): Namespace {
    const destination = makeDestination(change);
    const config = { ...own, destination, engine };
    const flow = createItemsFlow(records, { ...parts, config });
    return { flow, open, schema: destination.iceberg?.namespace ?? '', config };
  }

  describeLakehouse('behind a REST catalog', 1, () => ({
    title: 'Iceberg',
    days: countRuns(3),
    create: (records, parts) => Promise.resolve(create(records, parts)),
  }));

  it('has the same rows for pyiceberg, also after rows changed', async () => {
    const lake = create(ITEMS, { stream });
    await syncWell(lake.flow);
    const records = ITEMS.map((item) => (item.id < 30 ? item : { ...item, amount: item.amount + 1 }));
    setRecords(lake.flow, records);
    await syncWell(lake.flow);
    const { endpoint, keyId, secret, region } = store;
    const options = {
      table: `${lake.schema}.items`,
      catalog: {
        uri: catalog.endpoint,
        warehouse: catalog.warehouse,
        's3.endpoint': `http://${endpoint}`,
        's3.access-key-id': keyId,
        's3.secret-access-key': secret,
        's3.region': region,
        // Otherwise the catalog signs the requests of this reader, and needs a role for it.
        'header.X-Iceberg-Access-Delegation': '',
      },
    };
    const script = fileURLToPath(new URL('read-iceberg.py', import.meta.url));
    const { stdout } = await promisify(execFile)(python, [script, JSON.stringify(options)]);
    expect(JSON.parse(stdout)).toEqual({
      rows: records.length,
      ids: records.reduce((total, { id }) => total + id, 0),
      amounts: records.reduce((total, { amount }) => total + amount, 0),
    });
  });

  describe('whose tables another program changes during a publish', () => {
    const changed = ITEMS.map((item) => (item.id < 40 ? item : { ...item, amount: item.amount + 1 }));

    /** The next sync takes the table for unchanged. */
    async function expectRecorded({ schema }: LakeFlow): Promise<void> {
      const reader = await open();
      const [left] = await reader.rows(
        `SELECT value FROM iceberg_table_properties('lake._sluice_${schema}.lake_commit') WHERE key = 'sluice.versions'`,
      );
      const [now] = await reader.rows(
        `SELECT metadata."current-snapshot-id"::VARCHAR AS snapshot FROM iceberg_load_table_response('lake.${schema}.items')`,
      );
      reader.close();
      const versions = JSON.parse(String(left?.['value'])) as Readonly<Record<string, string>>;
      expect(versions['main.items']?.split(' ').at(-1)).toBe(now?.['snapshot']);
    }

    async function disturb({ schema }: LakeFlow): Promise<void> {
      const writer = await open();
      await writer.run(`DELETE FROM lake.${schema}.items WHERE id < 5`);
      writer.close();
    }

    it.each([
      ['before its rows are read', 'inspect', ITEMS],
      ['before its rows are read, where only some of them are', 'inspect', changed],
      ['after the commit, where nothing was written', 'settle', ITEMS],
      ['after the commit', 'settle', changed],
    ] as const)('is repaired by the sync after it: %s', async (_, step, records) => {
      const lake = create(ITEMS, { stream: { key: ['id'], cursor: { field: 'date', lookback: '60d' } } });
      await syncWell(lake.flow);
      if (records === ITEMS) {
        // As after a compaction: the version differs.
        const writer = await open();
        await writer.run(`DELETE FROM lake.${lake.schema}.items WHERE id = 1`);
        writer.close();
      }
      setRecords(lake.flow, records);
      const real = Reflect.get(IcebergTables.prototype, step) as (...given: unknown[]) => Promise<unknown>;
      let calls = 0;
      const spy = vi.spyOn(IcebergTables.prototype, step).mockImplementation(async function (
        this: IcebergTables,
        ...given: unknown[]
      ) {
        calls += 1;
        if (step === 'settle') await disturb(lake);
        const found = await real.apply(this, given);
        // The first look is that of the claim, the second one that of the publish.
        if (step === 'inspect' && calls === 2) await disturb(lake);
        return found as never;
      });
      const { exitCode } = await lake.flow.sync({ force: true }).finally(() => spy.mockRestore());
      // The catalog refuses a commit that does not follow what it has.
      expect(step === 'settle' ? [0] : [0, 6]).toContain(exitCode);
      expect(calls).toBeGreaterThanOrEqual(step === 'settle' ? 1 : 2);
      await syncWell(lake.flow);
      await expectEqual(lake);
      await expectVerified(lake.flow, 'Iceberg');
      await expectRecorded(lake);
    });

    it('counts its own changes, so that a table that nobody else changes is not compared', async () => {
      const all = { key: ['id'], cursor: { field: 'date', lookback: '60d' } };
      const lake = create(ITEMS, { stream: all });
      const withNew = changed.map((item) => ({ ...item, extra: 'new' }));
      for (const records of [ITEMS, changed, changed.slice(3), withNew]) {
        setRecords(lake.flow, records);
        await syncWell(lake.flow);
        await expectRecorded(lake);
      }
    });
  });

  it('makes a table again whose columns its catalog does not let the engine change', async () => {
    const withField = (name: string) => ITEMS.map((item) => ({ ...item, [name]: 'new' }));
    const lake = create(ITEMS, { stream });
    await syncWell(lake.flow);
    setRecords(lake.flow, withField('extra'));
    await syncWell(lake.flow);
    // The catalog takes the columns without the excluded one for those that it had first.
    const items = {
      path: 'items',
      paginated: true,
      ...stream,
      columns: { extra: { exclude: true } },
    } as const;
    const config = { ...lake.config, streams: { items } };
    await syncWell(lake.flow, { config });
    setRecords(lake.flow, withField('more'));
    const { warnings } = await lake.flow.sync({ force: true, fullRefresh: true, config });
    expect(warnings).toContainEqual(
      expect.stringMatching(
        /the catalog takes no change of the columns of analytics\d+\.items, so it was dropped/,
      ),
    );
    await expectEqual(lake);
    expect((await lake.flow.sync({ force: true, config })).warnings).toEqual([]);
    await expectVerified(lake.flow, 'Iceberg');
  });

  it('leaves a table of others alone while it writes tables again whose files are lost', async () => {
    const lake = create(ITEMS, { stream }, { endpoint: `${proxy.url}/iceberg` });
    await syncWell(lake.flow);
    setRecords(lake.flow, makeItems(60, { perDay: 10 }));
    proxy.cutAt(undefined);
    await syncWell(lake.flow);
    // The last change records the versions of the tables, after the commit.
    proxy.cutAt(proxy.changes - 2, 'after');
    setRecords(lake.flow, makeItems(70, { perDay: 10 }));
    expect((await lake.flow.sync({ force: true })).exitCode).toBe(6);
    proxy.cutAt(undefined);
    const writer = await open();
    await expect(writer.rows(`FROM lake.${lake.schema}.items`)).rejects.toThrow(/NoSuchKey|does not exist/);
    await writer.run(`CREATE TABLE lake.${lake.schema}.people AS SELECT 42 AS answer`);
    const items = { path: 'items', paginated: true, ...stream };
    const config = { streams: { items, people: { ...items, path: 'items' } } };
    const report = await lake.flow.sync({ force: true, config });
    expect(report.error?.message).toMatch(/people/);
    expect(await writer.rows(`FROM lake.${lake.schema}.people`)).toEqual([{ answer: 42 }]);
    await writer.run(`DROP TABLE lake.${lake.schema}.people`);
    writer.close();
    await syncWell(lake.flow, { config });
    await expectEqual(lake);
  });

  it.each([
    ['whose checksums were dropped', 'DROP TABLE lake.$own.lake_parts'],
    ['whose list of columns is no JSON', "UPDATE lake.$own.lake_tables SET columns = 'x'"],
  ])('%s, is not verified, and repaired by the next sync', async (_, statement) => {
    const lake = create(ITEMS, { stream });
    await expectRepaired(lake, 'Iceberg', async () => {
      const writer = await open();
      await writer.run(statement.replace('$own', `_sluice_${lake.schema}`));
      writer.close();
    });
  });

  // Days that a state from after this change would not read again have rows that only this change brings.
  const next = makeItems(100, { perDay: 10 }).map((item) =>
    item.id < 30 ? item : { ...item, amount: item.amount + 1, extra: 'new' },
  );

  /** The next run of a container whose disk is gone: it goes on from a whole commit, or is refused. */
  async function continueElsewhere({ flow, config }: Namespace, where: string): Promise<Flow | undefined> {
    const parts = { config, stream, clock: flow.clock };
    const other = createItemsFlow(() => next, parts);
    const report = await other.sync({ force: true }).catch((thrown: unknown) => thrown as SyncError);
    if (report.exitCode === 0) return other;
    expect(report instanceof SyncError ? report.message : report.error?.message, where).toMatch(
      /is not what was published|files of a table are gone/,
    );
    return undefined;
  }

  /** Ends a publish at each change of the catalog, and looks that the next run repairs what is there. */
  async function cutEverywhere(change: Partial<Iceberg>): Promise<number> {
    const stride = chooseStride(12);
    for (let at = seed % stride; ; at += stride) {
      const when = (['before', 'after'] as const)[Math.floor(at / stride) % 2] ?? 'before';
      const where = `SLUICE_SEED=${seed}: cut ${when} change ${at}`;
      const lake = create(ITEMS, { stream }, { endpoint: `${proxy.url}/iceberg`, ...change });
      proxy.cutAt(undefined);
      const isFirst = Math.floor(at / stride) % 4 === 3;
      if (!isFirst) await syncWell(lake.flow);
      setRecords(lake.flow, next);
      proxy.cutAt(at, when);
      const report = await lake.flow.sync({ force: true });
      const isDone = proxy.changes <= at;
      proxy.cutAt(undefined);
      expect(isDone ? [0] : [0, 6], where).toContain(report.exitCode);
      const isElsewhere = !isDone && Math.floor(at / stride) % 3 === 1;
      const other = isElsewhere ? await continueElsewhere(lake, where) : undefined;
      const flow = other ?? lake.flow;
      if (other === undefined) await syncWell(flow);
      await expectEqual({ flow, open, schema: lake.schema }).catch((cause: unknown) => {
        throw new Error(where, { cause });
      });
      const reader = await open();
      const rows = await reader.rows(
        `SELECT count(*)::INTEGER AS n FROM lake.${lake.schema}.items WHERE extra = 'new'`,
      );
      reader.close();
      expect(rows, where).toEqual([{ n: 70 }]);
      await expectVerified(flow, 'Iceberg');
      if (isDone) return at;
    }
  }

  describe('cut off at each change', () => {
    it('is whole again after the next run, where all tables are committed together', async () => {
      expect(await cutEverywhere({})).toBeGreaterThan(0);
    });

    it('is whole again after the next run, where each table is committed alone', async () => {
      expect(await cutEverywhere({ multiTableCommit: false })).toBeGreaterThan(10);
    });
  });
});
