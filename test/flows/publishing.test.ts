import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, describe, expect, it } from 'vitest';
import { PublishError } from '../../src/model/errors.ts';
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
const COUNT = 'SELECT count(*) FROM main.items';
const full = { cursor: false } as const;

const readers: Reader[] = [];
afterEach(async () => {
  await Promise.all(readers.splice(0).map((reader) => reader.close()));
});

async function openReader(...args: Parameters<typeof startReader>): Promise<Reader> {
  const reader = await startReader(...args);
  readers.push(reader);
  return reader;
}

/** One row more at the source, and a sync. */
async function grow(flow: Flow) {
  const id = 1_000 + flow.simulator.arrivals.requests;
  flow.simulator.editRecords('items', (records) => [...records, makeItem(id)]);
  const report = await flow.sync({ force: true });
  expect(report.exitCode, report.error?.message).toBe(0);
  return report;
}

describe('a reader that has the published file open', () => {
  it.each(['READ_ONLY', 'READ_WRITE'] as const)(
    '%s blocks no sync, is blocked by none, and keeps what it saw; a new one sees the new rows',
    async (mode) => {
      const flow = createItemsFlow(ITEMS, { stream: full });
      await flow.sync();
      const reader = await openReader(flow.duckdbPath, mode);
      expect((await reader.ask({ task: 'query', sql: COUNT })).values).toEqual(['120']);
      // What a program writes into its copy, and into the log next to it, is its own affair.
      const scribble = await reader.ask({ task: 'query', sql: 'CREATE TABLE mine AS SELECT 42 AS answer' });
      expect(scribble.errors.length).toBe(mode === 'READ_ONLY' ? 1 : 0);
      const during: Promise<unknown>[] = [];
      flow.simulator.editRecords('items', (records) => [...records, makeItem(500)]);
      const report = await flow.sync({
        force: true,
        onProgress: ({ type }) => {
          if (type === 'publishing') during.push(reader.ask({ task: 'query', sql: COUNT }));
        },
      });
      expect(report).toMatchObject({ exitCode: 0, published: { path: flow.duckdbPath } });
      expect(await Promise.all(during)).toMatchObject([{ values: ['120'], errors: [] }]);
      expect((await reader.ask({ task: 'query', sql: COUNT })).values).toEqual(['120']);
      const other = await openReader(flow.duckdbPath, 'READ_ONLY');
      expect((await other.ask({ task: 'query', sql: COUNT })).values).toEqual(['121']);
      await grow(flow);
      expect(await flow.rows('items')).toHaveLength(122);
    },
  );

  it('finds a whole file at every moment of repeated publishes', async () => {
    const flow = createItemsFlow(ITEMS, { stream: full });
    await flow.sync();
    const reader = await openReader(flow.duckdbPath, 'OPEN_LATER');
    reader.tell({ task: 'open-often', sql: COUNT });
    for (let round = 0; round < 8; round += 1) await grow(flow);
    const answer = await reader.ask({ task: 'stop' });
    expect(answer.errors).toEqual([]);
    expect(answer.opened).toBeGreaterThan(8);
    for (const value of answer.values) expect(Number(value)).toBeGreaterThanOrEqual(120);
  });

  it('never sees a table without rows while that table is rebuilt', async () => {
    const flow = createItemsFlow(ITEMS, { stream: { write: 'replace' } });
    await flow.sync();
    const reader = await openReader(flow.duckdbPath, 'OPEN_LATER');
    reader.tell({ task: 'open-often', sql: COUNT });
    for (let round = 0; round < 3; round += 1) {
      flow.simulator.editRecords('items', () => makeItems(120, { from: round * 1_000 }));
      await flow.sync({ force: true });
    }
    expect((await reader.ask({ task: 'stop' })).values).toEqual(['120']);
  });
});

describe('a file at the destination that is not ours', () => {
  const foreign: Readonly<Record<string, (path: string) => Promise<void> | void>> = {
    'some text': (path) => writeFileSync(path, 'my thesis'),
    'an empty file': (path) => writeFileSync(path, ''),
    "a user's own DuckDB file": async (path) => {
      const instance = await DuckDBInstance.create(path);
      const connection = await instance.connect();
      await connection.run('CREATE TABLE mine AS SELECT 42 AS answer');
      connection.closeSync();
      instance.closeSync();
    },
    'a DuckDB file with a _sluice schema of its own making': async (path) => {
      const instance = await DuckDBInstance.create(path);
      const connection = await instance.connect();
      await connection.run('CREATE SCHEMA _sluice');
      await connection.run('CREATE TABLE _sluice.notes AS SELECT 42 AS answer');
      connection.closeSync();
      instance.closeSync();
    },
  };

  it.each(Object.entries(foreign))(
    '%s is refused with 2 before any request, and untouched',
    async (_, write) => {
      const flow = createItemsFlow(ITEMS);
      await write(flow.duckdbPath);
      const before = readFileSync(flow.duckdbPath);
      const failure = await flow.sync().catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(PublishError);
      expect(failure).toMatchObject({ exitCode: 2, code: 'publish_refused' });
      expect(flow.arrivals).toEqual([]);
      expect(readFileSync(flow.duckdbPath).equals(before)).toBe(true);
    },
  );

  it('is refused as well when it took the place of ours', async () => {
    const flow = createItemsFlow(ITEMS);
    await flow.sync();
    rmSync(flow.duckdbPath);
    writeFileSync(flow.duckdbPath, 'my thesis');
    await expect(flow.sync({ force: true })).rejects.toMatchObject({ exitCode: 2 });
    expect(readFileSync(flow.duckdbPath, 'utf8')).toBe('my thesis');
  });
});

describe('publishing', () => {
  it('happens only when something changed', async () => {
    const flow = createItemsFlow(ITEMS, { stream: full });
    await flow.sync();
    const { ino, mtimeMs } = statSync(flow.duckdbPath);
    expect((await flow.sync()).published).toBeUndefined();
    expect(statSync(flow.duckdbPath)).toMatchObject({ ino, mtimeMs });
    // A scan that found nothing new still moved the state that readers can ask about.
    expect((await flow.sync({ force: true })).published).toBeDefined();
  });

  it('is not fooled by a run id that is used twice', async () => {
    const flow = createItemsFlow(ITEMS, { stream: full });
    await flow.sync({ runId: 'nightly' });
    flow.simulator.editRecords('items', (records) => [...records, makeItem(500)]);
    const second = await flow.sync({ runId: 'nightly', force: true });
    expect(second).toMatchObject({ exitCode: 0, runId: 'nightly-2' });
    const notes = eventsOf(flow, 'note').map(({ message }) => message);
    expect(notes).toContain('an earlier run has the id nightly: this one is nightly-2');
    expect(await flow.rows('items')).toHaveLength(121);
  });

  it('takes a run id that is not a file name', async () => {
    const flow = createItemsFlow(ITEMS);
    const report = await flow.sync({ runId: '../../"x"/manual:2026-01-31T00:00:00+00:00' });
    expect(report.error).toBeUndefined();
    expect(report.exitCode).toBe(0);
    expect(await flow.rows('items')).toHaveLength(120);
  });

  it('does not care about a stale .wal next to the published file', async () => {
    const flow = createItemsFlow(ITEMS, { stream: full });
    await flow.sync();
    writeFileSync(`${flow.duckdbPath}.wal`, 'left by a program that crashed');
    await grow(flow);
    expect(existsSync(`${flow.duckdbPath}.wal`)).toBe(false);
    const reader = await openReader(flow.duckdbPath, 'READ_ONLY');
    expect((await reader.ask({ task: 'query', sql: COUNT })).values).toEqual(['121']);
  });

  it('clears away what killed runs left, and nothing else', async () => {
    const flow = createItemsFlow(ITEMS);
    const folder = dirname(flow.duckdbPath);
    writeFileSync(join(folder, '.warehouse.duckdb.20260101T000000Z-abc.tmp'), 'half a copy');
    writeFileSync(join(folder, '.other.duckdb.tmp'), 'not ours');
    await flow.sync();
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual(['.other.duckdb.tmp']);
  });

  it('puts a deleted published file back without a request', async () => {
    const flow = createItemsFlow(ITEMS);
    await flow.sync();
    rmSync(flow.duckdbPath);
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, requests: 0, published: { path: flow.duckdbPath } });
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
  });

  it('makes the folder it is to publish into', async () => {
    const flow = createItemsFlow(ITEMS);
    rmSync(flow.folder, { recursive: true });
    expect((await flow.sync()).exitCode).toBe(0);
    expect(flow.isPublished()).toBe(true);
  });

  it.each([
    ['keeps the permissions that somebody gave the file', 0o640, 0o640],
    ['lets its owner read a file that nobody could read', 0o000, 0o400],
  ])('%s', async (_, given, kept) => {
    const flow = createItemsFlow(ITEMS, { stream: full });
    await flow.sync();
    chmodSync(flow.duckdbPath, given);
    await grow(flow);
    expect(statSync(flow.duckdbPath).mode & 0o777).toBe(kept);
  });

  it('follows a link to the file, and leaves the link', async () => {
    const flow = createItemsFlow(ITEMS, { stream: full });
    const target = join(flow.folder, 'elsewhere', 'real.duckdb');
    mkdirSync(dirname(target));
    await flow.sync();
    renameSync(flow.duckdbPath, target);
    symlinkSync(target, flow.duckdbPath);
    await grow(flow);
    expect(await flow.rows('items')).toHaveLength(121);
    expect(readdirSync(dirname(target))).toEqual(['real.duckdb']);
  });

  it('that fails ends with 6, names what is safe, and the next run makes it good without a request', async () => {
    const flow = createItemsFlow(ITEMS);
    const blocked = join(flow.folder, 'blocked');
    writeFileSync(blocked, 'a file where a folder should be');
    const report = await flow.sync({
      onProgress: ({ type }) => {
        // The folder disappears under the run.
        if (type === 'publishing') copyFileSync(blocked, `${flow.duckdbPath}.away`);
        if (type === 'publishing') mkdirSync(flow.duckdbPath);
      },
    });
    expect(report).toMatchObject({ exitCode: 6, published: undefined });
    expect(report.error).toMatchObject({ code: 'publish_failed' });
    expect(report.error?.hint).toMatch(/committed/);
    rmSync(flow.duckdbPath, { recursive: true });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect(await flow.rows('items')).toHaveLength(120);
  });
});

describe('a lost state folder', () => {
  it('is restored from the published file: the next run continues incrementally', async () => {
    const flow = createItemsFlow(ITEMS, { endpoint: { dateField: 'date' } });
    const first = await flow.sync();
    await flow.sync({ force: true });
    rmSync(flow.stateDir, { recursive: true });
    await flow.clock.sleep(24 * HOUR_MS);
    flow.simulator.editRecords('items', (records) => [...records, makeItem(125)]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(0);
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', rows: { inserted: 1, updated: 0 } });
    expect(streamOf(report).key).toEqual(streamOf(first).key);
    expect(await flow.rows('items')).toHaveLength(121);
    const marks = await flow.query('SELECT DISTINCT _run_id FROM main.items');
    expect(marks.map((row) => row['_run_id'])).toEqual(expect.arrayContaining([first.runId, report.runId]));
    expect(await flow.query('SELECT count(*) AS n FROM _sluice.runs')).toEqual([{ n: 3 }]);
  });

  it('costs no request while everything is fresh', async () => {
    const flow = createItemsFlow(ITEMS);
    await flow.sync();
    rmSync(flow.stateDir, { recursive: true });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
  });

  it('is restored as well while a reader has the file open', async () => {
    const flow = createItemsFlow(ITEMS, { stream: full });
    await flow.sync();
    const reader = await openReader(flow.duckdbPath, 'READ_ONLY');
    rmSync(flow.stateDir, { recursive: true });
    await grow(flow);
    expect((await reader.ask({ task: 'query', sql: COUNT })).values).toEqual(['120']);
    expect(await flow.rows('items')).toHaveLength(121);
  });

  it('together with the published file means to begin again', async () => {
    const flow = createItemsFlow(ITEMS);
    await flow.sync();
    rmSync(flow.stateDir, { recursive: true });
    rmSync(flow.duckdbPath);
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ mode: 'full', rows: { inserted: 120 } });
  });

  it('of another source is not adopted: exit 2, and the file stays', async () => {
    const flow = createItemsFlow(ITEMS);
    await flow.sync();
    rmSync(flow.stateDir, { recursive: true });
    const config = { source: { baseUrl: 'http://127.0.0.1:9/other/v1' } };
    await expect(flow.sync({ config })).rejects.toMatchObject({ exitCode: 2, code: 'identity_mismatch' });
    expect(flow.arrivals).toEqual([]);
    expect(await flow.rows('items')).toHaveLength(120);
  });
});

describe('files of a project', () => {
  it('belong to their owner alone, but for the published one', async () => {
    const flow = createItemsFlow(ITEMS);
    await flow.sync({ maxRequests: 1 });
    await flow.sync();
    const modeOf = (path: string) => statSync(path).mode & 0o777;
    expect(modeOf(flow.stateDir)).toBe(0o700);
    for (const entry of readdirSync(flow.stateDir, { recursive: true, withFileTypes: true })) {
      expect(modeOf(join(entry.parentPath, entry.name)), entry.name).toBe(
        entry.isDirectory() ? 0o700 : 0o600,
      );
    }
    for (const name of readdirSync(join(flow.folder, 'quota'))) {
      expect(modeOf(join(flow.folder, 'quota', name)), name).toBe(0o600);
    }
    expect(modeOf(flow.duckdbPath)).toBe(0o666 & ~process.umask());
  });

  it('may lie in folders with any name', async () => {
    for (const name of ['it\'s "here"; $HOME', '-rf ümlaut 日本']) {
      const base = createItemsFlow(ITEMS);
      const flow = createItemsFlow(ITEMS, { folder: join(base.folder, name) });
      const report = await flow.sync();
      expect(report.error, name).toBeUndefined();
      expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
      expect(existsSync(flow.duckdbPath)).toBe(true);
    }
  });
});
