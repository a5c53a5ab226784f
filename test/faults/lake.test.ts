import {
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toSyncError } from '../../src/model/errors.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { hookSteps, type Step } from '../support/io-steps.ts';
import { openLakeWriter } from '../support/lake-writer.ts';
import { globOf, lakeTableOf, openLakeReader, queryFiles } from '../support/read-lake.ts';
import { chooseStride, leastSeen, seed } from '../support/seeds.ts';
import { createItemsFlow, type Flow, HOUR_MS, makeItem, makeItems } from '../support/sync-harness.ts';

const stream = { key: ['id'], cursor: { field: 'date' } };
const both = { destination: { duckdb: './warehouse.duckdb', parquet: './lake' } };

async function createSynced(config = both) {
  const flow = createItemsFlow(makeItems(50, { perDay: 10 }), { stream, config });
  expect((await flow.sync()).exitCode).toBe(0);
  return { flow, lake: join(flow.folder, 'lake') };
}

const countRows = (lake: string) => queryFiles(`SELECT count(*)::INTEGER AS n FROM ${globOf(lake)}`);
const addDay = (flow: Flow, id = 500) =>
  flow.simulator.editRecords('items', (records) => [...records, { ...makeItem(id), date: '2026-01-30' }]);

/** What verify finds wrong, with what it says to do. */
async function findWrong(flow: Flow): Promise<readonly string[]> {
  const { items } = await verifyState(flow.settings(), { clock: flow.clock });
  return items
    .filter(({ status }) => status === 'failed')
    .map(({ detail, fix }) => `${detail}. ${fix ?? ''}`);
}

describe('a disk that refuses one step of a publish, each in turn,', () => {
  it('makes it end with 6 or harms nothing, readers see one version whole, and the next publish is complete', async () => {
    const { database, lake, publish } = await openLakeWriter('date');
    await database.run(
      `INSERT INTO main.items SELECT i, DATE '2026-01-01' + (i % 3)::INTEGER, 0 FROM range(30) r(i)`,
    );
    await publish();
    const read = async (from: string, catalog?: string) => {
      const [row] = await queryFiles(
        `SELECT min(amount)::INTEGER AS least, max(amount)::INTEGER AS most, count(*)::INTEGER AS n FROM ${from}`,
        catalog,
      );
      return row;
    };
    const stride = chooseStride(6);
    let refusals = 0;
    for (let n = 1 + (seed % stride), version = 1; ; n += stride, version += 1) {
      const before = { least: version - 1, most: version - 1, n: version === 1 ? 30 : 31 };
      // All files change, one folder goes and one comes.
      await database.run('DELETE FROM main.items WHERE id >= 1000');
      await database.run('UPDATE main.items SET amount = $1', [version]);
      await database.run(
        `INSERT INTO main.items VALUES (${1_000 + version}, DATE '2026-02-01' + ${version}, ${version})`,
      );
      const after = { least: version, most: version, n: 31 };
      let failed: Step | undefined;
      const undo = await hookSteps(
        {
          before: (step) => {
            if (step.n !== n) return;
            failed = step;
            throw refusalOf(step, lake);
          },
        },
        (path) => path.startsWith(lake),
      );
      const error = await publish()
        .then(() => undefined, toSyncError)
        .finally(undo);
      if (failed === undefined) break;
      const where = `SLUICE_SEED=${seed}, step ${n}, ${failed.name}: ${error?.message}`;
      if (error !== undefined) {
        refusals += 1;
        expect(error.exitCode, where).toBe(6);
        expect(error.hint, where).toMatch(/[Ee]verything (?:synced is committed|committed before is intact)/);
      }
      expect([before, after], where).toContainEqual(await read(globOf(lake)));
      expect([before, after], where).toContainEqual(await read('items', join(lake, 'lake.duckdb')));
      // As the next run would.
      await database.release();
      await database.reopen();
      await publish();
      expect(await read(globOf(lake)), where).toEqual(after);
      expect(await read('items', join(lake, 'lake.duckdb')), where).toEqual(after);
    }
    expect(refusals).toBeGreaterThan(leastSeen(5));
  });
});

function refusalOf({ name }: Step, lake: string): Error {
  const [call = ''] = name.split(' ');
  if (call === 'sql')
    return new Error(`IO Error: Could not write file "${join(lake, 'x')}": No space left on device`);
  return Object.assign(new Error(`ENOSPC: no space left on device, ${call}`), {
    code: 'ENOSPC',
    errno: -28,
    syscall: call,
  });
}

describe('the link `current`', () => {
  const changes: readonly (readonly [string, (link: string) => void])[] = [
    ['is gone', (link) => rmSync(link)],
    [
      'points to nothing',
      (link) => {
        rmSync(link);
        symlinkSync('../_generations/items/20200101T000000000Z-00000000', link);
      },
    ],
    [
      'points out of the lake',
      (link) => {
        rmSync(link);
        symlinkSync('../..', link);
      },
    ],
    [
      'points to a generation that was removed',
      (link) => rmSync(join(link, '..', readlinkSync(link)), { recursive: true }),
    ],
  ];

  it('that is gone, or points to anything else, is reported by verify, and recreated by the next sync without a request', async () => {
    const { flow, lake } = await createSynced();
    for (const [name, change] of changes) {
      change(join(lake, 'items', 'current'));
      const wrong = await findWrong(flow);
      expect(wrong.length, name).toBeGreaterThan(0);
      expect(wrong[0], name).toMatch(/^items\/current .+sluice sync/);
      expect(await flow.sync(), name).toMatchObject({
        exitCode: 0,
        requests: 0,
        published: { lake: { tables: 1 } },
      });
      expect(await countRows(lake), name).toEqual([{ n: 50 }]);
      expect(await findWrong(flow), name).toEqual([]);
    }
  });
});

describe('a manifest', () => {
  const changes: readonly (readonly [string, (text: string) => string])[] = [
    ['is cut short', (text) => text.slice(0, 100)],
    ['is empty', () => ''],
    ['is of another program', () => '{"format":"other"}'],
    ['is of a newer version', (text) => text.replace('"version": 1', '"version": 2')],
  ];

  it('that means nothing is refused with 2 before a request; with the lake moved away it is rewritten', async () => {
    const { flow, lake } = await createSynced();
    const manifest = join(lake, 'manifest.json');
    const whole = readFileSync(manifest, 'utf8');
    for (const [name, change] of changes) {
      writeFileSync(manifest, change(whole));
      const wrong = await findWrong(flow);
      const message = `${manifest} is not a manifest that this version can read`;
      expect(wrong, name).toEqual([expect.stringContaining(message)]);
      await expect(flow.sync({ force: true }), name).rejects.toMatchObject({
        exitCode: 2,
        code: 'publish_refused',
        hint: expect.stringMatching(
          /restore it from a backup\. Without one, move the whole lake folder away/,
        ) as unknown,
      });
      expect(flow.arrivals, name).toEqual([]);
      expect(await countRows(lake), name).toEqual([{ n: 50 }]);
    }
    renameSync(lake, join(flow.folder, 'away'));
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect(await countRows(lake)).toEqual([{ n: 50 }]);
  });

  it('that is gone makes the folder one that nobody knows: 2 before a request, and nothing in it is touched', async () => {
    const { flow, lake } = await createSynced();
    rmSync(join(lake, 'manifest.json'));
    const before = readdirSync(lake);
    await expect(flow.sync({ force: true })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('no manifest.json') as unknown,
    });
    expect(flow.arrivals).toEqual([]);
    expect(readdirSync(lake)).toEqual(before);
  });
});

describe('a file that somebody put into a table of a lake', () => {
  it('is reported by verify, and left behind by the next publish', async () => {
    const { flow, lake } = await createSynced();
    const { generation, files } = lakeTableOf(lake);
    const folder = join(lake, '_generations', 'items', generation);
    writeFileSync(join(folder, 'mine.parquet'), readFileSync(join(folder, files[0]?.path ?? '')));
    expect(await findWrong(flow)).toEqual([
      expect.stringContaining('items/current/mine.parquet: not in the manifest'),
    ]);
    addDay(flow);
    expect((await flow.sync({ force: true, fullRefresh: true })).exitCode).toBe(0);
    expect(await countRows(lake)).toEqual([{ n: 51 }]);
    expect(await findWrong(flow)).toEqual([]);
  });

  it('next to its folders is refused with 2 before a request, and stays', async () => {
    const { flow, lake } = await createSynced();
    const mine = join(lake, 'items', 'notes.txt');
    writeFileSync(mine, 'mine');
    await expect(flow.sync({ force: true })).rejects.toMatchObject({ exitCode: 2, code: 'publish_refused' });
    expect(flow.arrivals).toEqual([]);
    expect(readFileSync(mine, 'utf8')).toBe('mine');
  });
});

describe('a reader that has `lake.duckdb` open', () => {
  it('reads its generation to the end of the grace time, whatever is published', async () => {
    const { flow, lake } = await createSynced();
    const reader = await openLakeReader(join(lake, 'lake.duckdb'));
    try {
      const read = () =>
        reader.query('SELECT count(*)::INTEGER AS n, sum(amount)::INTEGER AS sum FROM items');
      const before = await read();
      for (const minute of [1, 20, 40]) {
        await flow.clock.sleep(minute * 60_000);
        flow.simulator.editRecords('items', (all) => [
          ...all,
          { ...makeItem(500 + minute), date: '2026-01-30' },
        ]);
        expect((await flow.sync({ force: true, fullRefresh: true })).exitCode).toBe(0);
        // What was current until a publish stays for an hour from then on.
        if (minute < 40) expect(await read()).toEqual(before);
      }
      await flow.clock.sleep(HOUR_MS);
      flow.simulator.editRecords('items', (all) => [...all, { ...makeItem(600), date: '2026-01-30' }]);
      expect((await flow.sync({ force: true, fullRefresh: true })).exitCode).toBe(0);
      // Then it is reported, and never given other rows.
      await expect(read()).rejects.toThrow(/No files found|No such file/);
    } finally {
      reader.close();
    }
    expect(await countRows(lake)).toEqual([{ n: 54 }]);
  });
});

describe('`lake.duckdb`', () => {
  const changes: readonly (readonly [string, (file: string) => void])[] = [
    ['is gone', (file) => rmSync(file)],
    ['is some text', (file) => writeFileSync(file, 'no database at all')],
  ];

  it('that is gone or damaged is rewritten by the next publish; what readers have by the pattern stays', async () => {
    const { flow, lake } = await createSynced();
    let rows = 50;
    for (const [name, change] of changes) {
      change(join(lake, 'lake.duckdb'));
      expect(await countRows(lake), name).toEqual([{ n: rows }]);
      expect((await findWrong(flow)).length, name).toBeGreaterThan(0);
      addDay(flow, (rows += 1));
      expect(await flow.sync({ force: true, fullRefresh: true }), name).toMatchObject({
        exitCode: 0,
        warnings: [],
      });
      const seen = await queryFiles('SELECT count(*)::INTEGER AS n FROM items', join(lake, 'lake.duckdb'));
      expect(seen, name).toEqual([{ n: rows }]);
      expect(await findWrong(flow), name).toEqual([]);
    }
  });
});
