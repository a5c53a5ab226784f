import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { maintainLakes } from '../../src/commands/maintain-lakes.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { waitForOutcome } from '../deploy/outcome.ts';
import type { SparkHome } from '../support/find-spark.ts';
import { type IcebergCatalog, startCatalog } from '../support/iceberg-catalog.ts';
import { findExtensions, type ObjectStore, startObjectStore } from '../support/lake-servers.ts';
import { python } from '../support/find-nessie.ts';
import { createItemsFlow, DAY_MS, type Flow, makeItem } from '../support/sync-harness.ts';
import { type SparkSession, startSpark } from './spark-session.ts';

const ROWS = 2_000;
const NAMESPACE = 'analytics';

/** What every reader has to find. */
interface Sums {
  readonly rows: number;
  readonly ids: number;
  readonly amounts: number;
}

/** Everything that reads or writes the tables. */
interface World {
  readonly flow: Flow;
  readonly spark: SparkSession;
  readonly catalog: IcebergCatalog;
  readonly store: ObjectStore;
}

/**
 * Spark and pyiceberg read what the DuckDB file has, before and after Spark rewrote the files of every table, and the
 * syncs after it are exact.
 *
 * @returns what was proved, in a line
 */
export async function proveSpark(home: SparkHome, folder: string): Promise<string> {
  const store = await startObjectStore();
  const catalog = await startCatalog(store).catch(async (error: unknown) => {
    await store.stop();
    throw error;
  });
  const spark = startSpark(home, catalog, store);
  try {
    const flow = createFlow(folder, catalog, store);
    const files = await prove({ flow, spark, catalog, store });
    return `Spark and pyiceberg read the sums of the DuckDB file, also after Spark rewrote ${files} files`;
  } finally {
    await spark.stop();
    await catalog.stop();
    await store.stop();
  }
}

function createFlow(folder: string, catalog: IcebergCatalog, store: ObjectStore): Flow {
  const { endpoint, region, keyId, secret } = store;
  const destination = {
    duckdb: './warehouse.duckdb',
    iceberg: { endpoint: catalog.endpoint, warehouse: catalog.warehouse, namespace: NAMESPACE },
    s3: {
      endpoint: `http://${endpoint}`,
      region,
      urlStyle: 'path' as const,
      credentials: { keyId, secret },
    },
  };
  const extensionDirectory = findExtensions() ?? '';
  return createItemsFlow(makeRows(0), {
    folder,
    stream: { key: ['id'], cursor: { field: 'date', lookback: '60d' }, deletes: 'hard' },
    config: { destination, engine: { extensionDirectory }, defaults: { maxDeleteRatio: 1 } },
  });
}

/** Each day some rows have other values, some are gone, and some are new. */
function makeRows(day: number): readonly object[] {
  return Array.from({ length: ROWS + day * 50 }, (_, id) => makeItem(id, 100))
    .filter(({ id }) => day === 0 || id % 40 !== day)
    .map((item) => ({
      ...item,
      amount: item.amount + (item.id % 7 === 0 ? day : 0),
      price: (item.id + day) / 4,
      isNew: item.id >= ROWS,
      seenAt: `${item.date}T10:00:00.000001Z`,
    }));
}

async function prove(world: World): Promise<number> {
  const { flow, spark } = world;
  await syncDay(flow, 0);
  await assertSame(world);
  await syncDay(flow, 1);
  await assertSame(world);
  const files = await rewriteTables(spark);
  assert.ok(files > 0, 'Spark found nothing to rewrite');
  await assertSame(world);
  for (const day of [2, 3]) {
    await syncDay(flow, day);
    await assertSame(world);
  }
  const { ok, items } = await verifyState(flow.settings(), { clock: flow.clock });
  assert.ok(ok, JSON.stringify(items));
  // It is left to the users' engine.
  const { destinations } = await maintainLakes(flow.settings(), { clock: flow.clock });
  assert.deepEqual(
    destinations.map(({ outcome }) => outcome),
    ['left to another engine'],
  );
  return files;
}

async function syncDay(flow: Flow, day: number): Promise<void> {
  flow.simulator.editRecords('items', () => makeRows(day));
  const report = await flow.sync({ force: true });
  assert.equal(report.exitCode, 0, report.error?.message);
  await flow.clock.sleep(DAY_MS);
}

/** What docs/lakehouse.md says to do once a week, with each table of both namespaces. */
async function rewriteTables(spark: SparkSession): Promise<number> {
  let files = 0;
  for (const namespace of [NAMESPACE, `_sluice_${NAMESPACE}`])
    for (const { tableName } of await spark.rows(`SHOW TABLES IN catalog.${namespace}`)) {
      const table = `table => '${namespace}.${String(tableName)}'`;
      const [row] = await spark.rows(
        `CALL catalog.system.rewrite_data_files(${table}, options => map('rewrite-all', 'true'))`,
      );
      files += Number(row?.['rewritten_data_files_count']);
      await spark.rows(`CALL catalog.system.rewrite_position_delete_files(${table})`);
      // Nessie keeps old versions for its own branches, and forbids this until it is told otherwise.
      await spark.rows(
        `ALTER TABLE catalog.${namespace}.${String(tableName)} SET TBLPROPERTIES ('gc.enabled' = 'true')`,
      );
      await spark.rows(
        `CALL catalog.system.expire_snapshots(${table}, older_than => TIMESTAMP '9999-01-01 00:00:00')`,
      );
    }
  return files;
}

/** Sums by every reader, and every row by Spark. */
async function assertSame({ flow, spark, catalog, store }: World): Promise<void> {
  const values = 'id, date, name, amount, price, is_new';
  const texts = values.split(', ').map((name) => `CAST(${name} AS STRING) AS ${name}`);
  const own = await flow.query(`SELECT ${texts.join(', ')} FROM main.items ORDER BY items.id`);
  const read = await spark.rows(
    `SELECT ${texts.join(', ')} FROM catalog.${NAMESPACE}.items ORDER BY items.id`,
  );
  assert.deepEqual(read, own);
  const moments = await Promise.all([
    flow.query('SELECT sum(epoch_us(seen_at))::VARCHAR AS total FROM main.items'),
    spark.rows(`SELECT CAST(sum(unix_micros(seen_at)) AS STRING) AS total FROM catalog.${NAMESPACE}.items`),
  ]);
  assert.deepEqual(moments[1], moments[0]);
  const sums = 'count(*) AS rows, sum(id) AS ids, sum(amount) AS amounts';
  const [ours] = await flow.query(`SELECT ${sums} FROM main.items`);
  const expected = toSums(ours ?? {});
  const [bySpark] = await spark.rows(`SELECT ${sums} FROM catalog.${NAMESPACE}.items`);
  assert.deepEqual(toSums(bySpark ?? {}), expected);
  assert.deepEqual(await readWithPython(catalog, store), expected);
}

function toSums({ rows, ids, amounts }: Readonly<Record<string, unknown>>): Sums {
  return { rows: Number(rows), ids: Number(ids), amounts: Number(amounts) };
}

async function readWithPython(catalog: IcebergCatalog, store: ObjectStore): Promise<Sums> {
  const options = {
    table: `${NAMESPACE}.items`,
    catalog: {
      uri: catalog.endpoint,
      warehouse: catalog.warehouse,
      's3.endpoint': `http://${store.endpoint}`,
      's3.access-key-id': store.keyId,
      's3.secret-access-key': store.secret,
      's3.region': store.region,
      'header.X-Iceberg-Access-Delegation': '',
    },
  };
  const script = fileURLToPath(new URL('../flows/read-iceberg.py', import.meta.url));
  const { exitCode, stdout, stderr } = await waitForOutcome(spawn(python, [script, JSON.stringify(options)]));
  assert.equal(exitCode, 0, stderr);
  return toSums(JSON.parse(stdout) as Readonly<Record<string, unknown>>);
}
