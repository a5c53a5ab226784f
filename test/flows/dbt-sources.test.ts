import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import YAML from 'yaml';
import { exportSchema } from '../../src/commands/contracts/export-schema.ts';
import { writeContractFile } from '../support/contract-flow.ts';
import { createItemsFlow, DAY_MS, type Flow, type ItemsOptions, makeItems } from '../support/sync-harness.ts';

type DbtTest = string | { unique: { arguments?: { column_name: string }; config?: { where: string } } };

interface DbtTable {
  readonly description: string;
  readonly config: {
    loaded_at_query: string;
    freshness: Record<string, unknown>;
    meta?: Record<string, string>;
  };
  readonly data_tests?: readonly DbtTest[];
  readonly columns: readonly { name: string; data_type: string; data_tests?: readonly DbtTest[] }[];
}

const records = makeItems(60).map((item) => ({ ...item, amount: item.id, meta: { model: 'm' } }));

async function syncItems(options: ItemsOptions = {}, given: readonly unknown[] = records): Promise<Flow> {
  const flow = createItemsFlow(given, { ...options, stream: { key: ['id'], ...options.stream } });
  expect((await flow.sync()).exitCode).toBe(0);
  return flow;
}

async function exportTable(flow: Flow) {
  const { files } = await exportSchema(flow.settings(), { format: 'dbt' });
  const { sources } = YAML.parse(files[0]?.text ?? '') as {
    sources: readonly { database?: string; tables: readonly DbtTable[] }[];
  };
  const [table] = sources[0]?.tables ?? [];
  if (table === undefined) throw new Error('no table was exported');
  const testsOf = (name: string) => table.columns.find((column) => column.name === name)?.data_tests;
  return { table, testsOf, database: sources[0]?.database };
}

/** Asks as dbt does: a query of its own, with the published file attached. */
async function ask(flow: Flow, sql: string): Promise<readonly Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(`SET TimeZone = 'UTC'`);
    if (flow.settings().destinations.some(({ kind }) => kind === 'duckdb'))
      await connection.run(`ATTACH '${flow.settings().readersFile}' (READ_ONLY)`);
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function readLoadedAt(flow: Flow): Promise<unknown> {
  const { table } = await exportTable(flow);
  const [row] = await ask(flow, `SELECT epoch_ms((${table.config.loaded_at_query})) AS at`);
  return row?.['at'] === null ? undefined : Number(row?.['at']);
}

describe('freshness in the sources for dbt', () => {
  it.each([
    ['a DuckDB file', {}],
    ['a lake alone', { config: { destination: { parquet: './lake' } } }],
  ])('of %s is the time of the last verified scan, though no row changed', async (_, options) => {
    const flow = await syncItems(options);
    const first = await readLoadedAt(flow);
    await flow.clock.sleep(DAY_MS);
    const before = flow.clock.now();
    const report = await flow.sync({ force: true });
    expect(report.rows).toMatchObject({ inserted: 0, updated: 0 });
    const second = Number(await readLoadedAt(flow));
    expect(second).toBeGreaterThan(Number(first));
    expect(second).toBeGreaterThanOrEqual(before);
  });

  it('has the thresholds of the report, and longer ones for a stream that is asked for less often', async () => {
    const { table } = await exportTable(await syncItems());
    expect(table.config.freshness).toEqual({
      warn_after: { count: 36, period: 'hour' },
      error_after: { count: 72, period: 'hour' },
    });
    const slow = await exportTable(await syncItems({ config: { defaults: { freshness: '7d' } } }));
    expect(slow.table.config.freshness).toMatchObject({ warn_after: { count: 252 } });
  });
});

describe('a sliced stream in the sources for dbt', () => {
  it('is as fresh as its oldest slice, and has each key once in a slice', async () => {
    const entities = records.map((item) => ({ ...item, entity: item.id % 2 === 0 ? 'a' : 'b' }));
    const flow = createItemsFlow(entities, {
      stream: { key: ['id'], cursor: false, params: { entity: ['a', 'b'] }, sliceBy: ['entity'] },
      endpoint: { filters: { entity: ['entity'] } },
    });
    await flow.sync();
    const { table } = await exportTable(flow);
    expect(table.data_tests).toEqual([{ unique: { arguments: { column_name: 'row("id", "_slice")' } } }]);
    expect(table.config.loaded_at_query).toMatch(/min\(last_verified_at\).*'entity=a', 'entity=b'/);
    expect(table.description).toContain('one row for each (id, _slice)');
    const [described] = await flow.query(`SELECT comment FROM duckdb_tables() WHERE table_name = 'items'`);
    expect(described?.['comment']).toContain('One row per id, _slice;');
  });

  it.each([
    ['a slice without rows', 'none', true],
    ['a slice with rows and no key', 'twice', false],
  ])('with %s, is tested for the key: %s %s', async (_, other, isTested) => {
    const alike = { date: '2026-01-01', name: 'same', entity: 'twice' };
    const entities = [...records.map((item) => ({ ...item, entity: 'a' })), alike, alike];
    const flow = createItemsFlow(entities, {
      stream: { cursor: false, params: { entity: ['a', other] }, sliceBy: ['entity'] },
      endpoint: { filters: { entity: ['entity'] } },
    });
    await flow.sync();
    const { table } = await exportTable(flow);
    expect(table.data_tests !== undefined).toBe(isTested);
  });
});

describe('the uniqueness test for dbt', () => {
  it('is on the column of the key', async () => {
    const { table, testsOf } = await exportTable(await syncItems());
    expect(testsOf('id')).toEqual(['unique']);
    expect(table.data_tests).toBeUndefined();
  });

  it('is on a row of the columns where the key has several', async () => {
    const flow = await syncItems({ stream: { key: ['id', 'date'] } });
    const { table, testsOf } = await exportTable(flow);
    expect(testsOf('id')).toBeUndefined();
    expect(table.data_tests).toEqual([{ unique: { arguments: { column_name: 'row("id", "date")' } } }]);
    const [row] = await ask(
      flow,
      'SELECT count(*) AS n, count(DISTINCT row("id", "date")) AS keys FROM warehouse.main.items',
    );
    expect(row).toEqual({ n: '60', keys: '60' });
  });

  it('leaves out rows that are marked as deleted', async () => {
    const { testsOf } = await exportTable(await syncItems({ stream: { deletes: 'soft' } }));
    expect(testsOf('id')).toEqual([{ unique: { config: { where: '_deleted_at is null' } } }]);
  });

  it('is not there without a key', async () => {
    const alike = records.map(({ date }) => ({ date, name: 'same' }));
    const flow = createItemsFlow(alike, { stream: { cursor: false } });
    await flow.sync();
    const { table } = await exportTable(flow);
    expect(table.description).toContain('without a key');
    expect(JSON.stringify(table)).not.toContain('unique');
  });
});

describe('not_null for dbt', () => {
  it('is not asked of columns that merely held no null', async () => {
    const { table } = await exportTable(await syncItems());
    expect(JSON.stringify(table)).not.toContain('not_null');
  });

  it('is asked where a contract file allows no null, and not of masked fields', async () => {
    const flow = await syncItems({
      stream: { columns: { name: { hash: true } } },
      config: { defaults: { hashKey: 'a hash key of the tests' } },
    });
    writeContractFile(flow, {
      required: ['id', 'name', 'amount', 'meta'],
      properties: {
        id: { type: 'integer' },
        date: { type: 'string' },
        name: { type: 'string' },
        amount: { type: ['integer', 'null'] },
        meta: { type: 'object', required: ['model'], properties: { model: { type: 'string' } } },
      },
    });
    const { table, testsOf } = await exportTable(flow);
    const asked = table.columns.filter(({ data_tests: tests }) => tests?.includes('not_null'));
    expect(asked.map(({ name }) => name)).toEqual(['id', 'meta__model']);
    expect(testsOf('id')).toEqual(['not_null', 'unique']);
  });
});

describe('not_null where a row that left the API is older than the contract file', () => {
  const required = { required: ['name'], properties: { name: { type: 'string' } } };
  const sync = async (deletes: 'keep' | 'soft') => {
    const flow = createItemsFlow(
      (day) =>
        day === '2026-01-31' ? [{ ...records[0], name: null }, ...records.slice(1)] : records.slice(1),
      { stream: { key: ['id'], cursor: false, deletes } },
    );
    await flow.sync();
    writeContractFile(flow, { ...required, additionalProperties: true });
    await flow.clock.sleep(DAY_MS);
    flow.simulator.advanceDay();
    expect(await flow.sync()).toMatchObject({ exitCode: 0 });
    return (await exportTable(flow)).testsOf('name');
  };

  it('is not asked of rows that are kept', async () => {
    expect(await sync('keep')).toBeUndefined();
  });

  it('is asked of live rows alone where such rows are marked', async () => {
    expect(await sync('soft')).toEqual([{ not_null: { config: { where: '_deleted_at is null' } } }]);
  });
});

describe('a lake alone, as a source of dbt', () => {
  it('is read by its pattern, with the types of its columns', async () => {
    const lake = './a $lake';
    const flow = await syncItems({ config: { destination: { parquet: lake } } });
    const { table, database } = await exportTable(flow);
    expect(database).toBeUndefined();
    expect(table.config.meta?.['formatter']).toBe('template');
    // What Python's string.Template makes of it.
    const location = String(table.config.meta?.['external_location']).replaceAll('$$', '$');
    expect(location).toContain(join(flow.folder, lake, 'items/current/**/*.parquet'));
    const [row] = await ask(flow, `SELECT count(*) AS n FROM ${location}`);
    expect(row).toEqual({ n: '60' });
    const described = await ask(flow, `DESCRIBE SELECT * FROM ${location}`);
    expect(described.map((column) => [column['column_name'], column['column_type']])).toEqual(
      table.columns.map(({ name, data_type: type }) => [
        name,
        type.replace('TIMESTAMPTZ', 'TIMESTAMP WITH TIME ZONE'),
      ]),
    );
  });

  it('is not named next to a DuckDB file', async () => {
    const flow = createItemsFlow(records, {
      stream: { key: ['id'] },
      config: { destination: { duckdb: './warehouse.duckdb', parquet: './lake' } },
    });
    await flow.sync();
    const { table, database } = await exportTable(flow);
    expect(database).toBe('warehouse');
    expect(table.config.meta).toBeUndefined();
  });
});
