import { describe, expect, it } from 'vitest';
import ts from 'typescript';
import YAML from 'yaml';
import { parseContract } from '../../src/contract/parse-contract.ts';
import { exportSchema } from '../../src/commands/contracts/export-schema.ts';
import { diffSchema, showSchema } from '../../src/commands/contracts/read-schema.ts';
import { openPublished } from '../../src/warehouse/query-published.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { writeContractFile } from '../support/contract-flow.ts';
import {
  createItemsFlow,
  type Flow,
  type ItemsOptions,
  makeItems,
  noBuiltIns,
  streamOf,
} from '../support/sync-harness.ts';

const records = makeItems(60).map((item) => ({
  ...item,
  topicId: item.id % 2 === 0 ? 'even' : 'odd',
  rank: item.id === 3 ? null : item.id,
  meta: { model: 'm', 'odd "name"': item.id / 4 },
  tags: [item.id],
  nothing: null,
}));

async function syncItems(options: ItemsOptions = {}, given: readonly unknown[] = records): Promise<Flow> {
  const flow = createItemsFlow(given, {
    ...options,
    stream: { cursor: false, key: ['id'], ...options.stream },
  });
  const report = await flow.sync();
  expect(report.exitCode, streamOf(report).error?.message).toBe(0);
  return flow;
}

const stream = { path: 'items', paginated: true, cursor: false as const, key: ['id'] };

describe('schema show', () => {
  it('reports columns in their order, with the run that added each', async () => {
    const flow = await syncItems();
    const [first] = await showSchema(flow.settings());
    const runId = (await flow.query('SELECT run_id FROM _sluice.runs'))[0]?.['run_id'];
    flow.simulator.editRecords('items', () => records.map((item) => ({ ...item, added: true, nothing: 5 })));
    const report = await flow.sync({ force: true });
    const [second] = await showSchema(flow.settings());
    expect(first?.columns.map(({ name, type, field }) => [name, type, field])).toEqual([
      ['id', 'BIGINT', 'id'],
      ['date', 'DATE', 'date'],
      ['name', 'VARCHAR', 'name'],
      ['amount', 'BIGINT', 'amount'],
      ['topic_id', 'VARCHAR', 'topicId'],
      ['rank', 'BIGINT', 'rank'],
      ['meta__model', 'VARCHAR', 'meta.model'],
      ['meta__odd_name', 'DOUBLE', 'meta.odd "name"'],
      ['tags', 'JSON', 'tags'],
      ['nothing', 'NULL', 'nothing'],
    ]);
    expect(second?.columns.find(({ name }) => name === 'id')?.since).toBe(runId);
    expect(second?.columns.find(({ name }) => name === 'added')?.since).toBe(report.runId);
    expect(second?.columns.find(({ name }) => name === 'nothing')?.since).toBe(report.runId);
  });

  it('reports rules, companions and fields that are gone', async () => {
    const flow = await syncItems({ stream: { columns: { amount: { type: 'BIGINT' } } } }, [
      ...records,
      { ...records[0], id: 900, amount: 'n/a' },
    ]);
    flow.simulator.editRecords('items', () => records.map(({ tags: _tags, ...item }) => item));
    const report = await flow.sync({ force: true });
    const [schema] = await showSchema(flow.settings());
    const columnOf = (name: string) => schema?.columns.find((column) => column.name === name);
    expect(columnOf('amount')).toMatchObject({ rule: 'BIGINT' });
    expect(columnOf('amount__text')).toMatchObject({ companionOf: 'amount', rule: undefined });
    expect(columnOf('tags')).toMatchObject({ absentSince: report.runId });
  });
});

describe('schema export', () => {
  it('writes a contract that takes the same records, frozen', async () => {
    const flow = await syncItems();
    const { files } = await exportSchema(flow.settings(), { format: 'json-schema' });
    const text = files[0]?.text ?? '';
    expect(parseContract(text).problems).toBeUndefined();
    expect(JSON.parse(text)).toMatchObject({
      properties: {
        id: { type: 'integer' },
        rank: { type: ['integer', 'null'] },
        meta: { type: 'object', properties: { model: { type: 'string' } } },
        nothing: {},
      },
      required: ['id', 'date', 'name', 'amount', 'topicId', 'meta', 'tags'],
    });
    writeContractFile(flow, text);
    const config = { streams: { ...noBuiltIns, items: { ...stream, contract: 'freeze' as const } } };
    const report = await flow.sync({ force: true, config });
    expect(report.exitCode, streamOf(report).error?.message).toBe(0);
    expect(report.rows).toMatchObject({ unchanged: 60 });
    expect(await diffSchema(flow.settings())).toMatchObject({ differs: false });
  });

  it('lists few values only when asked to', async () => {
    const flow = await syncItems();
    const read = async (enums: boolean) => {
      const { files } = await exportSchema(flow.settings(), { format: 'json-schema', enums });
      return (JSON.parse(files[0]?.text ?? '') as { properties: Record<string, unknown> }).properties;
    };
    expect((await read(true))['topicId']).toEqual({ type: 'string', enum: ['even', 'odd'] });
    expect((await read(false))['topicId']).toEqual({ type: 'string' });
    expect((await read(true))['name']).toEqual({ type: 'string' });
  });

  it('says nothing of the type of a field that config converts, or that has a companion', async () => {
    const flow = await syncItems(
      { stream: { columns: { amount: { type: 'VARCHAR' }, rank: { type: 'BIGINT' } } } },
      [...records, { ...records[0], id: 900, rank: 'last' }],
    );
    const settings = flow.settings({
      streams: { items: { ...stream, columns: { amount: { type: 'VARCHAR' } } } },
    });
    const { files } = await exportSchema(settings, { format: 'json-schema' });
    expect(JSON.parse(files[0]?.text ?? '')).toMatchObject({ properties: { amount: {}, rank: {} } });
    const { properties } = JSON.parse(files[0]?.text ?? '') as { properties: Record<string, object> };
    expect(properties['amount']).not.toHaveProperty('type');
    expect(properties['rank']).not.toHaveProperty('type');
  });

  it('writes SQL that makes the table', async () => {
    const flow = await syncItems({ stream: { deletes: 'soft' } });
    const { files } = await exportSchema(flow.settings(), { format: 'sql' });
    const { database } = await openTempDatabase();
    await database.run(files[0]?.text ?? '');
    const list = `SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = 'items' ORDER BY column_index`;
    const made = await database.all(list);
    const published = await openPublished(flow.duckdbPath);
    expect(made).toEqual(await published.all(list));
    await published.release();
  });

  it('writes TypeScript that compiles, and dbt sources that are YAML', async () => {
    const flow = await syncItems();
    const typescript = (await exportSchema(flow.settings(), { format: 'typescript' })).files[0]?.text ?? '';
    const { diagnostics } = ts.transpileModule(typescript, {
      reportDiagnostics: true,
      compilerOptions: { strict: true },
    });
    expect(diagnostics).toEqual([]);
    expect(typescript).toContain('export interface ItemsRow {');
    expect(typescript).toMatch(/rank: number \| string \| null;/);
    const dbt = YAML.parse((await exportSchema(flow.settings(), { format: 'dbt' })).files[0]?.text ?? '') as {
      sources: {
        tables: { name: string; columns: { name: string; data_type: string; data_tests?: string[] }[] }[];
      }[];
    };
    const [table] = dbt.sources[0]?.tables ?? [];
    expect(table?.name).toBe('items');
    expect(table?.columns).toContainEqual(
      expect.objectContaining({ name: 'id', data_type: 'BIGINT', data_tests: ['unique'] }),
    );
    expect(table?.columns.find(({ name }) => name === 'rank')?.data_tests).toBeUndefined();
    expect(table?.columns.map(({ name }) => name)).toContain('_synced_at');
  });

  it('writes in TypeScript that a column of JSON has values, as a query gives them', async () => {
    const flow = createItemsFlow([{ id: 1, tags: ['a', { b: 1 }] }], { stream: { key: ['id'] } });
    await flow.sync();
    const { files } = await exportSchema(flow.settings(), { format: 'typescript' });
    expect(files[0]?.text).toMatch(/ {2}tags: unknown;/);
  });

  it('refuses a stream without a table', async () => {
    const flow = await syncItems();
    const settings = flow.settings({ streams: { items: stream, other: { path: 'other' } } });
    await expect(exportSchema(settings, { format: 'sql', streams: ['other'] })).rejects.toMatchObject({
      exitCode: 2,
    });
  });
});

describe('schema diff', () => {
  it('shows how a file and what was learned differ', async () => {
    const flow = await syncItems();
    writeContractFile(flow, {
      properties: {
        id: { type: 'string' },
        gone: {},
        date: {},
        name: {},
        amount: {},
        topicId: {},
        rank: {},
        meta: {},
        tags: {},
        nothing: {},
      },
    });
    const diff = await diffSchema(flow.settings());
    expect(diff.differs).toBe(true);
    expect(diff.streams[0]?.differences).toEqual([
      { field: 'id', kind: 'type', fileType: 'string', learnedType: 'BIGINT' },
      { field: 'gone', kind: 'not-learned', fileType: undefined, learnedType: undefined },
    ]);
  });

  it('says what changed since a run', async () => {
    const flow = await syncItems();
    await flow.clock.sleep(60_000);
    const quiet = await flow.sync({ force: true });
    await flow.clock.sleep(60_000);
    flow.simulator.editRecords('items', () =>
      records.map((item) => ({ ...item, amount: item.amount + 0.5 })),
    );
    await flow.sync({ force: true });
    const { changes } = await diffSchema(flow.settings(), { since: quiet.runId });
    expect(changes).toMatchObject([
      { column: 'amount', change: 'widened', fromType: 'BIGINT', toType: 'DOUBLE' },
    ]);
    await expect(diffSchema(flow.settings(), { since: 'nobody' })).rejects.toMatchObject({
      code: 'usage_invalid',
    });
  });
});
