import { afterAll, beforeAll, expect, it } from 'vitest';
import { quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { writeContractFile } from '../support/contract-flow.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { openLakeReader, openReader } from '../support/ducklake-reader.ts';
import { findExtensions, type PostgresServer, startPostgres } from '../support/lake-servers.ts';
import { createItemsFlow, makeItems } from '../support/sync-harness.ts';

const engine = { extensionDirectory: findExtensions() ?? '' };
// What ends a string in one of the ways in which Postgres reads them.
const HOSTILE = String.raw`it's \' $$ "; COMMENT`;
const CONTRACT = {
  type: 'object',
  properties: { name: { description: HOSTILE } },
  additionalProperties: true,
};
const NAME = `${HOSTILE}. Field name. VARCHAR: all values were text; every row has one. [sluice]`;

describeWithServers('comments in lakehouses', () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.stop());

  it('are on the tables of Postgres; those of others stay, and a lock keeps no row from being published', async () => {
    let items = makeItems(30);
    const destination = { duckdb: './warehouse.duckdb', postgres: { url: postgres.url, schema: 'shop' } };
    const flow = createItemsFlow(() => items, { config: { destination, engine } });
    writeContractFile(flow, CONTRACT);
    expect((await flow.sync()).exitCode).toBe(0);
    const server = await openReader(
      ['postgres_scanner'],
      [`ATTACH ${quoteLiteral(postgres.url)} AS lake (TYPE postgres)`],
    );
    const read = async () => {
      const sql = `SELECT a.attname::text AS name, col_description(a.attrelid, a.attnum) AS comment FROM pg_attribute a
        WHERE a.attrelid = 'shop.items'::regclass AND a.attnum > 0 AND NOT attisdropped`;
      const rows = await server.rows(`SELECT * FROM postgres_query('lake', ${quoteLiteral(sql)})`);
      return new Map(rows.map(({ name, comment }) => [String(name), comment]));
    };
    const execute = (sql: string) => server.run(`CALL postgres_execute('lake', ${quoteLiteral(sql)})`);
    expect((await read()).get('name')).toBe(NAME);
    await execute("COMMENT ON COLUMN shop.items.date IS 'Mine'");
    await execute('COMMENT ON COLUMN shop.items.name IS NULL');
    await server.run('BEGIN');
    await execute('LOCK TABLE shop.items IN SHARE UPDATE EXCLUSIVE MODE');
    items = makeItems(31);
    expect((await flow.sync({ force: true })).exitCode).toBe(0);
    await server.run('ROLLBACK');
    expect((await read()).get('name')).toBeNull();
    items = makeItems(32);
    expect((await flow.sync({ force: true })).exitCode).toBe(0);
    const after = await read();
    expect(after.get('name')).toBe(NAME);
    expect(after.get('date')).toBe('Mine');
    server.close();
  });

  it('are on the tables of a DuckLake', async () => {
    const destination = { ducklake: { catalog: 'sqlite:./catalog.sqlite', data: './data' } };
    const flow = createItemsFlow(makeItems(30), { config: { destination, engine } });
    writeContractFile(flow, CONTRACT);
    expect((await flow.sync()).exitCode).toBe(0);
    const reader = await openLakeReader(`sqlite:${flow.folder}/catalog.sqlite`);
    const rows = await reader.rows(
      `SELECT comment FROM duckdb_columns() WHERE database_name = 'lake' AND table_name = 'items' AND column_name = 'name'`,
    );
    expect(rows).toEqual([{ comment: NAME }]);
    reader.close();
  });
});
