import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, describe, expect, it } from 'vitest';
import { listStateColumns } from '../../state/migrations.ts';
import { LockedError, StorageError } from '../../src/model/errors.ts';
import { expectRows } from '../support/published.ts';
import { type Reader, startReader } from '../support/start-reader.ts';
import {
  createItemsFlow,
  eventsOf,
  type Flow,
  HOUR_MS,
  makeItem,
  makeItems,
  streamOf,
} from '../support/sync-harness.ts';

const ITEMS = makeItems(120);
const workFile = (flow: Flow) => join(flow.stateDir, 'work.duckdb');

const readers: Reader[] = [];
afterEach(async () => {
  await Promise.all(readers.splice(0).map((reader) => reader.close()));
});

async function createSynced(): Promise<Flow> {
  const flow = createItemsFlow(ITEMS, { stream: { cursor: false } });
  expect((await flow.sync()).exitCode).toBe(0);
  return flow;
}

async function runIn(file: string, ...statements: readonly string[]): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  for (const sql of statements) await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

/** What makes a file of this version one of an earlier version, as a build of that time left it. */
function listDowngrades(version: number): readonly string[] {
  const earlier = listStateColumns(version);
  const added = [...listStateColumns()].flatMap(([table, columns]) => {
    const kept = earlier.get(table)?.length;
    if (kept === undefined) return [`DROP TABLE _sluice.${table}`];
    return columns.slice(kept).map((column) => `ALTER TABLE _sluice.${table} DROP COLUMN ${column}`);
  });
  return [...added, `UPDATE _sluice.meta SET value = '${version}' WHERE key = 'schema_version'`];
}

describe('a work file', () => {
  it('of a newer Sluice is refused with 6 before any request, and untouched', async () => {
    const flow = await createSynced();
    await runIn(workFile(flow), `UPDATE _sluice.meta SET value = '99' WHERE key = 'schema_version'`);
    const before = readFileSync(workFile(flow));
    const failure = await flow.sync({ force: true }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StorageError);
    expect(failure).toMatchObject({ exitCode: 6, code: 'state_damaged' });
    expect((failure as StorageError).hint).toMatch(/Upgrade/);
    expect(flow.arrivals).toEqual([]);
    expect(readFileSync(workFile(flow)).equals(before)).toBe(true);
  });

  it.each([1, 2, 3])(
    'of state version %i is brought up to date in the middle of a backfill, which continues',
    async (version) => {
      const flow = await createSynced();
      await flow.clock.sleep(HOUR_MS);
      expect((await flow.sync({ fullRefresh: true, maxRequests: 1 })).exitCode).toBe(75);
      await runIn(workFile(flow), ...listDowngrades(version));
      const report = await flow.sync({ fullRefresh: true });
      expect(report).toMatchObject({ exitCode: 0, rows: { inserted: 0, unchanged: 120 } });
      expect(eventsOf(flow, 'stream-resumed')).toHaveLength(1);
      expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
    },
  );

  it.each([
    ['with a column of another program', 'ALTER TABLE _sluice.checkpoints ADD COLUMN mine VARCHAR'],
    ['without a table of its state', 'DROP TABLE _sluice.stream_runs'],
    ['whose watermark is no date', `UPDATE _sluice.checkpoints SET watermark = 'soon'`],
    ['whose key is no list', `UPDATE _sluice.checkpoints SET key_fields = '{"a":1}'`],
    ['whose learned paths are none', `UPDATE _sluice.contracts SET path = '{}'`],
    ['whose table somebody dropped', 'DROP TABLE main.items'],
    ['whose table has lost a column', 'ALTER TABLE main.items DROP COLUMN amount'],
  ])('%s is refused with 6 before any request, and restored once it is moved aside', async (_, sql) => {
    const flow = await createSynced();
    await runIn(workFile(flow), sql);
    const before = readFileSync(workFile(flow));
    const failure = await flow.sync({ force: true }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ exitCode: 6, code: 'state_damaged' });
    expect((failure as StorageError).message).toMatch(/was changed by another program/);
    expect((failure as StorageError).hint).toMatch(/Move it aside/);
    expect(flow.arrivals).toEqual([]);
    expect(readFileSync(workFile(flow)).equals(before)).toBe(true);

    renameSync(workFile(flow), join(flow.folder, 'aside.duckdb'));
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect(await flow.sync({ force: true })).toMatchObject({ exitCode: 0, rows: { unchanged: 120 } });
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
  });

  it('that was lost without its log is restored without that log', async () => {
    const flow = await createSynced();
    writeFileSync(`${workFile(flow)}.wal`, 'the log of a file that is gone');
    rmSync(workFile(flow));
    expect(await flow.sync({ force: true })).toMatchObject({ exitCode: 0 });
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
  });

  it('that is open in another program ends with 75 and names it, before any request', async () => {
    const flow = await createSynced();
    const reader = await startReader(workFile(flow), 'READ_WRITE');
    readers.push(reader);
    const failure = await flow.sync({ force: true }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LockedError);
    expect(failure).toMatchObject({ exitCode: 75, code: 'state_locked' });
    expect((failure as Error).message).toMatch(/PID \d+/);
    expect(flow.arrivals).toEqual([]);
  });

  it('that an older copy took the place of is brought up to date, and readers with it', async () => {
    const flow = await createSynced();
    const older = join(flow.folder, 'older.duckdb');
    copyFileSync(workFile(flow), older);
    flow.simulator.editRecords('items', (records) => [...records, makeItem(500)]);
    await flow.sync({ force: true });
    copyFileSync(older, workFile(flow));
    // What the newer one knew must not be lost for streams that are not asked for again.
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, requests: 0 });
    expect(report.warnings).toEqual([
      expect.stringMatching(/is older than what is published in .+ the state is restored from /),
    ]);
    expect(await flow.rows('items')).toHaveLength(121);
    expect(await flow.sync({ force: true })).toMatchObject({ warnings: [], rows: { unchanged: 121 } });
  });
});

describe('a published file that a program holds for writing while the state folder is lost', () => {
  it('ends with 75 before any request, and the next run restores it', async () => {
    const flow = await createSynced();
    const reader = await startReader(flow.duckdbPath, 'READ_WRITE');
    readers.push(reader);
    rmSync(flow.stateDir, { recursive: true });
    const failure = await flow.sync().catch((error: unknown) => error);
    expect(failure).toMatchObject({ exitCode: 75, code: 'state_locked' });
    expect(flow.arrivals).toEqual([]);
    await reader.close();
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
  });
});

describe('small files of a state folder', () => {
  it('lock.json names the run that holds the folder, and only while it does', async () => {
    const flow = await createSynced();
    const file = join(flow.stateDir, 'lock.json');
    expect(existsSync(file)).toBe(false);
    writeFileSync(file, 'garbage');
    expect((await flow.sync({ force: true })).exitCode).toBe(0);
    expect(existsSync(file)).toBe(false);
  });

  it.each(['published.json', 'runs.json', 'lock.sqlite'])(
    '%s may be lost or damaged: the next run continues',
    async (name) => {
      const flow = await createSynced();
      const file = join(flow.stateDir, name);
      expect(existsSync(file)).toBe(true);
      for (const content of [undefined, '', '{"version":1,"runs":[{}]}']) {
        if (content === undefined) rmSync(file);
        else if (name !== 'lock.sqlite') writeFileSync(file, content);
        const report = await flow.sync({ force: true });
        expect(report.error, `${name}: ${content}`).toBeUndefined();
        expect(report.exitCode).toBe(0);
      }
      expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
    },
  );

  it('staged pages that are damaged are asked for again', async () => {
    for (const damage of [
      (folder: string) => writeFileSync(join(folder, 'scan.json'), '{'),
      (folder: string) => writeFileSync(join(folder, 'pages.ndjson'), 'no json\n'),
      (folder: string) => writeFileSync(join(folder, 'records.ndjson'), ''),
      (folder: string) => rmSync(join(folder, 'records.ndjson')),
    ]) {
      const flow = createItemsFlow(makeItems(400));
      expect((await flow.sync({ maxRequests: 3 })).exitCode).toBe(75);
      damage(join(flow.stateDir, 'stage', 'items'));
      const report = await flow.sync();
      expect(report.exitCode, report.streams[0]?.error?.message).toBe(0);
      expect(streamOf(report)).toMatchObject({ verdict: 'verified', rowsInTable: 400 });
      expect(await flow.rows('items')).toEqual(expectRows(makeItems(400)));
    }
  });

  it('staged pages with a tail that no index names are cut to whole pages', async () => {
    const flow = createItemsFlow(makeItems(400));
    expect((await flow.sync({ maxRequests: 3 })).exitCode).toBe(75);
    const folder = join(flow.stateDir, 'stage', 'items');
    writeFileSync(join(folder, 'records.ndjson'), '999p{"id":7', { flag: 'a' });
    writeFileSync(join(folder, 'pages.ndjson'), '{"offset":29', { flag: 'a' });
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, requests: 6 - 3 + 1 });
    expect(await flow.rows('items')).toEqual(expectRows(makeItems(400)));
  });
});
