import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { openLakeReader, openReader } from '../support/ducklake-reader.ts';
import { findExtensions, type PostgresServer, startPostgres } from '../support/lake-servers.ts';
import { createItemsFlow } from '../support/sync-harness.ts';
import { ITEMS, setRecords } from './lakehouse-suite.ts';

const engine = { extensionDirectory: findExtensions() ?? '' };
const stream = { key: ['id'], cursor: { field: 'date', lookback: '60d' }, history: true };

/** Items with an array; a later version of them has another field in it. */
const withSources = (more: object = {}) =>
  ITEMS.map((item) => ({
    ...item,
    sources: [
      { url: `https://a.example/${item.id}`, share: rawJson('0.12345678901234567890123'), ...more },
      'odd',
    ],
  }));

const ELEMENTS = `SELECT id, _index, url, CAST(share AS VARCHAR) AS share, CAST(_value AS VARCHAR) AS value`;
const expected = [
  { id: 1n, _index: 0n, url: 'https://a.example/1', share: '0.12345678901234567890123', value: null },
  { id: 1n, _index: 1n, url: null, share: null, value: '"odd"' },
];

describeWithServers('views of a DuckLake', () => {
  it('are there under any name of the lake, follow the data, and leave a view of others alone', async () => {
    const flow = createItemsFlow(withSources(), { stream });
    const path = `sqlite:${join(flow.folder, 'catalog.sqlite')}`;
    const destination = {
      duckdb: './warehouse.duckdb',
      ducklake: { catalog: 'sqlite:./catalog.sqlite', data: './data' },
    };
    const sync = () => flow.sync({ force: true, config: { destination, engine } });
    expect(await sync()).toMatchObject({ exitCode: 0 });
    const ask = async (sql: string) => {
      const reader = await openLakeReader(path);
      try {
        return await reader.rows(sql);
      } finally {
        reader.close();
      }
    };
    expect(await ask(`${ELEMENTS} FROM lake.main.items__sources WHERE id = 1 ORDER BY _index`)).toEqual(
      expected,
    );
    expect(await ask('SELECT count(*)::INTEGER AS n FROM lake.main.items_latest')).toEqual([
      { n: ITEMS.length },
    ]);
    expect(await ask('SELECT stream, verdict FROM lake._sluice.health')).toEqual([
      { stream: 'items', verdict: 'verified' },
    ]);
    const writer = await openLakeReader(path, '');
    await writer.run('DROP VIEW lake.main.items_latest');
    await writer.run('CREATE VIEW lake.main.items_latest AS SELECT 42 AS mine');
    writer.close();
    setRecords(flow, withSources({ rank: 7 }));
    expect(await sync()).toMatchObject({ exitCode: 0 });
    expect(
      await ask('SELECT DISTINCT rank::INTEGER AS rank FROM lake.main.items__sources ORDER BY ALL'),
    ).toEqual([{ rank: 7 }, { rank: null }]);
    expect(await ask('FROM lake.main.items_latest')).toEqual([{ mine: 42 }]);
    expect(await ask('SELECT count(*)::INTEGER AS n FROM lake.main.items_latest_view')).toEqual([
      { n: ITEMS.length },
    ]);
  });
});

describeWithServers('views in Postgres', () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.stop());

  it('follow the data, and leave a view of others alone, and those that others made of them', async () => {
    const url = await postgres.createDatabase('views');
    const flow = createItemsFlow(withSources(), { stream });
    const destination = { duckdb: './warehouse.duckdb', postgres: { url, schema: 'ana' } };
    const sync = () => flow.sync({ force: true, config: { destination, engine } });
    expect(await sync()).toMatchObject({ exitCode: 0 });
    const ask = async (...statements: readonly string[]) => {
      const reader = await openReader(
        ['postgres_scanner'],
        [`ATTACH ${quoteLiteral(url)} AS lake (TYPE postgres)`],
      );
      try {
        for (const statement of statements.slice(0, -1))
          await reader.run(`CALL postgres_execute('lake', ${quoteLiteral(statement)})`);
        return await reader.rows(`FROM postgres_query('lake', ${quoteLiteral(statements.at(-1) ?? '')})`);
      } finally {
        reader.close();
      }
    };
    expect(await ask(`${ELEMENTS} FROM ana.items__sources WHERE id = 1 ORDER BY _index`)).toEqual(expected);
    expect(await ask('SELECT count(*)::int AS n FROM ana.items_latest')).toEqual([{ n: ITEMS.length }]);
    expect(await ask('SELECT stream, verdict, rows_in_table::int AS n FROM _sluice_ana.health')).toEqual([
      { stream: 'items', verdict: 'verified', n: ITEMS.length },
    ]);
    await ask(
      'DROP VIEW ana.items_latest',
      'CREATE VIEW ana.items_latest AS SELECT 42 AS mine',
      'CREATE VIEW ana.urls AS SELECT url FROM ana.items__sources',
      'SELECT 1',
    );
    setRecords(flow, withSources({ rank: 7 }));
    expect(await sync()).toMatchObject({ exitCode: 0 });
    expect(await ask('SELECT * FROM ana.items_latest')).toEqual([{ mine: 42 }]);
    expect(await ask('SELECT count(*)::int AS n FROM ana.items_latest_view')).toEqual([{ n: ITEMS.length }]);
    expect(await ask('SELECT count(*)::int AS n FROM ana.urls')).toEqual([{ n: ITEMS.length * 2 }]);
    await ask('DROP VIEW ana.urls', 'SELECT 1');
    setRecords(flow, withSources({ rank: 8 }));
    expect(await sync()).toMatchObject({ exitCode: 0 });
    expect(await ask('SELECT DISTINCT rank::int AS rank FROM ana.items__sources ORDER BY 1')).toEqual([
      { rank: 8 },
      { rank: null },
    ]);
  });
});
