import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../src/model/errors.ts';
import { keepFolder, killBefore } from '../crash/crash-states.ts';
import { readOutcome } from '../crash/read-outcome.ts';
import { damageBlocksOf } from '../support/damage-file.ts';
import { countRuns, createRandom, seed } from '../support/seeds.ts';
import {
  createItemsFlow,
  eventsOf,
  DAY_MS,
  type Flow,
  makeItem,
  makeItems,
  streamOf,
} from '../support/sync-harness.ts';

// Enough for several blocks of the engine.
const ITEMS = makeItems(1_000).map((item) => ({
  ...item,
  note: `${item.name} ${(item.id * 2_654_435_761) % 2 ** 32}`,
}));
const FEW = makeItems(60);
const stream = { cursor: false } as const;
const random = createRandom();
const workFile = (flow: Flow) => join(flow.stateDir, 'work.duckdb');
const setAside = (flow: Flow) =>
  readdirSync(flow.stateDir).filter(
    (name) => name.startsWith('work.duckdb.damaged-') && !name.endsWith('.wal'),
  );

async function createSynced(items: readonly unknown[] = ITEMS): Promise<Flow> {
  const flow = createItemsFlow(items, { stream });
  expect((await flow.sync()).exitCode).toBe(0);
  return flow;
}

/** Flips one bit of a file, at a byte of some part of it. */
function flipBit(file: string, part: number): void {
  const content = readFileSync(file);
  const at = Math.min(content.length - 1, Math.floor(part * content.length));
  content[at] = (content[at] ?? 0) ^ (1 << Math.floor(random() * 8));
  writeFileSync(file, content);
}

const damages: Readonly<Record<string, (file: string) => void>> = {
  'is some text': (file) => writeFileSync(file, 'no database at all'),
  'is empty': (file) => truncateSync(file, 0),
  'is nothing but zeros': (file) => writeFileSync(file, Buffer.alloc(statSync(file).size)),
  'lost its second half': (file) => truncateSync(file, statSync(file).size >> 1),
  'lost all but its headers': (file) => truncateSync(file, 3 * 4_096),
  'has a flipped bit in its first header': (file) => flipBit(file, 0.0001),
};

describe('a work file that', () => {
  it.each(Object.entries(damages))('%s is kept aside and restored in the same run', async (_, damage) => {
    const flow = await createSynced(FEW);
    const before = await readOutcome(flow.duckdbPath);
    damage(workFile(flow));
    const damaged = readFileSync(workFile(flow));
    const report = await flow.sync();
    // What was published is fresh: nothing of it is asked for again.
    expect(report).toMatchObject({ exitCode: 0, requests: 0 });
    const [kept = ''] = setAside(flow);
    expect(report.warnings).toEqual([
      expect.stringMatching(
        /work\.duckdb is damaged: .+; it is kept as work\.duckdb\.damaged-\d{8}T\d{6}Z, and the state is restored from /,
      ),
    ]);
    expect(report.warnings[0]).toContain(kept);
    expect(readFileSync(join(flow.stateDir, kept)).equals(damaged)).toBe(true);
    expect(await readOutcome(flow.duckdbPath)).toEqual(before);
  });

  it('has a bit flipped anywhere never spoils a run, nor what readers see', async () => {
    const flow = await createSynced();
    await flow.clock.sleep(1.2 * DAY_MS);
    flow.simulator.editRecords('items', (records) => [...records.slice(3), makeItem(9_000), makeItem(9_001)]);
    const restore = keepFolder(flow.folder);
    expect((await flow.sync()).exitCode).toBe(0);
    const wanted = await readOutcome(flow.duckdbPath);
    const rounds = countRuns(10);
    let replaced = 0;
    for (let round = 0; round < rounds; round += 1) {
      restore();
      flipBit(workFile(flow), (round + random()) / rounds);
      const report = await flow.sync();
      const where = `SLUICE_SEED=${seed}, round ${round}`;
      expect(report.error, where).toBeUndefined();
      expect(await readOutcome(flow.duckdbPath), where).toEqual(wanted);
      const kept = setAside(flow).length;
      expect(report.warnings.length, where).toBe(kept);
      replaced += kept;
    }
    // Some bits belong to blocks that hold nothing.
    if (rounds > 20) expect(replaced).toBeGreaterThan(0);
  });

  it('turns out to be damaged when its rows are read is restored in the middle of the run, which continues', async () => {
    const flow = await createSynced();
    const before = await readOutcome(flow.duckdbPath);
    await flow.clock.sleep(1.2 * DAY_MS);
    await damageBlocksOf(workFile(flow), 'items');
    const events: string[] = [];
    const report = await flow.sync({ onProgress: ({ type }) => void events.push(type) });
    expect(report).toMatchObject({ exitCode: 0, warnings: [expect.stringContaining('is damaged')] });
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rows: { unchanged: ITEMS.length } });
    expect((await readOutcome(flow.duckdbPath)).tables).toEqual(before.tables);
    // The pages that were paid for served again, after one look at the head.
    expect(events).toContain('stream-resumed');
  });

  it('has a damaged log is kept aside with it', async () => {
    const flow = await createSynced();
    await flow.clock.sleep(1.2 * DAY_MS);
    flow.simulator.editRecords('items', (records) => [...records, makeItem(9_000)]);
    const { flow: clean } = await flow.clean();
    const wanted = (await readOutcome(clean.duckdbPath)).tables;
    const log = join(flow.stateDir, 'work.duckdb.wal');
    await killBefore('sql CHECKPOINT work', flow.folder, () => flow.sync());
    const restore = keepFolder(flow.folder);
    let noticed = 0;
    for (const part of [0.2, 0.5, 0.9]) {
      restore();
      flipBit(log, part);
      const damaged = readFileSync(log);
      const report = await flow.sync();
      expect(report.exitCode).toBe(0);
      expect((await readOutcome(flow.duckdbPath)).tables).toEqual(wanted);
      const [kept] = setAside(flow);
      // A flip in the length of an entry looks like a log that ends there: what was committed before it counts.
      if (kept === undefined) continue;
      noticed += 1;
      expect(report.warnings).toEqual([expect.stringContaining('is damaged')]);
      expect(readFileSync(join(flow.stateDir, `${kept}.wal`)).equals(damaged)).toBe(true);
    }
    expect(noticed).toBeGreaterThan(0);
  });

  it('has a log that ends anywhere opens with whole commits, and the next run makes up for the rest', async () => {
    const flow = await createSynced(FEW);
    await flow.clock.sleep(1.2 * DAY_MS);
    flow.simulator.editRecords('items', (records) => [...records, makeItem(9_000)]);
    const { flow: clean } = await flow.clean();
    const wanted = (await readOutcome(clean.duckdbPath)).tables;
    const log = join(flow.stateDir, 'work.duckdb.wal');
    await killBefore('sql CHECKPOINT work', flow.folder, () => flow.sync());
    const restore = keepFolder(flow.folder);
    const { size } = statSync(log);
    const cuts = countRuns(3);
    for (let cut = 0; cut < cuts; cut += 1) {
      restore();
      truncateSync(log, Math.floor(((cut + random()) / cuts) * size));
      const report = await flow.sync();
      expect(report, `SLUICE_SEED=${seed}, cut ${cut}`).toMatchObject({ exitCode: 0, warnings: [] });
      expect((await readOutcome(flow.duckdbPath)).tables).toEqual(wanted);
    }
  });

  it('is damaged twice within a second is kept twice', async () => {
    const flow = await createSynced();
    for (let times = 0; times < 2; times += 1) {
      writeFileSync(workFile(flow), 'no database at all');
      expect((await flow.sync()).exitCode).toBe(0);
    }
    expect(setAside(flow)).toHaveLength(2);
  });

  it('has a few bytes while nothing is published is kept aside with a note, and everything is read', async () => {
    const flow = createItemsFlow(makeItems(50));
    await flow.sync();
    truncateSync(workFile(flow), 4);
    rmSync(flow.duckdbPath);
    expect((await flow.sync()).exitCode).toBe(0);
    const notes = eventsOf(flow, 'note').map(({ message }) => message);
    expect(notes).toContainEqual(
      expect.stringMatching(
        /work\.duckdb was too short to hold a state: it is kept as work\.duckdb\.damaged-\S+, and/,
      ),
    );
    expect(await flow.rows('items')).toHaveLength(50);
  });

  it('is damaged while nothing is published yet is left alone: exit 6, before any request', async () => {
    const flow = createItemsFlow(ITEMS, { stream });
    expect((await flow.sync({ maxRequests: 2 })).exitCode).toBe(75);
    flipBit(workFile(flow), 0.0001);
    const damaged = readFileSync(workFile(flow));
    const failure = await flow.sync().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StorageError);
    expect(failure).toMatchObject({ exitCode: 6, code: 'state_damaged' });
    expect((failure as StorageError).hint).toMatch(/move it aside .*do not delete/);
    expect(flow.arrivals).toEqual([]);
    expect(readFileSync(workFile(flow)).equals(damaged)).toBe(true);
    // As the hint says.
    cpSync(workFile(flow), join(flow.folder, 'aside.duckdb'));
    rmSync(workFile(flow));
    expect((await flow.sync()).exitCode).toBe(0);
  });

  it.each([0, 1, 4_096, 8_192])(
    'a killed run only began to create (%i bytes) keeps nobody from a first sync',
    async (size) => {
      const flow = createItemsFlow(FEW, { stream });
      mkdirSync(flow.stateDir);
      writeFileSync(workFile(flow), Buffer.alloc(size, 'x'));
      expect(await flow.sync()).toMatchObject({ exitCode: 0, warnings: [] });
    },
  );
});

describe('a published file that', () => {
  it('is damaged as well as the work file: exit 6 names it, before any request, and nothing is lost', async () => {
    const flow = await createSynced();
    writeFileSync(workFile(flow), 'no database at all');
    flipBit(flow.duckdbPath, 0.0001);
    const published = readFileSync(flow.duckdbPath);
    for (let times = 0; times < 2; times += 1) {
      const failure = await flow.sync().catch((error: unknown) => error);
      expect(failure).toMatchObject({ exitCode: 6, code: 'state_damaged' });
      expect((failure as StorageError).message).toContain(flow.duckdbPath);
      expect((failure as StorageError).hint).toMatch(/backup/);
      expect(flow.arrivals).toEqual([]);
    }
    expect(readFileSync(flow.duckdbPath).equals(published)).toBe(true);
    expect(setAside(flow)).toHaveLength(1);
    rmSync(flow.duckdbPath);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, rows: { inserted: ITEMS.length } });
  });

  it('alone is damaged is replaced by the next commit', async () => {
    const flow = await createSynced();
    flipBit(flow.duckdbPath, 0.5);
    expect(await flow.sync({ force: true })).toMatchObject({ exitCode: 0, warnings: [] });
    expect((await flow.rows('items')).length).toBe(ITEMS.length);
  });

  it('would be a copy of damaged blocks stays as it was, and the run heals instead', async () => {
    const flow = createItemsFlow(ITEMS, { stream });
    const other = { path: 'items', paginated: true, cursor: false } as const;
    const both = { streams: { other } };
    expect((await flow.sync({ config: both })).exitCode).toBe(0);
    await flow.clock.sleep(1.2 * DAY_MS);
    await damageBlocksOf(workFile(flow), 'items');
    const report = await flow.sync({ config: both, streams: ['other'] });
    expect(report).toMatchObject({ exitCode: 0, warnings: [expect.stringContaining('is damaged')] });
    expect((await flow.rows('items')).length).toBe(ITEMS.length);
    expect((await flow.rows('other')).length).toBe(ITEMS.length);
  });
});

describe('a small file of the state folder, damaged in any way,', () => {
  const names = ['runs.json', 'published.json', 'lock.sqlite', 'quota'] as const;

  it.each(names)('%s keeps no sync from its end', async (name) => {
    const flow = await createSynced(FEW);
    const restore = keepFolder(flow.folder);
    for (let round = 0; round < countRuns(10); round += 1) {
      restore();
      const file = name === 'quota' ? findLedger(flow) : join(flow.stateDir, name);
      const where = `SLUICE_SEED=${seed}, round ${round} of ${basename(file)}`;
      if (round === 0) writeFileSync(file, 'garbage '.repeat(100));
      else if (round === 1) truncateSync(file, statSync(file).size >> 1);
      else flipBit(file, random());
      const report = await flow.sync({ force: true });
      expect(report.error, where).toBeUndefined();
      expect(report.exitCode, where).toBe(0);
    }
  });

  function findLedger(flow: Flow): string {
    const folder = join(flow.folder, 'quota');
    const [name = ''] = readdirSync(folder).filter((entry) => entry.endsWith('.db'));
    return join(folder, name);
  }
});

describe('staged pages that', () => {
  it.each(['records.ndjson', 'pages.ndjson', 'scan.json'])(
    'have a bit of %s flipped never reach a table',
    async (name) => {
      const items = makeItems(400);
      const flow = createItemsFlow(items, { stream });
      expect((await flow.sync({ maxRequests: 4 })).exitCode).toBe(75);
      const restore = keepFolder(flow.folder);
      const { flow: clean } = await flow.clean();
      const wanted = await clean.rows('items');
      const rounds = countRuns(3);
      for (let round = 0; round < rounds; round += 1) {
        restore();
        flipBit(join(flow.stateDir, 'stage/items', name), (round + random()) / rounds);
        const report = await flow.sync();
        const where = `SLUICE_SEED=${seed}, round ${round}`;
        expect(report.error, where).toBeUndefined();
        expect(await flow.rows('items'), where).toEqual(wanted);
      }
    },
  );
});
