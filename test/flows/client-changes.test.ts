import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeSingerSchema } from '../../src/clients/singer-catalog.ts';
import { listClientStreams, withChanges } from '../../src/commands/clients/read-changes.ts';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { damageFooter } from '../support/damage-file.ts';
import { lakeTableOf } from '../support/read-lake.ts';
import { createChanging, keyed, receive, rekeyed } from '../support/client-flow.ts';
import { createItemsFlow, DAY_MS, makeItems } from '../support/sync-harness.ts';

describe('changes for a client', () => {
  it('are all rows at first, then those that are new, changed and deleted, each key once', async () => {
    const { flow, edit, syncAll } = createChanging();
    await syncAll();
    const first = await receive(flow);
    expect(first).toMatchObject({ isWhole: true, again: undefined, deleted: [] });
    expect(first.rows).toHaveLength(100);
    expect(await receive(flow, first.position)).toMatchObject({ isWhole: false, rows: [], deleted: [] });
    edit((records) => {
      records[3] = { ...records[3], name: 'changed' };
      records.splice(10, 2);
      records.push({ id: 500, date: '2026-01-03', name: 'new', amount: 1 });
    });
    await syncAll();
    const second = await receive(flow, first.position);
    expect(second.rows.map(({ id }) => id).toSorted()).toEqual([3, 500]);
    expect(second.deleted.map(({ id }) => id).toSorted()).toEqual([10, 11]);
    // A state that did not arrive: the same again, whatever was read in between.
    expect(await receive(flow, first.position)).toEqual(second);
    expect((await receive(flow, second.position)).rows).toEqual([]);
  });

  it('have rows whose columns were equal before and after, or have changed places', async () => {
    const { flow, edit, syncAll } = createChanging();
    edit((records) => {
      for (const [at, record] of records.entries())
        records[at] = { ...record, amount: at, price: at, from: `x${at}`, to: `y${at}` };
    });
    await syncAll();
    const first = await receive(flow);
    edit((records) => {
      records[3] = { ...records[3], amount: 1_000, price: 1_000 };
      records[4] = { ...records[4], from: 'y4', to: 'x4' };
      records[5] = { ...records[5], amount: null, price: null };
    });
    await syncAll();
    const next = await receive(flow, first.position);
    expect(next.rows).toMatchObject([
      { amount: 1_000, price: 1_000 },
      { from: 'y4', to: 'x4' },
      { amount: null, price: null },
    ]);
  });

  it('have deletes that the table only marks, and a row that came back is a row', async () => {
    const { flow, edit, syncAll } = createChanging({ ...keyed, deletes: 'soft' });
    await syncAll();
    const first = await receive(flow);
    let gone: Record<string, unknown> | undefined;
    edit((records) => void ([gone] = records.splice(5, 1)));
    await syncAll();
    const second = await receive(flow, first.position);
    expect(second).toMatchObject({ rows: [], deleted: [{ id: 5 }] });
    edit((records) => void records.push(gone ?? {}));
    await syncAll();
    expect(await receive(flow, second.position)).toMatchObject({ rows: [{ id: 5 }], deleted: [] });
  });

  it('have no deletes where the table keeps the rows', async () => {
    const { flow, edit, syncAll } = createChanging({ ...keyed, deletes: 'keep' });
    await syncAll();
    const first = await receive(flow);
    edit((records) => void records.splice(5, 10));
    await syncAll();
    expect(await receive(flow, first.position)).toMatchObject({ isWhole: false, rows: [], deleted: [] });
  });

  it('are the whole table each time where rows have no key', async () => {
    const same = Array.from({ length: 4 }, () => ({ name: 'alike', amount: 1.5 }));
    const flow = createItemsFlow(same, { stream: { cursor: false, write: 'replace' } });
    await flow.sync();
    const first = await receive(flow);
    expect(first).toMatchObject({ isWhole: true, again: undefined });
    expect(first.rows).toHaveLength(4);
    expect((await receive(flow, first.position)).rows).toHaveLength(4);
  });

  it('are the whole table, and say so, for a state of a log that is gone', async () => {
    const { flow, syncAll } = createChanging();
    await syncAll();
    const first = await receive(flow);
    rmSync(join(flow.stateDir, 'changes.duckdb'));
    const again = await receive(flow, first.position);
    expect(again.isWhole).toBe(true);
    expect(again.again).toContain('the state is not of the change log here');
    expect(again.rows).toHaveLength(100);
  });

  it('are the whole table for a state of a version that the restored log never had', async () => {
    const { flow, edit, syncAll } = createChanging();
    await syncAll();
    const first = await receive(flow);
    const log = join(flow.stateDir, 'changes.duckdb');
    const copy = join(flow.folder, 'copy.duckdb');
    copyFileSync(log, copy);
    edit((records) => void records.push({ id: 500, date: '2026-01-03', name: 'for a day', amount: 1 }));
    await syncAll();
    const second = await receive(flow, first.position);
    expect(second.rows).toMatchObject([{ id: 500 }]);
    copyFileSync(copy, log);
    edit((records) => {
      records.pop();
      records[3] = { ...records[3], name: 'changed' };
    });
    await syncAll();
    // What the log says of it is newer than the state, but of row 500 it knows nothing.
    const third = await receive(flow, second.position);
    expect(third).toMatchObject({ isWhole: true, again: expect.stringContaining('older copy') as string });
    expect((await receive(flow, second.position)).isWhole).toBe(true);
    expect(await receive(flow, third.position)).toMatchObject({ isWhole: false, rows: [], deleted: [] });
  });

  it('are the whole table once a client wants a column that it did not take before', async () => {
    const { flow, syncAll } = createChanging();
    await syncAll();
    const first = await receive(flow, undefined, { columns: ['id', 'date'] });
    expect(first.position.without).toEqual(['name', 'amount']);
    const same = await receive(flow, first.position, { kept: new Set(['id', 'date', 'name']) });
    expect(same).toMatchObject({ isWhole: true, again: 'the catalog did not have name before' });
    expect(same.position.without).toEqual(['amount']);
    const still = await receive(flow, same.position, { kept: new Set(['id', 'date', 'name']) });
    expect(still).toMatchObject({ isWhole: false, rows: [] });
    const all = await receive(flow, still.position);
    expect(all.rows[0]).toHaveProperty('amount');
    expect(all.position).not.toHaveProperty('without');
    expect(await receive(flow, all.position)).toMatchObject({ isWhole: false, rows: [] });
  });

  it('survive a rebuild and a restored state folder: rows are compared by value', async () => {
    const { flow, syncAll } = createChanging();
    await syncAll();
    const first = await receive(flow);
    await flow.rebuild();
    expect(await receive(flow, first.position)).toMatchObject({ isWhole: false, rows: [], deleted: [] });
    rmSync(join(flow.stateDir, 'work.duckdb'));
    await syncAll();
    expect(await receive(flow, first.position)).toMatchObject({ isWhole: false, rows: [], deleted: [] });
  });

  it('are the whole table after the key changed, or a mask', async () => {
    const { flow, syncAll } = createChanging();
    await syncAll();
    const first = await receive(flow);
    flow.clock.stepWall(DAY_MS);
    await flow.sync({ fullRefresh: true, config: rekeyed });
    const second = await receive(flow, first.position, { config: rekeyed });
    expect(second.again).toContain('the key or the masks of the table changed');
    const masked = {
      streams: { items: { ...rekeyed.streams.items, columns: { name: { exclude: true as const } } } },
    };
    flow.clock.stepWall(DAY_MS);
    await flow.sync({ fullRefresh: true, config: masked });
    const third = await receive(flow, second.position, { config: masked });
    expect(third.isWhole).toBe(true);
    expect(third.rows[0]).not.toHaveProperty('name');
  });

  it('leave no key behind that a sync has masked, and all of them where a table was rebuilt', async () => {
    const { flow, syncAll } = createChanging();
    await syncAll();
    await receive(flow);
    const log = join(flow.stateDir, 'changes.duckdb');
    await flow.rebuild();
    expect(existsSync(log)).toBe(true);
    const own = { path: 'items', paginated: true, ...keyed, columns: { name: { exclude: true as const } } };
    flow.clock.stepWall(DAY_MS);
    await flow.sync({ fullRefresh: true, config: { streams: { items: own } } });
    expect(existsSync(log)).toBe(false);
  });

  it('are not of a table without the masks that the config has by now', async () => {
    const { flow, syncAll } = createChanging();
    await syncAll();
    await receive(flow);
    const own = { path: 'items', paginated: true, ...keyed, columns: { name: { exclude: true as const } } };
    const masked = { streams: { items: own } };
    // The sync that would apply it did not come that far.
    await expect(receive(flow, undefined, { config: masked })).rejects.toThrow('there is no table');
    flow.clock.stepWall(DAY_MS);
    await flow.sync({ fullRefresh: true, config: masked });
    expect((await receive(flow, undefined, { config: masked })).rows[0]).not.toHaveProperty('name');
  });

  it('send a row again whose column became wider, and not the rows to which a new column brought nothing', async () => {
    const { flow, edit, syncAll } = createChanging();
    await syncAll();
    const first = await receive(flow);
    edit((records) => void (records[0] = { ...records[0], extra: 'x' }));
    await syncAll();
    const second = await receive(flow, first.position);
    expect(second.rows).toMatchObject([{ id: 0, extra: 'x' }]);
    edit((records) => void (records[1] = { ...records[1], amount: 'many' }));
    await syncAll();
    const third = await receive(flow, second.position);
    expect(third.rows.map(({ id }) => id)).toContain(1);
  });

  it('hold values as exact as the table does, one line each', async () => {
    const record = rawJson(
      '{"id":9007199254740993,"huge":123456789012345678901234567890,"at":"2026-01-01T10:00:00+02:00","list":[1.10,\n 9007199254740993],"none":null,"day":"2026-01-01","quote":"a\\"b\\n","half":0.5}',
    );
    const flow = createItemsFlow([record, record].slice(1), { stream: { key: ['id'], cursor: false } });
    await flow.sync();
    const lines = await withChanges(flow.settings(), { clock: flow.clock }, async ({ deliver }) => {
      const found = await deliver({ stream: 'items', from: undefined, wantsWhole: false });
      const all = [];
      for await (const chunk of found?.rows ?? []) all.push(...chunk.map(({ members }) => members));
      return all;
    });
    expect(lines).toEqual([
      '"id":9007199254740993,"huge":"123456789012345678901234567890","at":"2026-01-01T08:00:00.000000Z","list":[1.1,9007199254740993],"day":"2026-01-01","quote":"a\\"b\\n","half":0.5',
    ]);
  });

  it('have fields that are named like columns of the protocols, under a name of their own', async () => {
    const named = {
      id: 1,
      _sdc_deleted_at: 'a',
      _sdc_deleted_at__api: 'b',
      _ab_cdc_cursor: 7,
      _ab_cdc_updated_at: 'c',
    };
    const flow = createItemsFlow([named], {
      stream: { key: ['id', '_ab_cdc_cursor'], cursor: false, deletes: 'hard', maxDeleteRatio: 1 },
    });
    await flow.sync();
    const first = await receive(flow);
    const sent = { _sdc_deleted_at__api: 'a', _sdc_deleted_at__api__api: 'b', _ab_cdc_updated_at__api: 'c' };
    expect(first.rows).toEqual([{ id: 1, _ab_cdc_cursor__api: 7, ...sent }]);
    const [stream] = await listClientStreams(flow.settings());
    if (stream === undefined) throw new Error('there is no stream');
    expect(stream.key).toEqual(['id', '_ab_cdc_cursor__api']);
    const { properties } = describeSingerSchema(stream);
    expect(Object.keys(properties as object).toSorted()).toEqual(
      [...Object.keys(first.rows[0] ?? {}), '_sdc_deleted_at'].toSorted(),
    );
    expect(Object.keys(first.rows[0] ?? {})).toEqual(stream.columns.map(({ name }) => name));
    flow.simulator.editRecords('items', () => [{ ...named, id: 2 }]);
    flow.clock.stepWall(DAY_MS);
    await flow.sync({ fullRefresh: true });
    const second = await receive(flow, first.position);
    expect(second.rows).toMatchObject([{ id: 2, ...sent }]);
    expect(second.deleted).toEqual([{ id: 1, _ab_cdc_cursor__api: 7 }]);
  });

  it('have keys with dates, and none for a table without rows', async () => {
    const { flow, edit, syncAll } = createChanging({ ...keyed, key: ['date', 'id'] });
    await syncAll();
    const first = await receive(flow, undefined, { columns: ['id', 'date'] });
    expect(first.rows[0]).toEqual({ id: 0, date: '2026-01-01' });
    edit((records) => void records.splice(0, records.length, ...makeItems(1, { from: 7 })));
    await syncAll();
    const second = await receive(flow, first.position);
    expect(second.deleted).toHaveLength(99);
    expect(second.deleted[0]).toMatchObject({ date: expect.stringMatching(/^2026-01-0/) as string });
  });
});

describe('changes for a client whose log has a damaged block', () => {
  it('are all rows once, and then those that change', async () => {
    const { flow, edit, syncAll } = createChanging(keyed, 5_000);
    await syncAll();
    const first = await receive(flow);
    const log = join(flow.stateDir, 'changes.duckdb');
    const bytes = readFileSync(log);
    // Past the headers and the block that the engine reads to open it.
    for (let at = 12_288 + 262_144; at < bytes.length; at += 262_144)
      bytes[at + 200] = (bytes[at + 200] ?? 0) ^ 1;
    writeFileSync(log, bytes);
    const again = await receive(flow, first.position);
    expect(again).toMatchObject({ isWhole: true });
    expect(again.rows).toHaveLength(5_000);
    edit((records) => void (records[3] = { ...records[3], name: 'changed' }));
    await syncAll();
    expect((await receive(flow, again.position)).rows).toMatchObject([{ id: 3 }]);
  });
});

describe('changes for a client of a lake', () => {
  it('are not sent while a file of it is damaged: its rows might look deleted or changed', async () => {
    const flow = createItemsFlow(makeItems(50), {
      stream: keyed,
      config: { destination: { parquet: './lake' } },
    });
    expect((await flow.sync()).exitCode).toBe(0);
    const first = await receive(flow);
    expect(first.rows).toHaveLength(50);
    const lake = join(flow.folder, 'lake');
    const [{ path } = { path: '' }] = lakeTableOf(lake).files;
    damageFooter(join(lake, 'items', 'current', path));
    await expect(receive(flow, first.position)).rejects.toMatchObject({
      exitCode: 6,
      code: 'state_damaged',
      message: expect.stringContaining(path) as unknown,
    });
  });
});
