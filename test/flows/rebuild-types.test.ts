import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ForcedType } from '../../src/model/schema.ts';
import { archiveOf, listArchive } from '../support/archive-files.ts';
import { createItemsFlow, DAY_MS, type Flow, type FlowConfig, noBuiltIns } from '../support/sync-harness.ts';

// Rows that left the source before the archive begins are converted by a rebuild as a sync would convert them.

const configOf = (type?: ForcedType): FlowConfig => ({
  streams: {
    ...noBuiltIns,
    items: {
      ...{ path: 'items', paginated: true, key: ['id'], cursor: false, history: true, maxDeleteRatio: 1 },
      ...(type && { columns: { v: { type } } }),
    },
  },
});

/** Rows with these values by turns, of which the first five left the source before the archive begins. */
async function createFlowWithLeft(values: readonly unknown[], type?: ForcedType): Promise<Flow> {
  const rows = Array.from({ length: 12 }, (_, id) => ({ id, v: values[id % values.length] }));
  const config = configOf(type);
  const flow = createItemsFlow(rows);
  expect((await flow.sync({ config })).exitCode).toBe(0);
  flow.simulator.editRecords('items', (records) => records.slice(5));
  await flow.clock.sleep(DAY_MS);
  expect((await flow.sync({ config, fullRefresh: true })).exitCode).toBe(0);
  const [oldest] = listArchive(flow, '.json').toSorted();
  rmSync(join(archiveOf(flow), oldest ?? ''));
  await flow.clock.sleep(DAY_MS);
  return flow;
}

const readRows = (flow: Flow) => flow.query('SELECT id, v::VARCHAR AS v FROM main.items ORDER BY id');
const readVersions = (flow: Flow) =>
  flow.query(
    'SELECT id, v::VARCHAR AS v, _valid_from, _valid_to FROM main.items_history ORDER BY id, _valid_from',
  );

const withoutValues = (rows: Awaited<ReturnType<Flow['query']>>) =>
  rows.map((row) => ({ ...row, v: undefined }));

describe('rows that left the source', () => {
  it.each<[readonly unknown[], ForcedType | undefined, ForcedType]>([
    [['abc', [1], 5], undefined, 'VARCHAR'],
    [['5', 'true', 'abc', '{}'], undefined, 'JSON'],
    [[[1], { a: 1 }], 'VARCHAR', 'JSON'],
    [[true, false], undefined, 'VARCHAR'],
    [[0.5, 1e21], undefined, 'VARCHAR'],
    [['2026-01-31T10:00:00Z'], undefined, 'VARCHAR'],
    [['2026-01-31T10:00:00.5'], undefined, 'JSON'],
    [['5', '1.0', '1e2'], undefined, 'BIGINT'],
    [['2026-01-31T10:00:00+02:00', '2026-01-31T10:00Z'], 'VARCHAR', 'TIMESTAMPTZ'],
  ])('and have the values %j, once %s, become %s as in a sync', async (values, before, type) => {
    const [synced, rebuilt] = [
      await createFlowWithLeft(values, before),
      await createFlowWithLeft(values, before),
    ];
    expect((await synced.sync({ config: configOf(type), fullRefresh: true })).exitCode).toBe(0);
    const versions = await readVersions(rebuilt);
    expect(await rebuilt.rebuild({ config: configOf(type) })).toMatchObject({
      exitCode: 0,
      streams: [{ rowsKept: 5 }],
    });
    expect(await readRows(rebuilt)).toEqual(await readRows(synced));
    // No value changed: the versions are those there were.
    expect(withoutValues(await readVersions(rebuilt))).toEqual(withoutValues(versions));
  });

  it.each<[readonly unknown[], ForcedType]>([
    [[true, false], 'BIGINT'],
    [[0, 1], 'BOOLEAN'],
    [['2026-01-31'], 'TIMESTAMP'],
    [['2026-01-31T00:00:00'], 'DATE'],
    [['2026-01-31T00:00:00'], 'TIMESTAMPTZ'],
  ])('keep the rebuild from a type that is not theirs: %j as %s', async (values, type) => {
    const flow = await createFlowWithLeft(values);
    const [rows, versions] = [await readRows(flow), await readVersions(flow)];
    const { exitCode, streams } = await flow.rebuild({ config: configOf(type) });
    expect(exitCode).toBe(6);
    expect(streams[0]?.error?.message).toContain('do not fit the types that v would have');
    expect([await readRows(flow), await readVersions(flow)]).toEqual([rows, versions]);
    // Following the hint.
    expect(streams[0]?.error?.hint).toContain('set type: VARCHAR for v in streams.items.columns');
    expect(await flow.rebuild({ config: configOf('VARCHAR') })).toMatchObject({
      exitCode: 0,
      streams: [{ rowsKept: 5 }],
    });
    expect((await readRows(flow)).map(({ v }) => v)).toEqual(
      rows.map(({ id }) => String(values[Number(id) % values.length])),
    );
  });
});

it('a field that holds only nulls since then has one column', async () => {
  const flow = await createFlowWithLeft([0.5, 1.5]);
  flow.simulator.editRecords('items', () => [5, 6, 7].map((id) => ({ id, v: null })));
  await flow.sync({ config: configOf(), fullRefresh: true });
  for (const name of listArchive(flow, '.json').toSorted().slice(0, -1)) rmSync(join(archiveOf(flow), name));
  const rows = await readRows(flow);
  expect(await flow.rebuild({ config: configOf() })).toMatchObject({ exitCode: 0 });
  expect(await readRows(flow)).toEqual(rows);
  expect(await flow.query("SELECT type FROM _sluice.contracts WHERE column_name = 'v'")).toEqual([
    { type: 'DOUBLE' },
  ]);
});

it('values that only earlier versions have keep a rebuild from types that cannot hold them', async () => {
  const flow = await createFlowWithLeft(['five']);
  flow.simulator.editRecords('items', () => [0, 1, 2].map((id) => ({ id, v: id })));
  await flow.sync({ config: configOf(), fullRefresh: true });
  for (const name of listArchive(flow, '.json').toSorted().slice(0, -1)) rmSync(join(archiveOf(flow), name));
  const { streams } = await flow.rebuild({ config: configOf(), archivedOnly: true });
  expect(streams[0]?.error).toMatchObject({
    message: expect.stringContaining(
      'values in items_history do not fit the types that v would have',
    ) as string,
    hint: expect.stringContaining('set type: VARCHAR for v') as string,
  });
  const versions = await readVersions(flow);
  const config = configOf('VARCHAR');
  expect(await flow.rebuild({ config, archivedOnly: true })).toMatchObject({ exitCode: 0 });
  expect((await readVersions(flow)).map(({ v }) => v)).toEqual(versions.map(({ v }) => v));
});
