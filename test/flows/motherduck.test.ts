import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { openReader } from '../support/ducklake-reader.ts';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { standInForMotherDuck } from '../support/duckdb-for-motherduck.ts';
import { countRuns } from '../support/seeds.ts';
import { createItemsFlow, makeFolder } from '../support/sync-harness.ts';
import { describeLakehouse, ITEMS, setRecords, type Site, syncWell } from './lakehouse-suite.ts';

standInForMotherDuck();

let made = 0;

const site: Site = {
  title: 'MotherDuck',
  days: countRuns(8),
  create: (records, parts = {}) => {
    made += 1;
    const schema = made % 2 === 0 ? 'main' : 'analytics';
    const token = join(makeFolder(), 'service.duckdb');
    const motherduck = { database: 'md:company', token, ...(schema !== 'main' && { schema }) };
    const config = { ...parts.config, destination: { duckdb: './warehouse.duckdb', motherduck } };
    const flow = createItemsFlow(records, { ...parts, config });
    const open = (options = 'READ_ONLY') =>
      openReader([], [`ATTACH ${quoteLiteral(token)} AS lake ${options === '' ? '' : `(${options})`}`]);
    return Promise.resolve({ flow, open, schema });
  },
};

describeLakehouse('a DuckDB database in the place of MotherDuck', 1, () => site);

describe('a DuckDB database in the place of MotherDuck', () => {
  const stream = { key: ['id'], cursor: { field: 'date', lookback: '60d' } };

  it('has the types of the work file, and gets new columns with the rows that it has', async () => {
    const values = { tags: ['a', 'b'], whole: rawJson('170141183460469231731687303715884105727') };
    const lake = await site.create(
      ITEMS.map((item) => ({ ...item, ...values })),
      { stream },
    );
    await syncWell(lake.flow);
    const describeItems = async (): Promise<Readonly<Record<string, unknown>>> => {
      const reader = await lake.open();
      const rows = await reader.rows(`DESCRIBE lake.${lake.schema}.items`);
      reader.close();
      return Object.fromEntries(rows.map((row) => [String(row['column_name']), row['column_type']]));
    };
    expect(await describeItems()).toMatchObject({ date: 'DATE', tags: 'JSON', whole: 'HUGEINT' });
    setRecords(
      lake.flow,
      ITEMS.map((item) => ({ ...item, ...values, ...(item.id === 3 && { added: 'new' }) })),
    );
    const { published } = await syncWell(lake.flow);
    expect(await describeItems()).toMatchObject({ added: 'VARCHAR' });
    expect(published?.motherduck?.path).toMatch(/^md:company\./);
  });
});
