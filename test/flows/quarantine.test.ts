import { describe, expect, it } from 'vitest';
import { listQuarantine, showQuarantined } from '../../src/commands/contracts/read-quarantine.ts';
import { retryQuarantine, type RetryOptions } from '../../src/commands/contracts/retry-quarantine.ts';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { readQuarantine, removeContractFile, writeContractFile } from '../support/contract-flow.ts';
import { expectRows } from '../support/published.ts';
import {
  createItemsFlow,
  type Flow,
  type FlowConfig,
  HOUR_MS,
  type ItemsOptions,
  makeItems,
  noBuiltIns,
  streamOf,
} from '../support/sync-harness.ts';

const items = makeItems(120);
const bad = items.filter(({ amount }) => amount > 800);
const good = items.filter(({ amount }) => amount <= 800);
const strict = { type: 'object', properties: { id: {}, date: {}, name: {}, amount: { maximum: 800 } } };
const stream = { path: 'items', paginated: true, cursor: false as const, maxInvalidRatio: 0.9 };

function configOf(more: object = {}): FlowConfig {
  return { streams: { ...noBuiltIns, items: { ...stream, ...more } } };
}

/** A flow with the bad items in quarantine and a contract that would now allow them. */
async function holdBack(more: object = { key: ['id'] }, options: ItemsOptions = {}): Promise<Flow> {
  const flow = createItemsFlow(items, { ...options, stream: { ...stream, ...more } });
  writeContractFile(flow, strict);
  const report = await flow.sync();
  expect(report.rows, streamOf(report).error?.message).toMatchObject({
    inserted: good.length,
    quarantined: bad.length,
  });
  removeContractFile(flow);
  flow.clock.stepWall(HOUR_MS);
  return flow;
}

function retry(flow: Flow, more: object = { key: ['id'] }, options: RetryOptions = {}) {
  return retryQuarantine(flow.settings(configOf(more)), { clock: flow.clock, ...options });
}

describe('retrying what is in quarantine', () => {
  it('loads what the contract now accepts, without a request, and reports it as a run', async () => {
    const flow = await holdBack();
    const requests = flow.simulator.log.length;
    const report = await retry(flow);
    expect(report).toMatchObject({
      exitCode: 0,
      streams: [{ stream: 'items', tried: bad.length, inserted: bad.length, left: 0, outdated: 0 }],
    });
    expect(report.published).toBeDefined();
    expect(flow.simulator.log).toHaveLength(requests);
    expect(await flow.rows('items')).toEqual(expectRows(items));
    expect(await readQuarantine(flow)).toEqual([]);
    expect(
      await flow.query(
        `SELECT status, rows_inserted, requests FROM _sluice.runs WHERE run_id = '${report.runId}'`,
      ),
    ).toEqual([{ status: 'complete', rows_inserted: bad.length, requests: 0 }]);
    expect(
      await flow.query(
        `SELECT stream, rows_inserted FROM _sluice.stream_runs WHERE run_id = '${report.runId}'`,
      ),
    ).toEqual([{ stream: 'items', rows_inserted: bad.length }]);
    // What a sync finds afterwards is what a sync would have left.
    expect((await flow.sync({ force: true, config: configOf({ key: ['id'] }) })).rows).toMatchObject({
      unchanged: 120,
      inserted: 0,
    });
  });

  it('says why nothing was accepted, and publishes nothing', async () => {
    const flow = await holdBack();
    writeContractFile(flow, strict);
    const before = await readQuarantine(flow);
    const report = await retry(flow);
    expect(report).toMatchObject({
      exitCode: 0,
      published: undefined,
      streams: [
        {
          tried: bad.length,
          inserted: 0,
          left: bad.length,
          leftBecause: [{ path: 'amount', reason: 'is more than 800', records: bad.length }],
        },
      ],
    });
    expect(await readQuarantine(flow)).toEqual(before);
  });

  it('loads only the records that pass', async () => {
    const flow = await holdBack();
    writeContractFile(flow, { ...strict, properties: { ...strict.properties, amount: { maximum: 900 } } });
    const report = await retry(flow);
    const still = bad.filter(({ amount }) => amount > 900).length;
    expect(report.streams).toMatchObject([{ inserted: bad.length - still, left: still }]);
    expect(await readQuarantine(flow)).toHaveLength(still);
  });

  it('takes `freeze` for what it would not allow, and fails nothing', async () => {
    const flow = await holdBack();
    writeContractFile(flow, strict);
    expect(await retry(flow, { key: ['id'], contract: 'freeze' })).toMatchObject({
      exitCode: 0,
      streams: [{ left: bad.length, error: undefined }],
    });
  });

  it('drops a record when the table has a newer row of its key, and says so', async () => {
    const flow = await holdBack();
    const [first] = bad;
    const newer = { ...first, amount: 1, name: 'newer' };
    flow.simulator.editRecords('items', () => [newer]);
    writeContractFile(flow, strict);
    await flow.sync({ force: true, config: configOf({ key: ['id'] }) });
    removeContractFile(flow);
    const report = await retry(flow);
    expect(report.streams).toMatchObject([{ outdated: 1, inserted: bad.length - 1 }]);
    expect(await flow.query(`SELECT name FROM main.items WHERE id = ${first?.id}`)).toEqual([
      { name: 'newer' },
    ]);
    expect(await readQuarantine(flow)).toEqual([]);
  });

  it('keeps the newest of several records of one key', async () => {
    const flow = createItemsFlow(
      [
        { id: 1, amount: 900, name: 'old' },
        { id: 2, amount: 1 },
      ],
      {
        stream: { ...stream, key: ['id'] },
      },
    );
    writeContractFile(flow, strict);
    await flow.sync();
    flow.clock.stepWall(HOUR_MS);
    flow.simulator.editRecords('items', () => [
      { id: 1, amount: 901, name: 'new' },
      { id: 2, amount: 1 },
    ]);
    await flow.sync({ force: true });
    removeContractFile(flow);
    flow.clock.stepWall(HOUR_MS);
    expect((await retry(flow)).streams).toMatchObject([{ tried: 2, inserted: 1, outdated: 1 }]);
    expect(await flow.query('SELECT name FROM main.items WHERE id = 1')).toEqual([{ name: 'new' }]);
  });

  it('inserts the records of a stream without a key', async () => {
    const twins = [
      ...items.map(({ name, amount }) => ({ name, amount })),
      ...bad.map(({ name, amount }) => ({ name, amount })),
    ];
    const flow = createItemsFlow([...twins, { name: 'x', amount: 1 }, { name: 'x', amount: 1 }], { stream });
    writeContractFile(flow, strict);
    await flow.sync();
    removeContractFile(flow);
    flow.clock.stepWall(HOUR_MS);
    const report = await retry(flow, {});
    expect(report.streams).toMatchObject([{ inserted: 2 * bad.length, left: 0 }]);
    expect(await flow.query('SELECT count(*) AS n FROM main.items')).toEqual([{ n: twins.length + 2 }]);
  });

  it('leaves records without a value for the key where they are', async () => {
    const flow = createItemsFlow([...items, rawJson('{"id":null,"amount":900}')], {
      stream: { ...stream, key: ['id'] },
    });
    writeContractFile(flow, strict);
    await flow.sync();
    removeContractFile(flow);
    flow.clock.stepWall(HOUR_MS);
    const report = await retry(flow);
    expect(report.streams).toMatchObject([
      { inserted: bad.length, left: 1, leftBecause: [{ path: 'id', records: 1 }] },
    ]);
    expect((await readQuarantine(flow)).map(({ record }) => record)).toEqual(['{"id":null,"amount":900}']);
  });

  it('leaves what is not an object where it is', async () => {
    const flow = createItemsFlow([...items, rawJson('[1]')], { stream: { ...stream, key: ['id'] } });
    await flow.sync();
    expect((await retry(flow)).streams).toMatchObject([
      {
        tried: 1,
        left: 1,
        leftBecause: [{ path: '', reason: 'the record is not a JSON object', records: 1 }],
      },
    ]);
  });

  it('adds the columns that come with them', async () => {
    const withNew = items.map((item) => (item.id === 5 ? { ...item, extra: '2026-01-31' } : item));
    const flow = createItemsFlow(items, { stream: { ...stream, key: ['id'] } });
    await flow.sync();
    flow.simulator.editRecords('items', () => withNew);
    await flow.sync({ force: true, config: configOf({ key: ['id'], contract: 'discard_row' }) });
    flow.clock.stepWall(HOUR_MS);
    const report = await retry(flow);
    expect(report.streams).toMatchObject([
      { updated: 1, schemaChanges: [{ column: 'extra', change: 'added', toType: 'DATE' }] },
    ]);
    expect(await flow.query('SELECT extra FROM main.items WHERE id = 5')).toEqual([{ extra: '2026-01-31' }]);
  });

  it('keeps versions where the stream has a history', async () => {
    const flow = createItemsFlow(items, { stream: { ...stream, key: ['id'], history: true } });
    await flow.sync();
    flow.clock.stepWall(HOUR_MS);
    flow.simulator.editRecords('items', () => items.map((item) => ({ ...item, amount: 'x' })));
    const strictTypes = { key: ['id'], history: true, contract: 'discard_row', maxInvalidRatio: 1 };
    await flow.sync({ force: true, config: configOf(strictTypes) });
    flow.clock.stepWall(HOUR_MS);
    expect((await retry(flow, { key: ['id'], history: true })).streams).toMatchObject([{ updated: 120 }]);
    expect(
      await flow.query(
        'SELECT count(*) AS n, count(*) FILTER (_valid_to IS NULL) AS open FROM main.items_history',
      ),
    ).toEqual([{ n: 240, open: 120 }]);
  });

  it('refuses texts from before a field was masked', async () => {
    const flow = await holdBack();
    const report = await retry(flow, { key: ['id'], columns: { name: { exclude: true } } });
    expect(report).toMatchObject({ exitCode: 2, published: undefined });
    expect(report.streams[0]?.error?.hint).toMatch(/sluice sync --streams items/);
    expect(await readQuarantine(flow)).toHaveLength(bad.length);
  });

  it('refuses a stream that the config does not have', async () => {
    const flow = await holdBack();
    await expect(retry(flow, {}, { streams: ['itmes'] })).rejects.toMatchObject({ code: 'usage_invalid' });
  });
});

describe('looking at what is in quarantine', () => {
  it('lists the newest, with what is wrong with them and how often', async () => {
    const flow = await holdBack();
    const list = await listQuarantine(flow.settings(), { limit: 3 });
    expect(list.total).toBe(bad.length);
    expect(list.reasons).toEqual([
      { stream: 'items', slice: '', path: 'amount', reason: 'is more than 800', records: bad.length },
    ]);
    expect(list.records).toHaveLength(3);
    expect(list.records[0]).toMatchObject({
      stream: 'items',
      path: 'amount',
      pageOffset: 0,
      rowIndex: bad[0]?.id,
    });
    expect(new Set(list.records.map(({ id }) => id)).size).toBe(3);
  });

  it('lists nothing of streams that have none', async () => {
    const flow = await holdBack();
    const settings = flow.settings({ streams: { other: { path: 'other' } } });
    expect(await listQuarantine(settings, { streams: ['other'], limit: 3 })).toMatchObject({
      total: 0,
      records: [],
    });
  });

  it('shows one as received, by as much of its id as identifies it', async () => {
    const flow = await holdBack();
    const [first] = (await listQuarantine(flow.settings(), { limit: 1 })).records;
    const shown = await showQuarantined(flow.settings(), (first?.id ?? '').slice(0, 8).toUpperCase());
    expect(shown).toMatchObject({ id: first?.id, copies: 1, record: JSON.stringify(bad[0]) });
    expect(shown.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    ['zzzz', /is not a valid id/],
    ['abc', /is not a valid id/],
    ['0000000000', /no record/],
  ])('refuses %s as an id', async (id, message) => {
    const flow = await holdBack();
    await expect(showQuarantined(flow.settings(), id)).rejects.toThrow(message);
  });
});
