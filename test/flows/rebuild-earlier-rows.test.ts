import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rewritePagination } from '../../src/simulator/fault-effects.ts';
import { sliceStream } from '../../src/model/stream.ts';
import { archiveFolder } from '../../src/storage/state-folder.ts';
import { archiveOf, listArchive } from '../support/archive-files.ts';
import {
  createItemsFlow,
  DAY_MS,
  type Flow,
  type FlowConfig,
  makeItems,
  noBuiltIns,
  type RunOptions,
} from '../support/sync-harness.ts';

// Rows that left the source before the archive begins, and that a later scan of the archive marked as deleted.

type StreamInput = NonNullable<FlowConfig['streams']>[string];

const base: StreamInput = { key: ['id'], cursor: false, deletes: 'soft', maxInvalidRatio: 1 };
const configOf = (stream: StreamInput): FlowConfig => ({
  defaults: { hashKey: 'a key of 16 letters' },
  streams: { ...noBuiltIns, items: { path: 'items', paginated: true, ...base, ...stream } },
});

/** Reads everything a day later, of a source that was changed. */
async function resync(
  flow: Flow,
  edit: (records: readonly unknown[]) => readonly unknown[],
  options: RunOptions = {},
): Promise<void> {
  await flow.clock.sleep(DAY_MS);
  flow.simulator.advanceDay();
  flow.simulator.editRecords('items', edit);
  const report = await flow.sync({ fullRefresh: true, ...options });
  expect(report.exitCode, report.streams[0]?.error?.message).toBe(0);
}

const dropFirstScan = (flow: Flow) => {
  rmSync(join(archiveOf(flow), listArchive(flow, '.json').toSorted()[0] ?? ''));
};
const READ = 'SELECT * FROM main.items ORDER BY ALL';

/** Ten rows leave before the archive begins, its first scan leaves them, and its second marks them and two more. */
async function createMarkedFlow(second: 'unverified' | 'kept', defaults: StreamInput = {}) {
  let isTotalGiven = true;
  const flow = createItemsFlow(makeItems(110), {
    config: configOf(defaults),
    simulator: {
      faults: [(context) => (isTotalGiven ? undefined : rewritePagination({ total: undefined })(context))],
    },
  });
  expect((await flow.sync()).exitCode).toBe(0);
  isTotalGiven = second !== 'unverified';
  await resync(flow, (records) => records.slice(10), {
    ...(second === 'kept' && { config: configOf({ ...defaults, deletes: 'keep' }) }),
  });
  isTotalGiven = true;
  await resync(flow, (records) => records.slice(2));
  dropFirstScan(flow);
  expect(await flow.query('SELECT count(*) AS n FROM main.items WHERE _deleted_at IS NOT NULL')).toEqual([
    { n: 12 },
  ]);
  return flow;
}

describe('rows that the first scan of the archive left, and its second marked,', () => {
  it.each(['unverified', 'kept'] as const)('stay in a rebuild as they were: %s', async (second) => {
    const flow = await createMarkedFlow(second);
    const before = await flow.query(READ);
    expect(await flow.rebuild()).toMatchObject({
      exitCode: 0,
      streams: [{ scans: 2, rowsBefore: 98, rowsAfter: 98, rowsKept: 10 }],
    });
    expect(await flow.query(READ)).toEqual(before);
  });

  it('stay marked where the rules are to delete them, and those that the archive has go', async () => {
    const flow = await createMarkedFlow('unverified');
    expect(await flow.rebuild({ config: configOf({ deletes: 'hard' }) })).toMatchObject({
      exitCode: 0,
      streams: [{ rowsAfter: 98, rowsKept: 10 }],
    });
    expect(await flow.query('SELECT count(*) AS n FROM main.items')).toEqual([{ n: 108 }]);
  });
});

describe('rows that the archive has, and a scan of it marked,', () => {
  async function createReadFlow(records: readonly unknown[], stream: StreamInput = {}) {
    const flow = createItemsFlow(records, { config: configOf(stream) });
    expect((await flow.sync()).exitCode).toBe(0);
    await resync(flow, (held) => held.slice(10));
    return flow;
  }

  it('are hashed with the others where the key is hashed from now on', async () => {
    const flow = await createReadFlow(makeItems(60));
    const config = configOf({ columns: { id: { hash: true } } });
    expect(await flow.rebuild({ config })).toMatchObject({ exitCode: 0, streams: [{ rowsKept: 0 }] });
    expect(
      await flow.query(
        'SELECT _deleted_at IS NULL AS live, min(length(id)) AS id, count(*) AS n FROM main.items GROUP BY 1 ORDER BY 1',
      ),
    ).toEqual([
      { live: false, id: 64, n: 10 },
      { live: true, id: 64, n: 50 },
    ]);
  });

  it('are in quarantine only where the current rules do not accept them', async () => {
    const odd = makeItems(60).map((item) => (item.id < 10 ? { ...item, amount: `odd ${item.id}` } : item));
    const flow = await createReadFlow(odd);
    const config = configOf({ columns: { amount: { type: 'BIGINT' } }, contract: 'discard_row' });
    const report = await flow.rebuild({ config });
    expect(report.streams[0]?.error).toBeUndefined();
    expect(report).toMatchObject({
      exitCode: 0,
      streams: [{ rowsAfter: 50, rowsKept: 0, rowsQuarantined: 10 }],
    });
    expect(await flow.query('SELECT count(*) AS n FROM main.items')).toEqual([{ n: 50 }]);
  });
});

describe('without a key, rows that left before the archive begins', () => {
  const names = ['o', 'n', 'r', 'h', 'x', 'm'];
  const row = { date: '2026-01-01', kind: 1, ...Object.fromEntries(names.map((name) => [name, [name]])) };
  const alike = (count: number) => Array.from({ length: count }, () => row);

  it.each<[string, StreamInput]>([
    ['stay marked next to equal ones that the source has', {}],
    ['stay next to equal ones that the source has', { write: 'append' }],
  ])('%s', async (_, rules) => {
    const stream: StreamInput = { ...rules, key: 'auto', maxDeleteRatio: 1 };
    const flow = createItemsFlow(alike(5), { config: configOf(stream) });
    expect((await flow.sync()).exitCode).toBe(0);
    await resync(flow, (held) => held.slice(2));
    dropFirstScan(flow);
    await resync(flow, (held) => held.slice(1));
    const before = await flow.query(READ);
    expect(before).toHaveLength(5);
    const report = await flow.rebuild();
    expect(await flow.query(READ)).toEqual(before);
    expect(report).toMatchObject({ exitCode: 0, streams: [{ rowsKept: 2 }] });
  });
});

describe('where one slice has a key and another has none, rows that left before the archive begins', () => {
  it.each([
    ['stay in the slice with a key: the first', 'keep', ['acme', 'globex'], 21],
    ['stay in the slice with a key: the second', 'keep', ['globex', 'acme'], 21],
    ['stay marked in both: the first has a key', 'soft', ['acme', 'globex'], 22],
    ['stay marked in both: the second has a key', 'soft', ['globex', 'acme'], 22],
  ] as const)('%s', async (_, deletes, entities, held) => {
    const dated = (entity: string, day: number, kind: number) => ({
      entity,
      date: `2026-01-${10 + day}`,
      kind: [kind],
    });
    const unique = Array.from({ length: 11 }, (_, day) => dated('acme', day, 1));
    const alike = Array.from({ length: 11 }, (_, at) => dated('globex', at % 4, at % 3));
    const flow = createItemsFlow([...unique, ...alike], {
      config: configOf({ key: 'auto', deletes, params: { entity: [...entities] }, sliceBy: ['entity'] }),
      endpoint: { filters: { entity: ['entity'] } },
    });
    expect((await flow.sync()).exitCode).toBe(0);
    const keys = await flow.query(
      'SELECT slice, key_fields IS NULL AS none FROM _sluice.checkpoints ORDER BY slice',
    );
    expect(keys.map(({ none }) => none)).toEqual([false, true]);
    const scanned = flow.settings().streams.flatMap(sliceStream);
    const first = scanned.map((slice) => {
      const folder = archiveFolder(flow.stateDir, slice);
      return readdirSync(folder).flatMap((name) => (name.endsWith('.json') ? join(folder, name) : []));
    });
    await resync(flow, (records) => [...records.slice(1, 11), ...records.slice(12)]);
    for (const path of first.flat()) rmSync(path);
    const before = await flow.query(READ);
    expect(before).toHaveLength(held);
    const report = await flow.rebuild();
    expect(await flow.query(READ)).toEqual(before);
    expect(report).toMatchObject({ exitCode: 0, streams: [{ rowsKept: held - 20 }] });
  });
});

describe('with `write: append`, rows that are older than the archive', () => {
  const restate = (records: readonly unknown[]) =>
    records.map((record, at) => (at < 3 ? { ...(record as object), name: 'restated', more: at } : record));

  it('stay as they were first read, whatever the archive says of them', async () => {
    const flow = createItemsFlow(makeItems(20), { config: configOf({ write: 'append' }) });
    expect((await flow.sync()).exitCode).toBe(0);
    await resync(flow, (records) => [...restate(records), ...makeItems(1, { from: 900 })]);
    dropFirstScan(flow);
    const before = await flow.query(READ);
    expect(before).toHaveLength(21);
    expect(before.filter(({ name }) => name === 'restated')).toEqual([]);
    expect(await flow.rebuild()).toMatchObject({ exitCode: 0, streams: [{ rowsAfter: 21 }] });
    expect(await flow.query(READ)).toEqual(before);
  });

  it('come from the archive where their values are the same', async () => {
    const flow = createItemsFlow(makeItems(20), { config: configOf({ write: 'append' }) });
    expect((await flow.sync()).exitCode).toBe(0);
    await resync(flow, (records) => records);
    dropFirstScan(flow);
    const config = configOf({ write: 'append', columns: { name: { hash: true } } });
    expect(await flow.rebuild({ config })).toMatchObject({ exitCode: 0, streams: [{ rowsKept: 0 }] });
    expect(await flow.query('SELECT DISTINCT length(name) AS n FROM main.items')).toEqual([{ n: 64 }]);
  });
});
