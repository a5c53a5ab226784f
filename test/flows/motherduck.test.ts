import { join } from 'node:path';
import { vi } from 'vitest';
import { quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { openReader } from '../support/ducklake-reader.ts';
import { countRuns } from '../support/seeds.ts';
import { createItemsFlow, makeFolder } from '../support/sync-harness.ts';
import { describeLakehouse, type Site } from './lakehouse-suite.ts';

vi.mock(
  '../../src/publish/lakehouse/motherduck/attach-motherduck.ts',
  () => import('../support/duckdb-for-motherduck.ts'),
);

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

describeLakehouse('a DuckDB database in the place of MotherDuck', () => site);
