import { cpSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { openLakeReader } from '../support/ducklake-reader.ts';
import { findExtensions } from '../support/lake-servers.ts';
import { createItemsFlow, makeFolder } from '../support/sync-harness.ts';
import {
  changeAtSource,
  expectEqual,
  expectRepaired,
  expectVerified,
  ITEMS,
  type LakeFlow,
  syncWell,
} from './lakehouse-suite.ts';

const stream = { key: ['id'], cursor: { field: 'date', lookback: '60d' } };

interface LakeOptions {
  readonly records?: readonly object[];
  /** The file that rows are compared with holds the state as well. */
  readonly hasFile?: boolean;
}

function createLake({ records = ITEMS, hasFile = true }: LakeOptions = {}): LakeFlow {
  const ducklake = { catalog: 'sqlite:./catalog.sqlite', data: './data', schema: 'an' };
  const destination = { ducklake, ...(hasFile && { duckdb: './warehouse.duckdb' }) };
  const engine = { extensionDirectory: findExtensions() ?? '' };
  const flow = createItemsFlow(records, {
    stream: records === ITEMS ? stream : { key: ['id'] },
    config: { destination, engine },
  });
  const open = (options?: string) => openLakeReader(`sqlite:${join(flow.folder, 'catalog.sqlite')}`, options);
  return { flow, open, schema: 'an' };
}

async function runThere({ open }: LakeFlow, statements: readonly string[]): Promise<void> {
  const writer = await open('');
  for (const statement of statements) await writer.run(statement);
  writer.close();
}

async function listFailures({ flow }: LakeFlow) {
  const { items } = await verifyState(flow.settings(), { clock: flow.clock });
  return items
    .filter(({ status }) => status === 'failed')
    .map(({ detail, fix }) => ({ detail, fix: fix ?? '' }));
}

/** Does what advice says. */
async function follow(lake: LakeFlow, advice: string): Promise<void> {
  const [, drop = ''] =
    /drop the tables of your streams in schema "an" and (DROP SCHEMA \S+ CASCADE)/.exec(advice) ?? [];
  expect(drop, advice).not.toBe('');
  await runThere(lake, [
    'DROP TABLE IF EXISTS lake.an.items',
    drop.replace('SCHEMA ', 'SCHEMA IF EXISTS lake.'),
  ]);
}

const own = 'lake._sluice_an';

describeWithServers('a DuckLake that another program changed', () => {
  it.each<[string, readonly string[]]>([
    ['whose schema was dropped', ['DROP SCHEMA lake.an CASCADE']],
    [
      'in which a view took the place of a table',
      ['DROP TABLE lake.an.items', 'CREATE VIEW lake.an.items AS SELECT 1 AS id'],
    ],
    ['whose checksums were dropped', [`DROP TABLE ${own}.lake_parts`]],
    ['whose checksums lost a column', [`ALTER TABLE ${own}.lake_parts DROP COLUMN sum`]],
    ['whose list of columns is no JSON', [`UPDATE ${own}.lake_tables SET columns = 'x'`]],
  ])('%s, is not verified, and repaired by the next sync', async (_, statements) => {
    const lake = createLake();
    await expectRepaired(lake, 'DuckLake', () => runThere(lake, statements));
  });

  it.each<[string, string, readonly string[]]>([
    ['has no row', `DELETE FROM ${own}.lake_commit`, ['has no row']],
    ['has several rows', `INSERT INTO ${own}.lake_commit FROM ${own}.lake_commit`, ['has several rows']],
    ['lacks a column', `ALTER TABLE ${own}.lake_commit DROP COLUMN hashes`, ['lacks a column']],
    [
      'is the list of tables, and was dropped',
      `DROP TABLE ${own}.lake_tables`,
      ['has a table an.items', 'lake_tables'],
    ],
    [
      'is the list of tables, and was emptied',
      `DELETE FROM ${own}.lake_tables`,
      ['has a table an.items', 'lake_tables'],
    ],
  ])(
    'is refused where what records a publish %s, and whole after what is advised',
    async (_, statement, [message = '', there = 'lake_commit']) => {
      const lake = createLake();
      await syncWell(lake.flow);
      await runThere(lake, [statement]);
      changeAtSource(lake.flow);
      await expect(lake.flow.sync({ force: true })).rejects.toMatchObject({
        exitCode: 2,
        code: 'publish_refused',
        message: expect.stringContaining(message) as string,
      });
      const [failure] = await listFailures(lake);
      expect(failure?.detail).toContain(there);
      await follow(lake, failure?.fix ?? '');
      await syncWell(lake.flow);
      await expectEqual(lake);
      await expectVerified(lake.flow, 'DuckLake');
    },
  );

  it('keeps an older work file where the state cannot be restored, and continues from it', async () => {
    const lake = createLake({ hasFile: false });
    await syncWell(lake.flow);
    const { stateDir } = lake.flow.settings();
    const file = join(stateDir, 'work.duckdb');
    cpSync(file, join(lake.flow.folder, 'older'));
    changeAtSource(lake.flow);
    await syncWell(lake.flow);
    cpSync(join(lake.flow.folder, 'older'), file);
    await runThere(lake, ['DELETE FROM lake.an.items WHERE id % 7 = 0']);
    const refusal = (await lake.flow.sync({ force: true }).catch((error: unknown) => error)) as {
      hint: string;
    };
    expect(refusal.hint).toContain('Nothing was deleted.');
    expect(existsSync(file)).toBe(true);
    expect(readdirSync(stateDir).filter((name) => /damaged|restored/.test(name))).toEqual([]);
    await follow(lake, refusal.hint);
    await syncWell(lake.flow);
    const reader = await lake.open();
    expect(await reader.values('SELECT sum(amount) AS value FROM lake.an.items')).toEqual([
      ITEMS.reduce((sum, { amount }) => sum + amount + 1, 0),
    ]);
    reader.close();
    await expectVerified(lake.flow, 'DuckLake');
  });

  it('has right statistics where columns were renamed and repaired since', async () => {
    const lake = createLake();
    await syncWell(lake.flow);
    const swaps = [
      ['amount', 'x'],
      ['id', 'amount'],
      ['x', 'id'],
    ];
    await runThere(
      lake,
      swaps.map(([from = '', to = '']) => `ALTER TABLE lake.an.items RENAME COLUMN "${from}" TO "${to}"`),
    );
    changeAtSource(lake.flow);
    await syncWell(lake.flow);
    await expectEqual(lake);
    await expectVerified(lake.flow, 'DuckLake');
  });

  it('says what to do about a file that was added from another folder', async () => {
    const lake = createLake({ records: ITEMS.map(({ id, amount }) => ({ id, amount })) });
    await syncWell(lake.flow);
    const file = join(makeFolder(), 'foreign.parquet');
    await runThere(lake, [
      `COPY (SELECT * FROM lake.an.items LIMIT 1) TO '${file}'`,
      `CALL ducklake_add_data_files('lake', 'items', '${file}', schema => 'an')`,
    ]);
    const { exitCode, error } = await lake.flow.sync({ force: true });
    expect(exitCode).toBe(6);
    expect(error?.message).toContain('another program added a file outside of its data folder');
    await follow(lake, error?.hint ?? '');
    await syncWell(lake.flow);
    await expectEqual(lake);
    await expectVerified(lake.flow, 'DuckLake');
  });
});
