import { join } from 'node:path';
import { maintainLakes } from '../../src/commands/maintain-lakes.ts';
import { type CountingProxy, startCountingProxy } from '../../test/support/counting-proxy.ts';
import { startCatalog } from '../../test/support/iceberg-catalog.ts';
import {
  explainMissing,
  findExtensions,
  startObjectStore,
  startPostgres,
} from '../../test/support/lake-servers.ts';
import { createItemsFlow, type FlowConfig, HOUR_MS, makeItem } from '../../test/support/sync-harness.ts';
import { type Finding, type PartOptions, writeCount } from '../support/finding.ts';

const DAYS = 100;
/** So many days are restated by the daily sync. */
const RESTATED = 3;

type Flow = ReturnType<typeof createItemsFlow>;
type Destination = NonNullable<FlowConfig['destination']>;

/** Requests that a store was sent, and what for. */
type Counted = readonly [what: string, requests: CountingProxy['counts']];

/** Requests to the object store of what Sluice does there, which is what stores have prices for. */
export async function measureLakeRequests({
  size = 100_000,
  folder,
  say,
}: PartOptions): Promise<readonly Finding[]> {
  const title = `Requests to the object store, ${writeCount(size)} rows of ${DAYS} days`;
  const head = ['', 'PUT', 'GET', 'LIST', 'DELETE'];
  const missing = explainMissing();
  if (missing !== undefined)
    return [{ title, head, rows: [['not measured', '', '', '', '']], notes: [missing] }];
  const servers = await startServers();
  const rows: (readonly string[])[] = [];
  try {
    for (const [name, destination] of Object.entries(servers.destinations)) {
      say(`lake-requests: ${name}`);
      const flow = createFlow(join(folder, name), destination, Math.ceil(size / DAYS));
      for (const [what, counts] of await countRequests(flow, servers.bucket, Math.ceil(size / DAYS)))
        rows.push([`${name}: ${what}`, ...[counts.PUT, counts.GET, counts.LIST, counts.DELETE].map(String)]);
    }
  } finally {
    await servers.stop();
  }
  return [
    {
      title,
      head,
      rows,
      notes: [
        `One stream, and the tables of the state. A day brings ${writeCount(Math.ceil(size / DAYS))} rows, and restates those of ${RESTATED} days. GET has HEAD in it, PUT each part of an upload, DELETE those of many files at once. What the catalog of Iceberg (Nessie) writes into the bucket is in it.`,
        'Nothing new: the answers are those of the run before, and the record of the run is published.',
      ],
    },
  ];
}

interface Servers {
  readonly bucket: CountingProxy;
  readonly destinations: Readonly<Record<string, Destination>>;
  stop(): Promise<void>;
}

async function startServers(): Promise<Servers> {
  const postgres = await startPostgres();
  const store = await startObjectStore();
  const bucket = await startCountingProxy(store.endpoint);
  const catalog = await startCatalog({ ...store, endpoint: bucket.host });
  await store.createBucket('bench');
  const { region, keyId, secret } = store;
  const s3 = {
    endpoint: `http://${bucket.host}`,
    region,
    urlStyle: 'path' as const,
    credentials: { keyId, secret },
  };
  const { endpoint, warehouse } = catalog;
  return {
    bucket,
    destinations: {
      DuckLake: {
        ducklake: { catalog: await postgres.createDatabase('bench'), data: 's3://bench/lake' },
        s3,
      },
      Iceberg: { iceberg: { endpoint, warehouse, namespace: 'bench' }, s3 },
    },
    async stop() {
      await catalog.stop();
      await bucket.stop();
      await store.stop();
      await postgres.stop();
    },
  };
}

function createFlow(folder: string, destination: Destination, perDay: number): Flow {
  return createItemsFlow(makeRows(DAYS, perDay), {
    folder,
    stream: { key: ['id'], cursor: { field: 'date', lookback: `${RESTATED}d` } },
    config: {
      destination,
      engine: { extensionDirectory: findExtensions() ?? '' },
      retention: { lake: '0s' },
    },
  });
}

function makeRows(days: number, perDay: number): readonly object[] {
  return Array.from({ length: days * perDay }, (_, id) => makeItem(id, perDay)).map((item) => ({
    ...item,
    amount: item.amount + (item.id >= (DAYS - RESTATED) * perDay ? days : 0),
  }));
}

async function countRequests(flow: Flow, bucket: CountingProxy, perDay: number): Promise<readonly Counted[]> {
  const counted: Counted[] = [];
  const count = async (what: string, work: () => Promise<unknown>) => {
    bucket.restart();
    await work();
    counted.push([what, { ...bucket.counts }]);
  };
  const sync = async () => {
    const report = await flow.sync({ force: true });
    if (report.exitCode !== 0) throw new Error(report.error?.message);
    // Less than a day: it is not maintained yet.
    await flow.clock.sleep(4 * HOUR_MS);
  };
  await count('first publish', sync);
  flow.simulator.editRecords('items', () => makeRows(DAYS + 1, perDay));
  await count('a day', sync);
  flow.simulator.editRecords('items', () => makeRows(DAYS + 2, perDay));
  await count('the next day', sync);
  await count('nothing new', sync);
  if (flow.settings().destinations.some(({ kind }) => kind === 'ducklake'))
    await count('maintenance', () => maintainLakes(flow.settings(), { clock: flow.clock }));
  return counted;
}
