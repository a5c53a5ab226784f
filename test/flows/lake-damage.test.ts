import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SyncError } from '../../src/model/errors.ts';
import { LAKE_MANIFEST } from '../../src/model/lake.ts';
import type { SqlSession } from '../../src/model/sql.ts';
import { resetState } from '../../src/commands/state/change-state.ts';
import { gatherReport } from '../../src/commands/report/gather-report.ts';
import { readStatus } from '../../src/commands/status.ts';
import { judgeHealth } from '../../src/report/judge-health.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { damageColumns } from '../support/damage-file.ts';
import { hookSteps } from '../support/io-steps.ts';
import { openLakeWriter } from '../support/lake-writer.ts';
import { globOf, lakeTableOf, queryFiles } from '../support/read-lake.ts';
import { createItemsFlow, type Flow, makeItem, makeItems, type RunOptions } from '../support/sync-harness.ts';

const stream = { key: ['id'], cursor: { field: 'date' } };
const both = { destination: { duckdb: './warehouse.duckdb', parquet: './lake' } };
const lakeOnly = { destination: { parquet: './lake' } };

function createLakeFlow(
  options: Parameters<typeof createItemsFlow>[1] = {},
  records: Parameters<typeof createItemsFlow>[0] = makeItems(50, { perDay: 10 }),
) {
  const flow = createItemsFlow(records, { stream, config: both, ...options });
  return { flow, lake: join(flow.folder, 'lake') };
}

async function syncWell(flow: Flow, options: RunOptions = {}) {
  const report = await flow.sync({ force: true, ...options });
  expect(report.error).toBeUndefined();
  expect(report.exitCode).toBe(0);
  return report;
}

const pathsOf = (lake: string) => {
  const { generation, files } = lakeTableOf(lake);
  return files.map(({ path }) => join(lake, '_generations', 'items', generation, path));
};
const countRows = (lake: string) => queryFiles(`SELECT count(*)::INTEGER AS n FROM ${globOf(lake)}`);
/** The pages are gone; the beginning and the end say nothing of it. */
const damageInside = (whole: Buffer) =>
  Buffer.concat([whole.subarray(0, 4), Buffer.alloc(150), whole.subarray(154)]);
const addDay = (flow: Flow) =>
  flow.simulator.editRecords('items', (records) => [...records, { ...makeItem(500), date: '2026-01-30' }]);

describe('a state that only the lake holds', () => {
  const losses: readonly (readonly [string, (path: string) => void, RegExp])[] = [
    ['a file is gone', (path) => rmSync(path), /missing/],
    ['a folder is gone', (path) => rmSync(dirname(path), { recursive: true }), /missing/],
    ['a file is there twice', (path) => copyFileSync(path, `${path}.copy.parquet`), /not in the manifest/],
    ['a file is cut short', (path) => writeFileSync(path, readFileSync(path).subarray(0, 200)), /damaged/],
    ['a file is damaged inside', (path) => writeFileSync(path, damageInside(readFileSync(path))), /damaged/],
    ['a file is zeros', (path) => writeFileSync(path, Buffer.alloc(statSync(path).size)), /damaged/],
  ];

  it('is not restored where a file is gone, there twice or damaged: 6 before any request', async () => {
    const { flow, lake } = createLakeFlow({ config: lakeOnly });
    await syncWell(flow);
    rmSync(flow.stateDir, { recursive: true });
    const [path = ''] = pathsOf(lake);
    const kept = join(flow.folder, 'kept.parquet');
    copyFileSync(path, kept);
    for (const [name, lose, message] of losses) {
      lose(path);
      const error = await flow.sync({ force: true }).catch((thrown: unknown) => thrown as SyncError);
      expect(error, name).toMatchObject({ exitCode: 6, code: 'state_damaged' });
      expect((error as SyncError).hint, name).toMatch(/from a backup of the lake/);
      expect((error as SyncError).message, name).toMatch(message);
      expect((error as SyncError).message, name).toContain(dirname(path));
      expect(flow.arrivals, name).toEqual([]);
      mkdirSync(dirname(path), { recursive: true });
      copyFileSync(kept, path);
      rmSync(`${path}.copy.parquet`, { force: true });
    }
    const report = await syncWell(flow);
    expect(report.streams[0]).toMatchObject({ mode: 'incremental' });
    expect(await countRows(lake)).toEqual([{ n: 50 }]);
  });

  it('is not restored from a file with other rows, which it names', async () => {
    const { flow, lake } = createLakeFlow({ config: lakeOnly });
    await syncWell(flow);
    const [path = ''] = pathsOf(lake);
    const { length } = readFileSync(path);
    // The same columns and size: only its rows can tell.
    const write = (note: number) =>
      queryFiles(
        `COPY (FROM read_parquet('${path}', hive_partitioning = false) LIMIT 3) TO '${path}.other'
           (FORMAT parquet, COMPRESSION zstd, KV_METADATA {note: '${'x'.repeat(note)}'})`,
      );
    for (let note = 1, step = 1; step !== 0; note += step) {
      await write(note);
      step = length - statSync(`${path}.other`).size;
    }
    copyFileSync(`${path}.other`, path);
    rmSync(`${path}.other`);
    expect(readFileSync(path)).toHaveLength(length);
    rmSync(flow.stateDir, { recursive: true });
    await expect(flow.sync({ force: true })).rejects.toMatchObject({
      exitCode: 6,
      message: expect.stringContaining(`${path}: damaged: its bytes changed`) as unknown,
    });
  });
});

describe('a lake with a damaged file', () => {
  const damages: readonly (readonly [string, (whole: Buffer) => Buffer])[] = [
    ['zeros', (whole) => Buffer.alloc(whole.length)],
    ['a first half', (whole) => Buffer.concat([whole.subarray(0, 300), Buffer.alloc(whole.length - 300)])],
  ];

  it.each(damages)(
    'of %s is made whole by the next publish, be there a new folder or not',
    async (_name, damage) => {
      const { flow, lake } = createLakeFlow();
      await syncWell(flow);
      for (const change of [() => undefined, () => addDay(flow)]) {
        const [path = ''] = pathsOf(lake);
        // Another inode: what the lake shares between generations stays whole elsewhere.
        const whole = readFileSync(path);
        rmSync(path);
        writeFileSync(path, damage(whole));
        expect(await verifyState(flow.settings(), { clock: flow.clock })).toMatchObject({ exitCode: 6 });
        change();
        await syncWell(flow, { fullRefresh: true });
        expect((await verifyState(flow.settings(), { clock: flow.clock })).exitCode).toBe(0);
      }
      expect(await countRows(lake)).toEqual([{ n: 51 }]);
    },
  );

  it('that another program wrote, with its size and at another time, is made whole by a sync without news', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    const [path = ''] = pathsOf(lake);
    writeFileSync(path, damageInside(readFileSync(path)));
    utimesSync(path, 1_000_000, 1_000_000);
    await syncWell(flow, { force: false });
    expect(flow.arrivals).toEqual([]);
    expect(pathsOf(lake)).not.toContain(path);
    expect((await verifyState(flow.settings(), { clock: flow.clock })).exitCode).toBe(0);
    expect(await countRows(lake)).toEqual([{ n: 50 }]);
  });
});

describe('a lake with something else in the place of a file', () => {
  it.each<[string, (path: string, moved: string) => void]>([
    ['a pipe', (path) => execFileSync('mkfifo', [path])],
    ['a link to the file', (path, moved) => symlinkSync(moved, path)],
    ['a link to itself', (path) => symlinkSync(path, path)],
    ['a folder', (path) => mkdirSync(path)],
  ])('writes the file again where %s is', async (_, put) => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    const [path = ''] = pathsOf(lake);
    const moved = join(flow.folder, 'moved.parquet');
    renameSync(path, moved);
    put(path, moved);
    expect(await verifyState(flow.settings(), { clock: flow.clock })).toMatchObject({ exitCode: 6 });
    await syncWell(flow, { force: false });
    expect((await verifyState(flow.settings(), { clock: flow.clock })).exitCode).toBe(0);
    expect(await countRows(lake)).toEqual([{ n: 50 }]);
  });
});

describe('a lake whose stream was reset', () => {
  it('keeps its files and folders until the next scan, which finds the same rows', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    const before = pathsOf(lake);
    expect(before[0]).toMatch(/date=/);
    await resetState(flow.settings(), { clock: flow.clock, confirm: () => Promise.resolve(true) });
    expect(pathsOf(lake)).toEqual(before);
    await syncWell(flow);
    expect(pathsOf(lake)).toEqual(before);
  });
});

describe('a lake whose files have other times', () => {
  it('keeps them while their bytes are the same, and reads them once', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    const before = pathsOf(lake);
    for (const path of before) utimesSync(path, 2_000_000, 2_000_000);
    await syncWell(flow, { force: false });
    expect(pathsOf(lake)).toEqual(before);
    expect(lakeTableOf(lake).files.map(({ modifiedAtMs }) => modifiedAtMs)).toEqual(
      before.map(() => 2_000_000_000),
    );
    const manifest = readFileSync(join(lake, LAKE_MANIFEST), 'utf8');
    await syncWell(flow, { force: false });
    expect(readFileSync(join(lake, LAKE_MANIFEST), 'utf8')).toBe(manifest);
  });

  it.each([
    ['none, as in those of earlier releases', ''],
    ['one that is not a time', ', "modifiedAtMs": "x"'],
  ])('that the manifest has %s, reads them once and writes again what was damaged', async (_, entry) => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    const before = pathsOf(lake);
    const [path = ''] = before;
    writeFileSync(path, damageInside(readFileSync(path)));
    const manifest = join(lake, LAKE_MANIFEST);
    const text = readFileSync(manifest, 'utf8').replace(/,\s*"modifiedAtMs": \d+/g, entry);
    writeFileSync(manifest, text);
    await syncWell(flow, { force: false });
    const names = new Set(before.map((one) => basename(one)));
    expect(pathsOf(lake).filter((one) => names.has(basename(one)))).toHaveLength(4);
    expect((await verifyState(flow.settings(), { clock: flow.clock })).exitCode).toBe(0);
    expect(lakeTableOf(lake).files.map(({ modifiedAtMs }) => typeof modifiedAtMs)).toEqual(
      before.map(() => 'number'),
    );
  });
});

describe('a lake of a release that recorded no checksums', () => {
  it('keeps its files', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    const before = pathsOf(lake);
    const manifest = join(lake, LAKE_MANIFEST);
    const text = readFileSync(manifest, 'utf8').replace(/,\s*"(?:crc32|modifiedAtMs)": \d+/g, '');
    writeFileSync(manifest, text);
    await syncWell(flow, { force: false });
    expect(pathsOf(lake)).toEqual(before);
  });
});

describe.each([
  ['next to a DuckDB file', both],
  ['alone', lakeOnly],
])('a lake %s that lost a file, or the end of one,', (_, config) => {
  it.each<[string, (path: string) => void]>([
    ['lost', (path) => rmSync(path)],
    [
      'cut',
      (path) => {
        // Another inode: what the lake shares between generations stays whole elsewhere.
        const half = readFileSync(path).subarray(0, 300);
        rmSync(path);
        writeFileSync(path, half);
      },
    ],
  ])('(%s) is told by status and report, and whole after a sync with nothing new', async (_how, damage) => {
    const { flow, lake } = createLakeFlow({ config });
    await syncWell(flow);
    const look = async () => {
      const { faults = [], losses = [] } = await readStatus(flow.settings(), flow.clock.now());
      const { tone, headline } = judgeHealth(
        await gatherReport(flow.settings(), { showValues: false }, { clock: flow.clock }),
      );
      return { told: [...faults.map(({ detail }) => detail), ...losses].length, tone, headline };
    };
    expect(await look()).toMatchObject({ told: 0, tone: 'good' });
    const [path = ''] = pathsOf(lake);
    damage(path);
    expect(await look()).toEqual({
      told: 1,
      tone: 'bad',
      headline: 'What is published was changed or damaged',
    });
    const report = await flow.sync();
    expect([report.exitCode, flow.arrivals]).toEqual([0, []]);
    expect(await countRows(lake)).toEqual([{ n: 50 }]);
    expect(await look()).toMatchObject({ told: 0, tone: 'good' });
    expect((await verifyState(flow.settings(), { clock: flow.clock })).exitCode).toBe(0);
  });
});

describe('a lake with a file that is damaged inside', () => {
  it('is reported by verify, with what fixes it', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    const [, path = ''] = pathsOf(lake);
    writeFileSync(path, damageInside(readFileSync(path)));
    const verify = async () => {
      const { items } = await verifyState(flow.settings(), { clock: flow.clock });
      return items.filter(({ status }) => status !== 'ok');
    };
    expect(await verify()).toMatchObject([
      {
        name: 'lake',
        detail: `${path} is damaged`,
        fix: expect.stringMatching(/^Move this file and/) as unknown,
      },
    ]);
    // A folder more does not make a sync read it, and fail.
    addDay(flow);
    await syncWell(flow, { fullRefresh: true });
    for (const file of [pathsOf(lake)[1] ?? '', join(lake, 'lake.duckdb')]) rmSync(file);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect(await verify()).toEqual([]);
  });
});

describe('a lake with a file whose columns cannot be read', () => {
  it('ends a sync that publishes with 6, which names the file and what makes it whole', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    // Views read their columns from the first file.
    const [path = ''] = pathsOf(lake);
    // A bad disk changes bytes, and no times.
    utimesSync(path, 3_000_000, 3_000_000);
    await syncWell(flow);
    damageColumns(path);
    utimesSync(path, 3_000_000, 3_000_000);
    addDay(flow);
    expect(await flow.sync({ force: true, fullRefresh: true })).toMatchObject({
      exitCode: 6,
      error: {
        code: 'publish_failed',
        message: `cannot publish the lake ${lake}: ${path} is damaged`,
        hint: expect.stringMatching(
          /^Move this file and .*lake\.duckdb away and run sluice sync.* Readers of `current` may already see the new rows/,
        ) as unknown,
      },
    });
    for (const file of [path, join(lake, 'lake.duckdb')]) rmSync(file);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect((await verifyState(flow.settings(), { clock: flow.clock })).exitCode).toBe(0);
    expect(await countRows(lake)).toEqual([{ n: 51 }]);
  });
});

describe('values that name folders', () => {
  it('may hold a NUL, and their rows come back with it', async () => {
    const values = ['a\u0000b', '\u0000', 'ab', `a'\u0000'b`];
    const records = values.map((k, id) => ({ id, k }));
    const { flow, lake } = createLakeFlow(
      { config: lakeOnly, stream: { key: ['id'], partitionBy: ['k'] } },
      records,
    );
    await syncWell(flow);
    const read = () =>
      queryFiles('SELECT id::INTEGER AS id, k FROM items ORDER BY id', join(lake, 'lake.duckdb'));
    expect(await read()).toEqual(records);
    // Alone in its folder it is written by another statement than among others.
    flow.simulator.editRecords('items', (all) => [...all, { id: 9, k: 'a\u0000b' }]);
    await syncWell(flow, { fullRefresh: true });
    expect(await read()).toEqual([...records, { id: 9, k: 'a\u0000b' }]);
  });

  it('of a history are those that it has, where its table has more', async () => {
    const { flow, lake } = createLakeFlow({
      stream: { ...stream, history: true, partitionBy: ['day(_synced_at)', 'date'] },
    });
    await syncWell(flow);
    const [folder] = pathsOf(lake);
    expect(folder).toMatch(/_synced_at_date=[^/]+\/date=2026-01-01\//);
    const [versions] = lakeTableOf(lake, 'items_history').files;
    expect(versions?.path).toMatch(/^date=2026-01-01\//);
  });
});

describe('a partition whose rows are not those that were counted', () => {
  it('fails the publish with 6, and readers see what they saw', async () => {
    const { database, lake, publish } = await openLakeWriter('date');
    await database.run(`INSERT INTO main.items VALUES (1, '2026-01-01', 42), (2, '2026-01-02', 43)`);
    await publish();
    await database.run('UPDATE main.items SET amount = 0');
    const session: SqlSession = {
      run: (sql, values) => database.run(sql, values),
      all: (sql, values) => database.all(sql.replace(/(?=\) TO .*2026-01-02)/, ' LIMIT 0'), values),
    };
    await expect(publish({ session })).rejects.toMatchObject({
      exitCode: 6,
      code: 'publish_failed',
      message: 'items has 1 row for date=2026-01-02, of which 0 were written',
    });
    expect(await queryFiles(`SELECT sum(amount)::INTEGER AS sum FROM ${globOf(lake)}`)).toEqual([
      { sum: 85 },
    ]);
    expect(await publish()).toMatchObject({ files: 2 });
  });
});

describe('a lake with something in the way', () => {
  const blocks: readonly (readonly [string, string, (path: string) => void])[] = [
    ['a loop of links for the lake', '', (path) => symlinkSync(path, path)],
    ['a file for a table', 'items', (path) => writeFileSync(path, '')],
    ['a loop of links for a table', 'items', (path) => symlinkSync(path, path)],
    ['a link for a table', 'items', (path) => symlinkSync(dirname(dirname(path)), path)],
    ['a file for the generations', '_generations', (path) => writeFileSync(path, '')],
    ['a file for the generations of a table', '_generations/items', (path) => writeFileSync(path, '')],
  ];

  it('is refused with 2 before any request', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    for (const [name, place, block] of blocks) {
      const path = join(lake, place);
      const away = join(flow.folder, 'away');
      renameSync(path, away);
      block(path);
      await expect(flow.sync({ force: true }), name).rejects.toMatchObject({
        exitCode: 2,
        code: 'publish_refused',
        message: expect.stringContaining(`${path} is`) as unknown,
        hint: expect.stringContaining('Nothing was requested') as unknown,
      });
      expect(flow.arrivals, name).toEqual([]);
      rmSync(path);
      renameSync(away, path);
    }
    await syncWell(flow);
  });
});

describe('a disk that is full while lake.duckdb is written', () => {
  it('ends with 6 that names the lake, and the DuckDB file is published', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    addDay(flow);
    // As the engine says it: it then answers nothing more, whatever is asked of it.
    const full = `FATAL Error: Failed to create checkpoint: database has been invalidated. Could not write file "${join(lake, '.lake.duckdb.tmp')}": No space left on device`;
    const undo = await hookSteps(
      {
        before: ({ name }) => {
          if (name.startsWith('sql CHECKPOINT lake_catalog')) throw new Error(full);
        },
      },
      () => false,
    );
    const report = await flow.sync({ force: true, fullRefresh: true }).finally(undo);
    expect(report).toMatchObject({
      exitCode: 6,
      published: { path: flow.duckdbPath },
      error: {
        code: 'publish_failed',
        hint: expect.stringMatching(/may already see the new rows/) as unknown,
      },
    });
    expect(report.error?.message).toContain(`cannot publish the lake ${lake}`);
    expect(report.error?.message).not.toContain('work.duckdb');
    expect(await flow.rows('items')).toHaveLength(51);
    expect(await countRows(lake)).toEqual([{ n: 51 }]);
    await syncWell(flow);
    expect(await queryFiles('SELECT count(*)::INTEGER AS n FROM items', join(lake, 'lake.duckdb'))).toEqual([
      { n: 51 },
    ]);
    expect(existsSync(join(lake, '.lake.duckdb.tmp'))).toBe(false);
  });
});
