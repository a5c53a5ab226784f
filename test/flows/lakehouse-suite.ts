import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { readStatus } from '../../src/commands/status.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { COMPARE_FIX } from '../../src/publish/published-file.ts';
import type { RunReport } from '../../src/model/run-report.ts';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { planOffline } from '../../src/commands/plan/plan.ts';
import { Database } from '../../src/warehouse/database.ts';
import { quoteIdentifier, quoteLiteral } from '../../src/warehouse/identifiers.ts';
import type { LakeReader } from '../support/ducklake-reader.ts';
import { createFleetLeases } from '../support/fleet-leases.ts';
import { createRandom, hasTurn } from '../support/seeds.ts';
import type { createItemsFlow } from '../support/sync-harness.ts';
import {
  DAY_MS,
  type Flow,
  makeItem,
  makeFolder,
  makeItems,
  type RunOptions,
  streamOf,
} from '../support/sync-harness.ts';

export const ITEMS = makeItems(50, { perDay: 10 });

/** A project that publishes to a lakehouse and a file, and a way for others to open the first as `lake`. */
export interface LakeFlow {
  readonly flow: Flow;
  /** The schema of its tables; that of the state is `_sluice`, with this name behind it unless that is `main`. */
  readonly schema: string;
  readonly open: (options?: string) => Promise<LakeReader>;
}

type FlowParts = NonNullable<Parameters<typeof createItemsFlow>[1]>;
type Records = Parameters<typeof createItemsFlow>[0];

/** Where lakehouses of a kind are made. */
export interface Site {
  /** As `verify` calls it. */
  readonly title: 'DuckLake' | 'Iceberg' | 'Postgres' | 'MotherDuck';
  /** How many days of drift are followed. */
  readonly days: number;
  /** What a statement ends with that drops a table, or a column, below a view. */
  readonly withViews?: string;
  /** Makes a flow with a lakehouse of its own. */
  create(records: Records, parts?: FlowParts): Promise<LakeFlow>;
}

export const setRecords = (flow: Flow, records: readonly object[]) =>
  flow.simulator.editRecords('items', () => records);

export async function syncWell(flow: Flow, options: RunOptions = {}): Promise<RunReport> {
  const report = await flow.sync({ force: true, ...options });
  expect(report.error?.message).toBeUndefined();
  expect(report.exitCode).toBe(0);
  expect(report.warnings.filter((text) => text.includes('maintained'))).toEqual([]);
  return report;
}

/** Every table of the lake has exactly the rows of the published file, of the same values. */
export async function expectEqual({
  flow,
  open,
  schema,
}: Pick<LakeFlow, 'open' | 'schema'> & { readonly flow: Pick<Flow, 'duckdbPath'> }): Promise<void> {
  const reader = await open();
  try {
    await reader.run(`ATTACH ${quoteLiteral(flow.duckdbPath)} AS file (READ_ONLY)`);
    const tables = await reader.rows(
      `SELECT schema_name AS stored, table_name AS name, list(column_name ORDER BY column_index)::VARCHAR[] AS columns
         FROM duckdb_columns() SEMI JOIN duckdb_tables() USING (database_name, schema_name, table_name)
         WHERE database_name = 'file' AND schema_name IN ('main', '_sluice') GROUP BY ALL`,
    );
    expect(tables.length).toBeGreaterThan(5);
    for (const { stored, name, columns } of tables) {
      const table = `${quoteIdentifier(String(stored))}.${quoteIdentifier(String(name))}`;
      const there = stored === 'main' ? schema : schema === 'main' ? '_sluice' : `_sluice_${schema}`;
      const held = `${quoteIdentifier(there)}.${quoteIdentifier(String(name))}`;
      const list = (columns as readonly string[]).map(quoteIdentifier).join(', ');
      const [mine, theirs] = [`SELECT ${list} FROM file.${table}`, `SELECT ${list} FROM lake.${held}`];
      const [row] = await reader.rows(
        `SELECT (SELECT count(*) FROM (${mine} EXCEPT ALL ${theirs})) AS missing,
           (SELECT count(*) FROM (${theirs} EXCEPT ALL ${mine})) AS extra`,
      );
      expect({ table, ...row }).toEqual({ table, missing: 0n, extra: 0n });
    }
  } finally {
    reader.close();
  }
}

export async function expectVerified(flow: Flow, title: string): Promise<void> {
  const { ok, items } = await verifyState(flow.settings(), { clock: flow.clock });
  expect(items.filter(({ status }) => status === 'failed')).toEqual([]);
  expect(ok).toBe(true);
  expect(items).toContainEqual(expect.objectContaining({ name: title, status: 'ok' }));
}

/** Each of the items has another amount from now on. */
export function changeAtSource(flow: Flow): void {
  setRecords(
    flow,
    ITEMS.map((item) => ({ ...item, amount: item.amount + 1 })),
  );
}

/** What another program damages is verified before and not after, and whole after the next sync. */
export async function expectRepaired(
  lake: LakeFlow,
  title: string,
  damage: () => Promise<unknown>,
): Promise<void> {
  await syncWell(lake.flow);
  await expectVerified(lake.flow, title);
  await damage();
  const { ok } = await verifyState(lake.flow.settings(), { clock: lake.flow.clock });
  expect(ok).toBe(false);
  changeAtSource(lake.flow);
  await syncWell(lake.flow);
  await expectEqual(lake);
  await expectVerified(lake.flow, title);
}

const stream = { key: ['id'], cursor: { field: 'date' } };
const all = { key: ['id'], cursor: { field: 'date', lookback: '60d' } };

/** What every lakehouse has to keep. */
export function describeLakehouse(name: string, place: number, getSite: () => Site): void {
  describeRows(name, getSite);
  describeRepairs(name, place, getSite);
}

/** Whatever comes, its tables have the rows of the published file. */
export function describeRows(name: string, getSite: () => Site): void {
  describe(name, () => {
    it('has the rows of every table, and is verified by value', async () => {
      const site = getSite();
      const lake = await site.create(ITEMS, { stream });
      const report = await syncWell(lake.flow);
      expect(report.published?.bytes).toBeGreaterThan(0);
      await expectEqual(lake);
      await expectVerified(lake.flow, site.title);
      const { elsewhere } = await readStatus(lake.flow.settings(), lake.flow.clock.now());
      const destination = expect.stringContaining(`(${site.title})`) as string;
      expect(elsewhere).toEqual([{ destination, publishedAt: report.finishedAt }]);
    });

    it('follows weeks of new, restated and deleted rows, equal by value', async () => {
      const random = createRandom();
      let records: readonly object[] = ITEMS;
      const site = getSite();
      const lake = await site.create(ITEMS, {
        stream: { ...all, history: true, deletes: 'hard' },
        config: { defaults: { maxDeleteRatio: 1 } },
      });
      for (let day = 0; day < site.days; day += 1) {
        await syncWell(lake.flow);
        if (day % 5 === 0 || day === site.days - 1) await expectEqual(lake);
        records = change(records, random, day);
        setRecords(lake.flow, records);
        await lake.flow.clock.sleep(DAY_MS);
      }
      await expectVerified(lake.flow, site.title);
    });

    it('follows new columns and retyped ones, and keeps large numbers exact', async () => {
      const site = getSite();
      const lake = await site.create(ITEMS, { stream: all });
      await syncWell(lake.flow);
      setRecords(
        lake.flow,
        ITEMS.map((item) => ({ ...item, added: `${item.name}!` })),
      );
      await syncWell(lake.flow);
      await expectEqual(lake);
      const huge = ['9007199254740993', '170141183460469231731687303715884105727'];
      for (const text of huge) {
        setRecords(
          lake.flow,
          ITEMS.map((item, at) => ({ ...item, amount: at === 3 ? rawJson(text) : item.amount })),
        );
        await syncWell(lake.flow);
        const reader = await lake.open();
        const [row] = await reader.rows(
          `SELECT amount::VARCHAR AS amount FROM lake.${lake.schema}.items WHERE id = 3`,
        );
        reader.close();
        expect(row).toEqual({ amount: text });
        await expectVerified(lake.flow, site.title);
      }
      setRecords(
        lake.flow,
        ITEMS.map((item) => ({ ...item, amount: `${item.amount} EUR` })),
      );
      await syncWell(lake.flow);
      await expectEqual(lake);
    });

    it('follows a column whose type changes, also where both types are stored as text', async () => {
      const site = getSite();
      const huge = rawJson('170141183460469231731687303715884105727');
      const records = ITEMS.map((item, at) => ({ ...item, code: at === 3 ? huge : `code ${at}` }));
      const lake = await site.create(records, { stream: all });
      await syncWell(lake.flow);
      for (const type of ['JSON', 'VARCHAR', 'HUGEINT', 'JSON', 'HUGEINT', 'VARCHAR'] as const) {
        const items = { path: 'items', paginated: true, ...all, columns: { code: { type } } };
        await syncWell(lake.flow, { config: { streams: { items } } });
        await expectEqual(lake);
      }
      await expectVerified(lake.flow, site.title);
    });
  });
}

/**
 * So they have after others changed them, a machine was lost, or a publish was killed. All kinds share what this tries, and it
 * takes minutes: each proof tries it at every second place.
 */
export function describeRepairs(name: string, place: number, getSite: () => Site): void {
  if (!hasTurn(place)) return;
  describe(`${name}, after damage`, () => {
    it('has no old row where a table is divided by another column than before', async () => {
      const site = getSite();
      const later = (date: string) => new Date(Date.parse(date) + 40 * DAY_MS).toISOString().slice(0, 10);
      const records = ITEMS.map((item) => ({ ...item, other: later(item.date) }));
      const given = { path: 'items', paginated: true, key: ['id'], deletes: 'hard' } as const;
      const config = { defaults: { maxDeleteRatio: 1 } };
      const lake = await site.create(records, { stream: { ...given, cursor: false }, config });
      await syncWell(lake.flow);
      const [first, second] = [...new Set(records.map(({ date }) => date))];
      const left = records.filter(({ date }) => date !== first);
      const moved = left.map((item) => (item.date === second ? { ...item, other: later(item.other) } : item));
      const steps = [
        // Rows of a day that neither side has by the new column are gone.
        ['date', left],
        ['other', moved],
        ['date', moved.filter(({ date }) => date !== second)],
        [false, moved.slice(0, 3)],
      ] as const;
      for (const [field, rows] of steps) {
        setRecords(lake.flow, rows);
        const items = { ...given, cursor: field === false ? field : { field } };
        await syncWell(lake.flow, { config: { ...config, streams: { items } }, fullRefresh: true });
        await expectEqual(lake);
        await expectVerified(lake.flow, site.title);
      }
    });

    it('commits nothing where rows stay that have to go, unless comparing all rows removes them', async () => {
      const site = getSite();
      const lake = await site.create(ITEMS, { stream: all });
      await syncWell(lake.flow);
      const real = Reflect.get<Database, 'count'>(Database.prototype, 'count');
      /** An engine that finds no row to delete, so often. */
      const loseDeletes = (times: number) => {
        let left = times;
        return vi.spyOn(Database.prototype, 'count').mockImplementation(function (this: Database, ...given) {
          const isLost = /^DELETE FROM .*items/.test(given[0]) && (left -= 1) >= 0;
          return isLost ? Promise.resolve(0) : real.apply(this, given);
        });
      };
      const restate = (amount: number) =>
        setRecords(
          lake.flow,
          ITEMS.map((item) => ({ ...item, amount })),
        );
      for (const [times, exitCode] of [
        [1, 0],
        [Infinity, 6],
      ] as const) {
        restate(exitCode);
        const spy = loseDeletes(times);
        const report = await lake.flow.sync({ force: true }).finally(() => spy.mockRestore());
        expect(report).toMatchObject({ exitCode });
        if (exitCode === 6)
          expect(report.error).toMatchObject({
            message: expect.stringContaining(
              `${lake.schema}.items would have 100 rows, and 50 were synced`,
            ) as string,
          });
        const reader = await lake.open();
        const rows = await reader.rows(`SELECT count(*)::INTEGER AS n FROM lake.${lake.schema}.items`);
        reader.close();
        expect(rows).toEqual([{ n: 50 }]);
      }
      await syncWell(lake.flow);
      await expectEqual(lake);
      await expectVerified(lake.flow, site.title);
    });

    it('counts equal rows of a table without a key', async () => {
      const site = getSite();
      const lake = await site.create([...ITEMS, ...ITEMS.slice(0, 5)], {
        stream: { cursor: false, deletes: 'hard' },
      });
      await syncWell(lake.flow);
      await expectEqual(lake);
      setRecords(lake.flow, [...ITEMS, ...ITEMS.slice(0, 2), ...ITEMS.slice(0, 2)]);
      await syncWell(lake.flow);
      await expectEqual(lake);
    });

    it('gives a container without a disk its state back, which goes on with what is new', async () => {
      const site = getSite();
      const lake = await site.create(ITEMS, { stream });
      await syncWell(lake.flow);
      rmSync(lake.flow.stateDir, { recursive: true });
      rmSync(lake.flow.duckdbPath);
      const { notes } = await planOffline(lake.flow.settings(), { clock: lake.flow.clock });
      expect(notes).toEqual([
        expect.stringMatching(/^There is no state here: the next sync restores it from/),
      ]);
      setRecords(lake.flow, [...ITEMS, ...makeItems(10, { perDay: 10, from: 50 })]);
      const report = await syncWell(lake.flow);
      expect(streamOf(report).mode).toBe('incremental');
      expect(report.warnings).toEqual([]);
      await expectEqual(lake);
      await expectVerified(lake.flow, site.title);
    });

    it.each([
      ['an earlier state', true],
      ['no state', false],
    ])('has more than the machine that takes over, with %s', async (_, hasState) => {
      const leases = createFleetLeases();
      const takeLock = () => leases.take();
      const site = getSite();
      const lake = await site.create(ITEMS, { stream });
      const { stateDir, duckdbPath } = lake.flow;
      await syncWell(lake.flow, { takeLock });
      const kept = makeFolder();
      cpSync(stateDir, join(kept, 'state'), { recursive: true });
      cpSync(duckdbPath, join(kept, 'file'));
      setRecords(lake.flow, [...ITEMS, ...makeItems(10, { perDay: 10, from: 50 })]);
      await syncWell(lake.flow, { takeLock });
      // It died before it published the file, and before its state was put away.
      rmSync(stateDir, { recursive: true });
      if (hasState) cpSync(join(kept, 'state'), stateDir, { recursive: true });
      cpSync(join(kept, 'file'), duckdbPath);
      leases.end();
      await syncWell(lake.flow, { takeLock });
      await expectEqual(lake);
      await expectVerified(lake.flow, site.title);
    });

    it.each([
      ['verify says so', true],
      ['nothing does', false],
    ])('repairs rows that another program changed with the next sync, if %s', async (_, verifies) => {
      const site = getSite();
      const lake = await site.create(ITEMS, { stream });
      await syncWell(lake.flow);
      const writer = await lake.open('');
      await writer.run(`UPDATE lake.${lake.schema}.items SET amount = -1 WHERE id < 20`);
      await writer.run(`DELETE FROM lake.${lake.schema}.items WHERE id > 40`);
      await writer.run(`INSERT INTO lake.${lake.schema}.items (id, date) VALUES (1000, DATE '1999-01-01')`);
      writer.close();
      if (verifies) {
        const { ok, items } = await verifyState(lake.flow.settings(), { clock: lake.flow.clock });
        expect(ok).toBe(false);
        const detail = expect.stringContaining(`${lake.schema}.items differ`) as string;
        expect(items).toContainEqual(
          expect.objectContaining({ name: site.title, status: 'failed', detail, fix: COMPARE_FIX }),
        );
      }
      await syncWell(lake.flow);
      await expectEqual(lake);
      await expectVerified(lake.flow, site.title);
    });

    it.each([
      ['altered', 'ALTER TABLE items DROP COLUMN amount'],
      ['gone', 'DROP TABLE items'],
    ])('makes a table again that is %s', async (found, sql) => {
      const site = getSite();
      const lake = await site.create(ITEMS, { stream });
      await syncWell(lake.flow);
      const writer = await lake.open('');
      await writer.run(`${sql.replace('items', `lake.${lake.schema}.items`)}${site.withViews ?? ''}`);
      writer.close();
      const { items } = await verifyState(lake.flow.settings(), { clock: lake.flow.clock });
      const detail = `another program changed what was published: ${lake.schema}.items is ${found}`;
      expect(items).toContainEqual(expect.objectContaining({ status: 'failed', detail }));
      await syncWell(lake.flow);
      await expectEqual(lake);
      await expectVerified(lake.flow, site.title);
    });

    it('repairs a table whose new columns were recorded before a kill kept them from being added', async () => {
      const site = getSite();
      const lake = await site.create(ITEMS, { stream });
      await syncWell(lake.flow);
      const state = lake.schema === 'main' ? '_sluice' : `_sluice_${lake.schema}`;
      const column = '{"name": "extra", "type": "VARCHAR", "storedAs": "VARCHAR"}';
      const writer = await lake.open('');
      await writer.run(
        `UPDATE lake.${state}.lake_tables SET columns = rtrim(columns, ']') || ',${column}]' WHERE name = 'main.items'`,
      );
      writer.close();
      setRecords(
        lake.flow,
        makeItems(60, { perDay: 10 }).map((item) => ({ ...item, extra: 'new' })),
      );
      await syncWell(lake.flow);
      await expectEqual(lake);
      await expectVerified(lake.flow, site.title);
    });

    it('makes the tables of its state again when another program altered one', async () => {
      const site = getSite();
      const lake = await site.create(ITEMS, { stream });
      await syncWell(lake.flow);
      const state = lake.schema === 'main' ? '_sluice' : `_sluice_${lake.schema}`;
      const writer = await lake.open('');
      await writer.run(`ALTER TABLE lake.${state}.runs DROP COLUMN retries`);
      writer.close();
      // What is published is an older commit than that of the state folder: the commits of both are compared.
      await syncWell(lake.flow, { config: { destination: { duckdb: './warehouse.duckdb' } } });
      setRecords(lake.flow, [...ITEMS, ...makeItems(10, { perDay: 10, from: 50 })]);
      await syncWell(lake.flow);
      await expectEqual(lake);
      await expectVerified(lake.flow, site.title);
    });

    it('leaves the tables of others alone', async () => {
      const site = getSite();
      const lake = await site.create(ITEMS, { stream });
      await syncWell(lake.flow);
      const writer = await lake.open('');
      await writer.run(`CREATE TABLE lake.${lake.schema}.theirs AS SELECT 42 AS answer`);
      writer.close();
      await syncWell(lake.flow);
      const reader = await lake.open();
      expect(await reader.rows(`FROM lake.${lake.schema}.theirs`)).toEqual([{ answer: 42 }]);
      reader.close();
    });
  });
}

/** Some rows change, some go, some come. */
export function change(records: readonly object[], random: () => number, day: number): readonly object[] {
  const kept = records.filter(() => random() > 0.03);
  const restated = kept.map((record) =>
    random() < 0.1 ? { ...record, amount: Math.floor(random() * 1e6) } : record,
  );
  return [...restated, ...Array.from({ length: 5 }, (_, at) => makeItem(1_000 + day * 5 + at, 10))];
}
