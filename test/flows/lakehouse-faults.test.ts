import { afterAll, beforeAll, expect, it } from 'vitest';
import { SyncError } from '../../src/model/errors.ts';
import type { RunReport } from '../../src/model/run-report.ts';
import {
  type CountingProxy,
  describeCatalogError,
  describeStoreError,
  startCountingProxy,
} from '../support/counting-proxy.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { openLakeReader } from '../support/ducklake-reader.ts';
import { type IcebergCatalog, openCatalogReader, startCatalog } from '../support/iceberg-catalog.ts';
import {
  findExtensions,
  type ObjectStore,
  type PostgresServer,
  startObjectStore,
  startPostgres,
} from '../support/lake-servers.ts';
import { createRandom, hasTurn, seed } from '../support/seeds.ts';
import { createItemsFlow, makeItems } from '../support/sync-harness.ts';
import {
  expectEqual,
  expectVerified,
  ITEMS,
  type LakeFlow,
  setRecords,
  syncWell,
} from './lakehouse-suite.ts';

const stream = { key: ['id'], cursor: { field: 'date', lookback: '60d' } };
const engine = { extensionDirectory: findExtensions() ?? '' };
/** Every row has another value, and there is a new column: each table has files to write. */
const next = makeItems(70, { perDay: 10 }).map((item) => ({
  ...item,
  amount: item.amount + 1,
  extra: 'new',
}));

const EXPIRED = describeStoreError(400, 'ExpiredToken', 'The provided token has expired.');
const FORBIDDEN = describeStoreError(403, 'AccessDenied', 'Access Denied');
const SLOW = describeStoreError(503, 'SlowDown', 'Please reduce your request rate.');
const FULL = describeStoreError(
  507,
  'XMinioStorageFull',
  'Storage backend has reached its minimum free drive threshold.',
);

describeWithServers('a lakehouse', () => {
  let postgres: PostgresServer;
  let store: ObjectStore;
  let catalog: IcebergCatalog;
  /** Before the store, the catalog of Iceberg, and that of a DuckLake. */
  let bucket: CountingProxy;
  let login: CountingProxy;
  let made = 0;

  beforeAll(async () => {
    [postgres, store] = await Promise.all([startPostgres(), startObjectStore()]);
    await store.createBucket('bucket');
    catalog = await startCatalog(store);
    bucket = await startCountingProxy(store.endpoint);
    login = await startCountingProxy(new URL(catalog.endpoint).host);
  });
  afterAll(async () => {
    await Promise.all([bucket.stop(), login.stop()]);
    await Promise.all([postgres.stop(), catalog.stop(), store.stop()]);
  });

  const describeStore = () => ({
    endpoint: `http://${bucket.host}`,
    region: store.region,
    urlStyle: 'path' as const,
    credentials: { keyId: store.keyId, secret: store.secret },
  });

  async function createDuckLake(): Promise<LakeFlow> {
    made += 1;
    const url = await postgres.createDatabase(`lake${made}`);
    const ducklake = { catalog: url, data: `s3://bucket/lake${made}` };
    const destination = { duckdb: './warehouse.duckdb', ducklake, s3: describeStore() };
    const flow = createItemsFlow(ITEMS, { stream, config: { destination, engine } });
    return { flow, schema: 'main', open: (options) => openLakeReader(`postgres:${url}`, options, store) };
  }

  function createIceberg(): Promise<LakeFlow> {
    made += 1;
    const schema = `analytics${made}`;
    const endpoint = `http://${login.host}${new URL(catalog.endpoint).pathname}`;
    const iceberg = { endpoint, warehouse: catalog.warehouse, namespace: schema };
    const destination = { duckdb: './warehouse.duckdb', iceberg, s3: describeStore() };
    const flow = createItemsFlow(ITEMS, { stream, config: { destination, engine } });
    return Promise.resolve({ flow, schema, open: () => openCatalogReader(catalog, store) });
  }

  const kinds = [
    ['DuckLake', createDuckLake],
    ['Iceberg', createIceberg],
  ] as const;

  async function fail({ flow }: LakeFlow): Promise<SyncError | RunReport> {
    return flow.sync({ force: true }).catch((thrown: unknown) => thrown as SyncError);
  }

  function wordsOf(end: SyncError | RunReport): string {
    const error = end instanceof SyncError ? end : end.error;
    return `${error?.message} ${error?.hint}`;
  }

  function expectSafe(end: SyncError | RunReport, words: RegExp): void {
    const about = `SLUICE_SEED=${seed}: ${wordsOf(end)}`;
    expect(end.exitCode, about).toBe(6);
    expect(wordsOf(end), about).toMatch(words);
    expect(wordsOf(end)).toContain('is committed in the state folder');
  }

  async function countRows({ open, schema }: LakeFlow): Promise<number | undefined> {
    const reader = await open();
    const values = await reader
      .values(`SELECT count(*) AS value FROM lake.${schema}.items`)
      .finally(() => reader.close());
    return values[0];
  }

  /** The rows are in the work file: the next run asks the API for nothing. */
  async function expectPublished(lake: LakeFlow, title: string): Promise<void> {
    const report = await lake.flow.sync();
    expect(report.error?.message).toBeUndefined();
    expect(report).toMatchObject({ exitCode: 0, requests: 0 });
    await expectEqual(lake);
    await expectVerified(lake.flow, title);
  }

  const stores = [
    ['expired keys', EXPIRED, /keys for the object store have expired/],
    ['keys that may do nothing any more', FORBIDDEN, /refuses the key/],
    ['a store that is overloaded', SLOW, /object store is busy or broken/],
    ['a full store', FULL, /object store is full/],
  ] as const;

  // Each proof tries one of the kinds with each fault.
  const chosen = kinds.flatMap(([title, create], kind) =>
    stores.filter((_, at) => hasTurn(kind + at)).map((one) => [title, ...one, create] as const),
  );
  it.each(chosen)(
    '%s: %s in mid-write end a run with 6 and a hint, and the next one publishes without a request',
    async (title, _, what, words, create) => {
      const random = createRandom();
      const lake = await create();
      await syncWell(lake.flow);
      setRecords(lake.flow, next);
      bucket.restart({ after: Math.floor(random() * 3), of: 'changes', what, isRead: what === FULL });
      const end = await fail(lake);
      bucket.restart();
      expectSafe(end, words);
      expect(await countRows(lake)).toBe(ITEMS.length);
      await expectPublished(lake, title);
    },
  );

  const [LOGIN, BUSY] = [/catalog refuses the login/, /catalog is busy or broken/];
  const expired = describeCatalogError(401, 'NotAuthorizedException');
  const forbidden = describeCatalogError(403, 'ForbiddenException');
  const busy = describeCatalogError(503, 'ServiceUnavailableException');
  // The only change is the commit. A publish asks for more than sixty things before.
  it.each([
    ['a token that expired', { after: 60, of: 'requests', what: expired }, LOGIN],
    ['a token that expired before the commit', { after: 0, of: 'changes', what: expired }, LOGIN],
    ['a role that may not commit', { after: 0, of: 'changes', what: forbidden, isRead: true }, LOGIN],
    ['a catalog that is overloaded', { after: 0, of: 'changes', what: busy }, BUSY],
  ] as const)(
    'Iceberg: %s ends a run with 6 and a hint, and the next one publishes without a request',
    async (_, refused, words) => {
      const lake = await createIceberg();
      await syncWell(lake.flow);
      setRecords(lake.flow, next);
      login.restart(refused);
      const end = await fail(lake);
      login.restart();
      expectSafe(end, words);
      expect(await countRows(lake)).toBe(ITEMS.length);
      await expectPublished(lake, 'Iceberg');
    },
  );
});
