import { describe, expect, it } from 'vitest';
import { listQuarantine } from '../../src/commands/contracts/read-quarantine.ts';
import { retryQuarantine } from '../../src/commands/contracts/retry-quarantine.ts';
import { removeContractFile, writeContractFile } from '../support/contract-flow.ts';
import {
  createItemsFlow,
  DAY_MS,
  type Flow,
  noBuiltIns,
  type RunOptions,
  streamOf,
} from '../support/sync-harness.ts';

interface Item {
  readonly id: number | string;
  readonly date: string | null;
  readonly v: number;
  readonly entity?: string;
}

const day = (at: number) => new Date(Date.UTC(2026, 0, 1) + at * DAY_MS).toISOString().slice(0, 10);
const others: readonly Item[] = Array.from({ length: 60 }, (_, at) => ({
  id: 100 + at,
  date: day(at % 30),
  v: 1,
}));
const withFirst = (first: Partial<Item>): readonly Item[] => [
  { id: 1, date: day(29), v: 10, ...first },
  ...others,
];

const strict = { type: 'object', properties: { id: {}, date: {}, entity: {}, v: { maximum: 100 } } };

/** A project whose source changes from day to day, with a contract that 500 breaks until it is widened. */
function begin(more: object = {}, first: readonly Item[] = withFirst({}), endpoint: object = {}) {
  const stream = { path: 'items', paginated: true, cursor: false, key: ['id'], ...more };
  const flow = createItemsFlow(first, { stream: stream as never, endpoint });
  const configOf = (changed: object) =>
    ({ streams: { ...noBuiltIns, items: { ...stream, ...changed } } }) as never;
  const config = configOf({});
  writeContractFile(flow, strict);
  return {
    flow,
    configOf,
    async sync(records?: readonly Item[], options: RunOptions = {}) {
      flow.clock.stepWall(DAY_MS);
      if (records !== undefined) flow.simulator.editRecords('items', () => records);
      const report = await flow.sync({ force: true, config, ...options });
      expect(report.exitCode, streamOf(report).error?.message).toBe(0);
      return report;
    },
    async retry() {
      flow.clock.stepWall(1_000);
      removeContractFile(flow);
      const report = await retryQuarantine(flow.settings(config), { clock: flow.clock });
      expect(report.exitCode).toBe(0);
      return report.streams;
    },
  };
}

const valuesOf = async (flow: Flow, id: number | string = 1) =>
  (await flow.query(`SELECT v FROM main.items WHERE id::VARCHAR = '${id}'`)).map(({ v }) => v);
const countRows = async (flow: Flow) => (await flow.query('SELECT count(*) AS n FROM main.items'))[0]?.['n'];
const held = (flow: Flow) => flow.query('SELECT absent_since FROM _sluice.quarantine');

describe('a record in quarantine that the source no longer has', () => {
  it('does not replace a row that was fixed to what the table still had', async () => {
    const project = begin();
    const { flow } = project;
    await project.sync();
    await project.sync(withFirst({ v: 500 }));
    const repaired = await project.sync(withFirst({ v: 10 }));
    expect(repaired.rows).toMatchObject({ unchanged: 61 });
    expect(await held(flow)).toEqual([{ absent_since: repaired.runId }]);
    const listed = await listQuarantine(flow.settings(), { limit: 5 });
    expect(listed.records).toMatchObject([{ absentSince: repaired.runId }]);
    expect(await project.retry()).toMatchObject([
      { tried: 1, outdated: 1, inserted: 0, updated: 0, left: 0 },
    ]);
    expect(await valuesOf(flow)).toEqual([10]);
    expect(await held(flow)).toEqual([]);
  });

  it.each(['hard', 'soft'] as const)('does not come back after its row was deleted (%s)', async (deletes) => {
    const project = begin({ deletes });
    const { flow } = project;
    await project.sync();
    await project.sync(withFirst({ v: 500 }));
    await project.sync(others);
    const before = await flow.rows('items');
    expect(await project.retry()).toMatchObject([{ tried: 1, outdated: 1, inserted: 0, updated: 0 }]);
    expect(await flow.rows('items')).toEqual(before);
  });

  it('becomes a row where rows stay that the source no longer has, and there is none of its key', async () => {
    const project = begin({}, others);
    const { flow } = project;
    await project.sync();
    await project.sync(withFirst({ v: 500 }));
    await project.sync(others);
    expect(await project.retry()).toMatchObject([{ tried: 1, outdated: 0, inserted: 1 }]);
    expect(await valuesOf(flow)).toEqual([500]);
  });

  it('is distinguished from one that still comes, however many scans saw it', async () => {
    const project = begin();
    const { flow } = project;
    await project.sync();
    await project.sync(withFirst({ v: 500 }));
    await project.sync();
    expect(await held(flow)).toEqual([{}]);
    expect(await project.retry()).toMatchObject([{ updated: 1, outdated: 0 }]);
    expect(await valuesOf(flow)).toEqual([500]);
  });

  it('is one that comes again once it does', async () => {
    const project = begin();
    const { flow } = project;
    await project.sync();
    await project.sync(withFirst({ v: 500 }));
    await project.sync(withFirst({ v: 10 }));
    await project.sync(withFirst({ v: 500 }));
    expect(await project.retry()).toMatchObject([{ updated: 1, outdated: 0 }]);
    expect(await valuesOf(flow)).toEqual([500]);
  });

  it('is not counted in addition to its fixed version where there is no key', async () => {
    const twins = (first: Partial<Item>) => {
      const [one] = withFirst(first);
      return [one, ...Array.from({ length: 60 }, () => ({ id: 5, date: day(3), v: 1 }))] as readonly Item[];
    };
    const project = begin({ key: 'auto' }, twins({}));
    const { flow } = project;
    await project.sync();
    await project.sync(twins({ v: 500 }));
    expect(await countRows(flow)).toBe(60);
    await project.sync(twins({}));
    expect(await countRows(flow)).toBe(61);
    expect(await project.retry()).toMatchObject([{ outdated: 1, inserted: 0 }]);
    expect(await countRows(flow)).toBe(61);
    expect(await valuesOf(flow)).toEqual([10]);
  });
});

describe('a record that is newer than the row of its key', () => {
  it('replaces it, also after a rebuild that gave the row a new version', async () => {
    const history = { history: true, columns: { v: { type: 'VARCHAR' } } };
    const project = begin({ history: true }, withFirst({ v: 10 }).concat({ id: 2, date: day(1), v: 1.5 }));
    const { flow } = project;
    await project.sync();
    await project.sync(withFirst({ v: 500 }));
    flow.clock.stepWall(DAY_MS);
    const config = project.configOf(history);
    expect((await flow.rebuild({ config })).exitCode).toBe(0);
    expect(
      await flow.query(`SELECT v, _synced_at = _valid_from AS since FROM main.items
      JOIN main.items_history USING (id, v) WHERE id = 1`),
    ).toEqual([{ v: '10', since: true }]);
    removeContractFile(flow);
    const report = await retryQuarantine(flow.settings(config), { clock: flow.clock });
    expect(report.streams).toMatchObject([{ tried: 1, outdated: 0, updated: 1 }]);
    expect(await valuesOf(flow)).toEqual(['500']);
  });
});

describe('a record whose key config gives another type since', () => {
  it('waits for a sync', async () => {
    const moment = (at: number) => `2026-01-01T00:00:${String(at).padStart(2, '0')}.000Z`;
    const keyed = others.slice(0, 20).map((item, at) => ({ ...item, id: moment(at) }));
    const project = begin({ maxInvalidRatio: 1 }, [...keyed, { id: moment(30), date: day(29), v: 500 }]);
    const { flow } = project;
    await project.sync();
    const config = project.configOf({ columns: { id: { type: 'VARCHAR' } } });
    removeContractFile(flow);
    const { exitCode, streams } = await retryQuarantine(flow.settings(config), { clock: flow.clock });
    expect(exitCode).toBe(2);
    expect(streams[0]?.error?.message).toMatch(/a column of its key \(id\) a different type/);
    await project.sync(undefined, { config });
    expect(await countRows(flow)).toBe(21);
  });
});

describe('an incremental scan', () => {
  const dated = { cursor: { field: 'date', param: 'startDate', lookback: '3d' }, deletes: 'hard' };
  const at = (date: string, v: number): readonly Item[] => withFirst({ date, v });

  it('reports the records in its days', async () => {
    const project = begin(dated);
    const { flow } = project;
    await project.sync();
    expect(streamOf(await project.sync(at(day(29), 500))).mode).toBe('incremental');
    await project.sync(at(day(29), 10));
    expect(await project.retry()).toMatchObject([{ outdated: 1, updated: 0 }]);
    expect(await valuesOf(flow)).toEqual([10]);
  });

  it('says nothing of records before them', async () => {
    const project = begin(dated, at(day(2), 10));
    const { flow } = project;
    await project.sync();
    await project.sync(at(day(2), 500), { fullRefresh: true });
    await project.sync();
    expect(await held(flow)).toEqual([{}]);
    expect(await project.retry()).toMatchObject([{ outdated: 0, updated: 1 }]);
    expect(await valuesOf(flow)).toEqual([500]);
  });

  it('reports a record in no day once a row of its key comes', async () => {
    const undated = {
      ...strict,
      properties: { ...strict.properties, date: { type: 'string', pattern: '^2026' } },
    };
    const project = begin(dated);
    const { flow } = project;
    writeContractFile(flow, undated);
    await project.sync();
    await project.sync(withFirst({ date: '1926-01-30' }), { fullRefresh: true });
    expect(await held(flow)).toEqual([{}]);
    const repaired = await project.sync(withFirst({}));
    expect(streamOf(repaired).mode).toBe('incremental');
    expect(repaired.rows).toMatchObject({ updated: 0, inserted: 0 });
    expect(await project.retry()).toMatchObject([{ outdated: 1, updated: 0 }]);
    expect(await flow.query('SELECT date::VARCHAR AS date FROM main.items WHERE id = 1')).toEqual([
      { date: day(29) },
    ]);
  });
});

describe('the scan of a slice', () => {
  const sliced = { key: ['id'], params: { entity: ['a', 'b'] }, sliceBy: ['entity'] };
  const both = (v: number) => [
    ...withFirst({ v, entity: 'a' }),
    { id: 1, date: day(29), v: 10, entity: 'b' },
  ];

  it('says nothing of the records of another', async () => {
    const project = begin(sliced, both(10), { filters: { entity: ['entity'] } });
    const { flow } = project;
    await project.sync();
    await project.sync(both(500));
    const onlyB = { ...sliced, params: { entity: ['b'] } };
    await project.sync(both(10), { config: project.configOf(onlyB) });
    expect(await held(flow)).toEqual([{}]);
    await project.sync();
    expect(await project.retry()).toMatchObject([{ slice: 'entity=a', outdated: 1, updated: 0 }]);
    expect(await valuesOf(flow)).toEqual([10, 10]);
  });
});

describe('a scan that is not proof', () => {
  it('of a few records reports those whose rows it brought', async () => {
    const project = begin();
    const { flow } = project;
    await project.sync();
    await project.sync([...withFirst({ v: 500 }), { id: 'late', date: day(1), v: 600 }]);
    await project.sync(withFirst({}), { limit: 10 });
    expect(await project.retry()).toMatchObject([{ tried: 2, outdated: 1, inserted: 1 }]);
    expect(await valuesOf(flow)).toEqual([10]);
    expect(await valuesOf(flow, 'late')).toEqual([600]);
  });
});
