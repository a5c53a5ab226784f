import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gatherDictionary } from '../../src/commands/docs/gather-dictionary.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { Database } from '../../src/warehouse/database.ts';
import { writeContractFile } from '../support/contract-flow.ts';
import { queryCopy } from '../support/published.ts';
import { createItemsFlow, type Flow, HOUR_MS, makeItems } from '../support/sync-harness.ts';

/** All comments of a file's `main`, by table, or by table and column. */
async function readAll(file: string): Promise<Readonly<Record<string, string>>> {
  const { rows } = await queryCopy(
    file,
    `SELECT table_name AS name, comment FROM duckdb_tables() WHERE schema_name = 'main'
       UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal
       UNION ALL SELECT table_name || '.' || column_name, comment FROM duckdb_columns() WHERE schema_name = 'main' AND NOT internal
       ORDER BY ALL`,
  );
  return Object.fromEntries(rows.map(({ name, comment }) => [String(name), String(comment)]));
}

async function change(flow: Flow, ...statements: readonly string[]): Promise<void> {
  const database = await Database.open({ file: join(flow.stateDir, 'work.duckdb'), folders: [] });
  for (const statement of statements) await database.run(statement);
  await database.checkpoint();
  await database.release();
}

const CONTRACT = {
  type: 'object',
  description: 'Items as the shop sells them.',
  properties: {
    id: { type: 'integer' },
    amount: { $ref: '#/$defs/money', description: "What the item's sale brought" },
    meta: { properties: { model: { description: 'The model that\nwas asked' } } },
  },
  additionalProperties: true,
  $defs: { money: { type: 'number', unit: 'EUR', description: 'An amount' } },
};

describe('the data dictionary of a file', () => {
  it('says of each column whether some rows have no value', async () => {
    const flow = createItemsFlow(makeItems(10).map((item, at) => ({ ...item, amount: at > 3 ? at : null })));
    await flow.sync();
    const { tables } = await gatherDictionary(flow.settings());
    const columns = tables.flatMap((table) => table.columns);
    expect(columns.filter(({ hasNulls }) => hasNulls === true).map(({ name }) => name)).toEqual(['amount']);
    expect(columns.filter(({ hasNulls }) => hasNulls === undefined)).toEqual([]);
  });
});

describe('comments of tables and columns', () => {
  it('say where values come from, what they are, and what the contract file says about them', async () => {
    const items = makeItems(60).map((item, at) => ({
      ...item,
      amount: at % 2 === 0 ? item.amount : null,
      meta: { model: 'gpt' },
    }));
    const flow = createItemsFlow(items);
    writeContractFile(flow, CONTRACT);
    expect((await flow.sync()).exitCode).toBe(0);
    expect(await readAll(flow.duckdbPath)).toEqual({
      items: expect.stringMatching(
        /^Items as the shop sells them\. Stream items of analytics-read \(items\)\. One row per date, id; the key was learned from the data, not proved yet\. The whole stream was read and verified on 2026-01-31 12:00 UTC; .* \[sluice\]$/,
      ) as unknown,
      'items._run_id': 'The run that last changed the row, as in _sluice.runs. [sluice]',
      'items._synced_at': expect.stringContaining('When that run changed the row') as unknown,
      'items.amount':
        "What the item's sale brought. Unit: EUR. Field amount. BIGINT: all values were whole numbers; some rows have none. [sluice]",
      'items.date': 'Field date. DATE: all values were dates; every row has one; part of the key. [sluice]',
      'items.id':
        'Field id. BIGINT: all values were whole numbers; every row has one; part of the key. [sluice]',
      'items.meta__model':
        'The model that was asked. Field meta.model. VARCHAR: all values were text; every row has one. [sluice]',
      'items.name': 'Field name. VARCHAR: all values were text; every row has one. [sluice]',
    });
    expect((await verifyState(flow.settings())).ok).toBe(true);
  });

  it('stay as they are while nothing about a column changes, and come back where they are gone', async () => {
    const flow = createItemsFlow(makeItems(40), { stream: { history: true } });
    await flow.sync();
    const first = await readAll(flow.duckdbPath);
    expect(first['items_history.name']).toBe('As in items. [sluice]');
    flow.clock.stepWall(HOUR_MS);
    await change(flow, "COMMENT ON COLUMN items.name IS 'Mine'", 'COMMENT ON COLUMN items.date IS NULL');
    await flow.sync({ fullRefresh: true, force: true });
    const second = await readAll(flow.duckdbPath);
    // Only the time of the last whole scan moved.
    expect(second).toEqual({
      ...first,
      items: first['items']?.replace('12:00 UTC', '13:00 UTC'),
      'items.name': 'Mine',
    });
  });

  it('take text of the API as data, bounded and on one line', async () => {
    const field = `it's\n"a"; DROP TABLE items; --\u202e ${'x'.repeat(300)}`;
    const flow = createItemsFlow(makeItems(20).map((item) => ({ ...item, [field]: 1 })));
    expect((await flow.sync()).exitCode).toBe(0);
    const all = await readAll(flow.duckdbPath);
    const text = Object.values(all).find((comment) => comment.includes('DROP TABLE')) ?? '';
    expect(text).toMatch(/^Field it's "a"; DROP TABLE items; -- x+… BIGINT: /);
    expect(text.length).toBeLessThan(300);
  });

  it('are in the views of a lake, and come back with a state that is restored from it', async () => {
    const flow = createItemsFlow(makeItems(40), { config: { destination: { parquet: './lake' } } });
    await flow.sync();
    const catalog = join(flow.folder, 'lake', 'lake.duckdb');
    const first = await readAll(catalog);
    expect(first['items.id']).toContain('Field id.');
    rmSync(flow.stateDir, { recursive: true });
    expect((await flow.sync()).exitCode).toBe(0);
    expect(await readAll(join(flow.stateDir, 'work.duckdb'))).toEqual(first);
  });
});
