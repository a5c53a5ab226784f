import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { exportTables } from '../../src/commands/export-tables.ts';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { damageFooter } from '../support/damage-file.ts';
import { openReader } from '../support/ducklake-reader.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import {
  describeSecret,
  findExtensions,
  type ObjectStore,
  startObjectStore,
} from '../support/lake-servers.ts';
import { lakeTableOf } from '../support/read-lake.ts';
import { createItemsFlow, type Flow, type FlowConfig, makeItems } from '../support/sync-harness.ts';
import { setRecords, syncWell } from './lakehouse-suite.ts';

const stream = { key: ['id'], cursor: { field: 'date', lookback: '60d' } };
const engine = { extensionDirectory: findExtensions() ?? '' };
const HUGE = '170141183460469231731687303715884105727';
const items = makeItems(50, { perDay: 10 }).map((item) => ({
  ...item,
  parts: [item.id, 'ß'],
  amount: item.id === 3 ? rawJson('9007199254740993') : item.amount,
}));

it.each([
  ['lost', (path: string) => rmSync(path)],
  ['damaged', damageFooter],
])('an export of a lake whose file is %s is refused with 6, and nothing is written', async (_, damage) => {
  const flow = createItemsFlow(items, { stream, config: { destination: { parquet: './lake' }, engine } });
  await syncWell(flow);
  const lake = join(flow.folder, 'lake');
  const [{ path } = { path: '' }] = lakeTableOf(lake).files;
  const file = join(lake, 'items', 'current', path);
  damage(file);
  const place = join(flow.folder, 'export');
  mkdirSync(place);
  await expect(exportTables(flow.settings(), { place })).rejects.toMatchObject({
    exitCode: 6,
    code: 'state_damaged',
    message: expect.stringContaining(path) as unknown,
  });
  expect(readdirSync(place)).toEqual([]);
});

describeWithServers('an export', () => {
  let store: ObjectStore;

  beforeAll(async () => {
    store = await startObjectStore();
    await store.createBucket('bucket');
  });
  afterAll(() => store.stop());

  function create(config: FlowConfig = {}): Flow {
    return createItemsFlow(items, {
      stream: { ...stream, history: true },
      config: { destination: { duckdb: './warehouse.duckdb' }, ...config, engine },
    });
  }

  function makePlace({ folder }: Flow): string {
    const place = join(folder, 'export');
    mkdirSync(place);
    return place;
  }

  /** How many rows of a table another program finds by its path, and how many of them differ from the published ones. */
  async function compare({ duckdbPath }: Flow, place: string, columns = '*'): Promise<unknown> {
    const reader = await openReader(
      ['httpfs', 'avro', 'iceberg'],
      [describeSecret(store), `ATTACH ${quoteLiteral(duckdbPath)} AS file (READ_ONLY)`],
    );
    try {
      const [theirs, ours] = [
        `SELECT ${columns} FROM iceberg_scan(${quoteLiteral(place)})`,
        `SELECT ${columns} FROM file.main.items`,
      ];
      const [row] = await reader.rows(
        `SELECT (SELECT count(*) FROM (${theirs}))::INTEGER AS rows,
           (SELECT count(*) FROM ((${theirs} EXCEPT ALL ${ours}) UNION ALL (${ours} EXCEPT ALL ${theirs})))::INTEGER AS differ`,
      );
      return row;
    } finally {
      reader.close();
    }
  }

  it('has the rows of each table for readers by path, and newer ones once it is repeated', async () => {
    const flow = create();
    await syncWell(flow);
    const place = makePlace(flow);
    const first = await exportTables(flow.settings(), { place });
    expect(first.tables.map(({ table, rows }) => [table, rows])).toEqual([
      ['items', 50],
      ['items_history', 50],
    ]);
    expect(await compare(flow, join(place, 'items'))).toEqual({ rows: 50, differ: 0 });
    setRecords(flow, [...items.slice(0, 49), ...makeItems(10, { perDay: 10, from: 50 })]);
    await syncWell(flow);
    await exportTables(flow.settings(), { place, streams: ['items'] });
    expect(await compare(flow, join(place, 'items'))).toEqual({ rows: 60, differ: 0 });
  });

  it('keeps numbers exact that Iceberg has no type for, as text', async () => {
    const flow = create();
    setRecords(flow, [...items.slice(0, 9), { ...items[9], amount: rawJson(HUGE) }]);
    await syncWell(flow);
    const place = makePlace(flow);
    await exportTables(flow.settings(), { place });
    expect(await compare(flow, join(place, 'items'), 'id, amount::VARCHAR AS amount')).toEqual({
      rows: 10,
      differ: 0,
    });
  });

  it('is of a Parquet lake as well', async () => {
    const flow = create({ destination: { parquet: './lake' } });
    await syncWell(flow);
    const place = makePlace(flow);
    const { tables } = await exportTables(flow.settings(), { place, streams: ['items'] });
    expect(tables[0]).toEqual({ table: 'items', path: join(place, 'items'), rows: 50 });
  });

  it('goes into a bucket of the store that the config names, whatever else it publishes to', async () => {
    const { endpoint, region, keyId, secret } = store;
    const credentials = { keyId, secret };
    const s3 = { endpoint: `http://${endpoint}`, region, urlStyle: 'path' as const, credentials };
    const flow = create({ destination: { duckdb: './warehouse.duckdb', s3 } });
    await syncWell(flow);
    const place = 's3://bucket/analytics';
    await exportTables(flow.settings(), { place });
    expect(await compare(flow, `${place}/items`)).toEqual({ rows: 50, differ: 0 });
    const wrong = { ...s3, credentials: { keyId, secret: 'not-the-secret' } };
    const refused = create({ destination: { duckdb: './warehouse.duckdb', s3: wrong } });
    await syncWell(refused);
    await expect(exportTables(refused.settings(), { place })).rejects.toMatchObject({
      exitCode: 6,
      message: expect.stringMatching(/the object store refuses the key/) as string,
    });
    await expect(exportTables(refused.settings(), { place })).rejects.not.toThrow(/not-the-secret/);
  });

  it('writes nothing next to files of others, and nothing before the first sync', async () => {
    const flow = create();
    const place = makePlace(flow);
    await expect(exportTables(flow.settings(), { place })).rejects.toThrow(/no published file/);
    await syncWell(flow);
    mkdirSync(join(place, 'items'));
    writeFileSync(join(place, 'items', 'notes.txt'), 'mine');
    await expect(exportTables(flow.settings(), { place })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/has other files than those of an export/) as string,
    });
  });
});
