import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readStage } from '../../src/stage/stage-store.ts';
import type { RunReport } from '../../src/model/run-report.ts';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { expectRows } from '../support/published.ts';
import {
  createItemsFlow,
  type Flow,
  HOUR_MS,
  type ItemsOptions,
  makeItems,
  streamOf,
} from '../support/sync-harness.ts';
import { readQuarantine, removeContractFile, writeContractFile } from '../support/contract-flow.ts';

const items = makeItems(120);

/** A flow whose first sync taught it the columns of `items`. */
async function learnItems(options: ItemsOptions = {}): Promise<Flow> {
  const flow = createItemsFlow(items, {
    ...options,
    stream: { cursor: false, key: ['id'], maxInvalidRatio: 0.5, ...options.stream },
  });
  const report = await flow.sync();
  expect(report.exitCode, streamOf(report).error?.message).toBe(0);
  return flow;
}

async function resync(
  flow: Flow,
  records: readonly unknown[],
  stream: object = {},
  options: Parameters<Flow['sync']>[0] = {},
) {
  flow.simulator.editRecords('items', () => records);
  return flow.sync({
    ...options,
    force: true,
    config: {
      streams: {
        items: {
          path: 'items',
          paginated: true,
          cursor: false,
          key: ['id'],
          maxInvalidRatio: 0.5,
          ...stream,
        },
      },
    },
  });
}

const typesOf = async (flow: Flow) => (await flow.table('items')).columns;

describe('a field that nobody described', () => {
  const withNew = items.map((item) => (item.id === 7 ? { ...item, extra: 5 } : item));

  it('becomes a column under evolve', async () => {
    const flow = await learnItems();
    const report = await resync(flow, withNew);
    expect(report.exitCode).toBe(0);
    expect(await typesOf(flow)).toMatchObject({ extra: 'BIGINT' });
  });

  it('fails the stream under freeze, and names the field, the first position and the count', async () => {
    const flow = await learnItems();
    const report = await resync(flow, withNew, { contract: 'freeze' });
    expect(report.exitCode).toBe(4);
    const { error } = streamOf(report);
    expect(error?.code).toBe('contract_broken');
    expect(error?.message).toMatch(
      /items: 1 record breaks the contract: extra is not a field of the contract \(1\).*position 7/,
    );
    expect(error?.hint).toMatch(/table is unchanged/);
    expect(await typesOf(flow)).not.toHaveProperty('extra');
    expect(await flow.rows('items')).toEqual(expectRows(items));
  });

  it('sends its record to quarantine under discard_row', async () => {
    const flow = await learnItems();
    const report = await resync(flow, withNew, { contract: 'discard_row' });
    expect(report.exitCode).toBe(0);
    expect(report.rows).toMatchObject({ read: 120, unchanged: 119, quarantined: 1, deleted: 0 });
    expect(await readQuarantine(flow)).toMatchObject([
      { path: 'extra', page_offset: 0, row_index: 7, record: JSON.stringify(withNew[7]) },
    ]);
    expect(report.warnings).toEqual([
      expect.stringMatching(/1 record went to _sluice.quarantine: extra is not a field/),
    ]);
  });

  it('is left out under discard_value, and counted', async () => {
    const flow = await learnItems();
    const report = await resync(flow, withNew, { contract: 'discard_value' });
    expect(report.exitCode).toBe(0);
    expect(report.rows).toMatchObject({ unchanged: 120, quarantined: 0 });
    expect(await typesOf(flow)).not.toHaveProperty('extra');
    expect(report.warnings).toEqual([expect.stringMatching(/left out of 1 record: extra/)]);
  });

  it.each(['freeze', 'discard_row', 'discard_value'])(
    'does no harm under %s as long as it is null',
    async (contract) => {
      const flow = await learnItems();
      const nulls = items.map((item) => ({ ...item, extra: null }));
      const report = await resync(flow, nulls, { contract });
      expect(report).toMatchObject({ exitCode: 0, warnings: [] });
      // Having been seen as null must not make it known.
      const again = await resync(flow, withNew, { contract: 'freeze' });
      expect(again.exitCode).toBe(4);
    },
  );

  it('inside an object counts by its own path', async () => {
    const nested = (extra: object) => items.map((item) => ({ ...item, meta: { model: 'm', ...extra } }));
    const flow = createItemsFlow(nested({}), { stream: { cursor: false, key: ['id'] } });
    await flow.sync();
    const report = await resync(flow, nested({ added: 1 }), { contract: 'freeze' });
    expect(streamOf(report).error?.message).toMatch(/120 records.*meta\.added is not a field/);
  });

  it('may come during the first scan, whatever the mode: there is nothing to compare it with', async () => {
    const flow = createItemsFlow(withNew, { stream: { contract: 'freeze', cursor: false } });
    expect((await flow.sync()).exitCode).toBe(0);
    expect(await typesOf(flow)).toHaveProperty('extra');
  });

  it('is learned as long as no whole scan was trusted', async () => {
    const flow = createItemsFlow(withNew.slice(20).concat(withNew.slice(0, 20)), {
      stream: { contract: 'freeze', cursor: false, key: ['id'] },
    });
    expect((await flow.sync({ limit: 50 })).exitCode).toBe(0);
    expect(await typesOf(flow)).not.toHaveProperty('extra');
    expect((await flow.sync()).exitCode).toBe(0);
    expect(await typesOf(flow)).toHaveProperty('extra');
  });
});

describe('a value that its column does not hold', () => {
  const withText = items.map((item) => (item.id % 40 === 3 ? { ...item, amount: 'n/a' } : item));

  it('widens the column under evolve', async () => {
    const flow = await learnItems();
    await resync(flow, withText, { contract: { columns: 'freeze', types: 'evolve' } });
    expect(await typesOf(flow)).toMatchObject({ amount: 'VARCHAR' });
  });

  it('fails the stream under freeze', async () => {
    const flow = await learnItems();
    const report = await resync(flow, withText, { contract: { columns: 'evolve', types: 'freeze' } });
    expect(report.exitCode).toBe(4);
    expect(streamOf(report).error?.message).toMatch(
      /amount expected BIGINT, got string \(3\); the first at position 3/,
    );
    expect(await flow.rows('items')).toEqual(expectRows(items));
  });

  it('goes to quarantine with its record under discard_row', async () => {
    const flow = await learnItems();
    const report = await resync(flow, withText, { contract: 'discard_row' });
    expect(report.rows).toMatchObject({ quarantined: 3, unchanged: 117 });
    expect(await typesOf(flow)).toMatchObject({ amount: 'BIGINT' });
  });

  it('is null under discard_value', async () => {
    const flow = await learnItems();
    const report = await resync(flow, withText, { contract: 'discard_value' });
    expect(report.rows).toMatchObject({ quarantined: 0, updated: 3 });
    expect(await flow.query('SELECT count(*) AS n FROM main.items WHERE amount IS NULL')).toEqual([{ n: 3 }]);
  });

  it('of a whole column fails the stream under discard_value, as more than maxInvalidRatio would lose it', async () => {
    const flow = await learnItems();
    const changed = items.map((item) => ({ ...item, amount: 'much' }));
    const report = await resync(flow, changed, { contract: 'discard_value' });
    expect(report.exitCode).toBe(4);
    expect(streamOf(report).error).toMatchObject({ code: 'contract_broken' });
    expect(streamOf(report).error?.message).toMatch(/^items: 120 of 120 records would lose values: amount /);
    expect(await flow.query('SELECT count(*) AS n FROM main.items WHERE amount IS NULL')).toEqual([{ n: 0 }]);
  });

  it('decides the types and the key only if it was accepted', async () => {
    const flow = await learnItems({ stream: { key: 'auto' } });
    const odd = [...items, { id: 'x', date: 'never', name: 5, amount: {} }];
    const report = await resync(flow, odd, { key: 'auto', contract: 'discard_row' });
    expect(report.exitCode, streamOf(report).error?.message).toBe(0);
    expect(await typesOf(flow)).toMatchObject({ id: 'BIGINT', date: 'DATE', amount: 'BIGINT' });
    expect(streamOf(report).key).toMatchObject({ origin: 'learned' });
  });
});

describe('a contract file', () => {
  const schema = {
    type: 'object',
    required: ['id', 'date'],
    properties: {
      id: { type: 'integer', minimum: 0 },
      date: { type: 'string', format: 'date' },
      name: { type: ['string', 'null'], pattern: '^item', maxLength: 12 },
      amount: { type: 'number', maximum: 1000 },
      state: { enum: ['open', 'closed'] },
    },
  };

  it.each<[string, object, string, string]>([
    ['a required field that is missing', { id: 1, name: 'item 1', amount: 1 }, 'date', 'is missing'],
    ['a number out of range', { ...items[1], amount: 1001 }, 'amount', 'is more than 1000'],
    ['text without its pattern', { ...items[1], name: 'thing' }, 'name', 'does not match ^item'],
    [
      'text that is too long',
      { ...items[1], name: 'item 1234567890' },
      'name',
      'is longer than 12 characters',
    ],
    [
      'a value that is not in the list',
      { ...items[1], state: 'ajar' },
      'state',
      'is not one of "open", "closed"',
    ],
  ])('sends a record to quarantine for %s, whole and as received', async (_, record, path, reason) => {
    const flow = createItemsFlow([...items.slice(2), record], { stream: { cursor: false, key: ['id'] } });
    writeContractFile(flow, schema);
    const report = await flow.sync();
    expect(report.exitCode, streamOf(report).error?.message).toBe(0);
    expect(await readQuarantine(flow)).toMatchObject([
      {
        path,
        reason,
        record: JSON.stringify(record),
        page_offset: 99,
        row_index: 19,
        stream: 'items',
        slice: '',
      },
    ]);
    expect(await flow.rows('items')).toEqual(expectRows(items.slice(2)));
  });

  it('leaves bad values out under discard_value, unless they are required', async () => {
    const flow = createItemsFlow(
      [...items.slice(3), { ...items[1], amount: 1001 }, { ...items[2], id: -1 }],
      {
        stream: { cursor: false, contract: 'discard_value', key: ['id'] },
      },
    );
    writeContractFile(flow, schema);
    const report = await flow.sync();
    expect(report.rows).toMatchObject({ read: 119, inserted: 118, quarantined: 1 });
    expect(await readQuarantine(flow)).toMatchObject([{ path: 'id', reason: 'is less than 0' }]);
    expect(await flow.query('SELECT amount FROM main.items WHERE id = 1')).toEqual([{}]);
  });

  it('fails the stream under freeze before anything is loaded', async () => {
    const flow = createItemsFlow([...items, { ...items[1], id: 500, amount: 1001 }], {
      stream: { cursor: false, contract: 'freeze' },
    });
    writeContractFile(flow, schema);
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(streamOf(report).error?.message).toMatch(/amount is more than 1000/);
    expect(flow.isPublished()).toBe(false);
  });

  it('decides which fields are known, from the first scan on', async () => {
    const flow = createItemsFlow(
      items.map((item) => ({ ...item, extra: 1 })),
      { stream: { cursor: false, contract: { columns: 'discard_value' } } },
    );
    writeContractFile(flow, schema);
    expect((await flow.sync()).exitCode).toBe(0);
    expect(await typesOf(flow)).not.toHaveProperty('extra');
  });

  it('fails the stream when more records break it than maxInvalidRatio allows', async () => {
    const flow = createItemsFlow(
      items.map((item) => (item.id < 20 ? { ...item, amount: 5000 } : item)),
      { stream: { cursor: false, maxInvalidRatio: 0.1 } },
    );
    writeContractFile(flow, schema);
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(streamOf(report).error).toMatchObject({ code: 'contract_broken' });
    expect(streamOf(report).error?.message).toMatch(
      /20 of 120 records break the contract: amount is more than 1000 \(20\)/,
    );
    expect(flow.isPublished()).toBe(false);
  });

  it('compares numbers by their decimal value, however long they are', async () => {
    const flow = createItemsFlow(
      [
        rawJson('{"id":1,"big":9007199254740993}'),
        rawJson('{"id":2,"big":9007199254740992}'),
        rawJson('{"id":3,"big":1e400}'),
        rawJson('{"id":4,"big":9007199254740991.5}'),
      ],
      { stream: { cursor: false, maxInvalidRatio: 1, key: ['id'] } },
    );
    writeContractFile(
      flow,
      '{"type":"object","properties":{"id":{},"big":{"type":"integer","exclusiveMaximum":9007199254740993}}}',
    );
    await flow.sync();
    expect((await readQuarantine(flow)).map(({ record }) => record)).toEqual([
      '{"id":1,"big":9007199254740993}',
      '{"id":3,"big":1e400}',
    ]);
  });

  it.each<[string, object | string, RegExp]>([
    ['no JSON', '{ "type": ', /is not JSON/],
    [
      'a field described twice',
      '{ "properties": {\n"amount": { "maximum": 5 },\n"amount": { "type": "number" }\n} }',
      /at \/properties\/amount: is named more than once, in lines 2 and 3/,
    ],
    ['no object', '[]', /must hold a JSON Schema/],
    [
      'a keyword that is not honoured',
      { type: 'object', if: {} },
      /at \/if: "if" is not a supported keyword/,
    ],
    ['a misspelt keyword', { type: 'object', requried: ['id'] }, /did you mean "required"/],
    [
      'a format nobody checks',
      { type: 'object', properties: { a: { type: 'string', format: 'iban' } } },
      /\/properties\/a\/format: must be a supported format/,
    ],
    [
      'a pattern that is none',
      { properties: { a: { pattern: '(' } } },
      /\/properties\/a\/pattern: is not a regular/,
    ],
    ['a type that is none', { properties: { a: { type: 'text' } } }, /\/properties\/a\/type: must be one/],
    ['a schema of something else', { type: 'array' }, /must be object/],
  ])('with %s is refused before anything is asked for', async (_, text, problem) => {
    const flow = createItemsFlow(items);
    writeContractFile(flow, text);
    await expect(flow.sync()).rejects.toMatchObject({
      exitCode: 2,
      code: 'config_invalid',
      message: expect.stringMatching(problem) as string,
    });
    await expect(flow.sync()).rejects.toThrow('items.schema.json');
    expect(flow.simulator.log).toHaveLength(0);
  });
});

describe('a stream that failed for its contract', () => {
  const KEPT = 'The pages are kept for the next run, if it comes within 24 h.';
  const DROPPED = 'The pages are dropped, as they were refused before: the next run reads them again.';
  const broken = items.map((item) => (item.id === 110 ? { ...item, amount: 'x' } : item));
  const frozen = { contract: 'freeze' };
  const hintOf = (report: RunReport) => streamOf(report).error?.hint;
  const stageOf = (flow: Flow) => readStage(join(flow.stateDir, 'stage', 'items'));

  it('says each time whether its pages are kept', async () => {
    const flow = await learnItems();
    for (const told of [KEPT, DROPPED, KEPT]) {
      flow.clock.stepWall(HOUR_MS);
      expect(hintOf(await resync(flow, broken, frozen))).toContain(told);
      expect((await stageOf(flow)) !== undefined).toBe(told === KEPT);
    }
  });

  it('keeps pages of a stopped run, which nobody judged yet', async () => {
    const flow = await learnItems();
    flow.clock.stepWall(HOUR_MS);
    const stopped = await resync(flow, broken, frozen, { maxRequests: 1 });
    expect(stopped.exitCode).toBe(75);
    expect(hintOf(await resync(flow, broken, frozen))).toContain(KEPT);
    expect(hintOf(await resync(flow, broken, frozen))).toContain(DROPPED);
  });

  it('says nothing of pages where every run reads the whole answer', async () => {
    const flow = await learnItems({ endpoint: { paginated: false }, stream: { paginated: false } });
    const hint = hintOf(await resync(flow, broken, { ...frozen, paginated: false }));
    expect(hint).toMatch(/^The table is unchanged\. Ask/);
    expect(hint).not.toMatch(/pages/);
  });

  it('keeps its pages once, so that a contract that was fixed costs one request', async () => {
    const flow = await learnItems();
    const records = items.map((item) => ({ ...item, extra: 1 }));
    flow.clock.stepWall(HOUR_MS);
    expect((await resync(flow, records, { contract: 'freeze' })).exitCode).toBe(4);
    expect(await readStage(join(flow.stateDir, 'stage', 'items'))).toBeDefined();
    const repaired = await resync(flow, records, { contract: 'evolve' });
    expect(repaired.exitCode).toBe(0);
    expect(flow.arrivals).toHaveLength(1);
    expect(await typesOf(flow)).toHaveProperty('extra');
  });

  it('drops them when they fail again, so that a source that was fixed in place is asked again', async () => {
    const flow = await learnItems();
    const records = items.map((item) => (item.id === 110 ? { ...item, amount: 'x' } : item));
    flow.clock.stepWall(HOUR_MS);
    expect((await resync(flow, records, { contract: 'freeze' })).exitCode).toBe(4);
    flow.clock.stepWall(HOUR_MS);
    // Fixed on a page that is not the first, with the same total.
    expect((await resync(flow, items, { contract: 'freeze' })).exitCode).toBe(4);
    expect((await resync(flow, items, { contract: 'freeze' })).exitCode).toBe(0);
  });
});

describe('quarantine', () => {
  const strict = { type: 'object', properties: { id: {}, date: {}, name: {}, amount: { maximum: 500 } } };

  it('releases records that a later scan accepts, in that scan', async () => {
    const flow = await learnItems();
    writeContractFile(flow, strict);
    const before = await resync(flow, items);
    expect(before.rows.quarantined).toBeGreaterThan(10);
    removeContractFile(flow);
    const after = await resync(flow, items);
    expect(after.rows.quarantined).toBe(0);
    expect(await readQuarantine(flow)).toEqual([]);
    expect(await flow.rows('items')).toEqual(expectRows(items));
  });

  it('keeps those of another stream or of another text', async () => {
    const flow = await learnItems();
    writeContractFile(flow, strict);
    await resync(flow, items);
    const held = await readQuarantine(flow);
    removeContractFile(flow);
    const changed = items.map((item) => (item.amount > 500 ? { ...item, amount: item.amount + 1 } : item));
    await resync(flow, changed);
    expect(await readQuarantine(flow)).toEqual(held);
  });

  it('takes more records than one statement could', async () => {
    const many = Array.from({ length: 3_000 }, (_, id) => ({ id, bad: id % 2 === 0 ? 'x' : 1 }));
    const flow = createItemsFlow(many, { stream: { cursor: false, key: ['id'], maxInvalidRatio: 0.6 } });
    writeContractFile(flow, {
      type: 'object',
      properties: { id: { type: 'integer' }, bad: { type: 'integer', enum: [1] } },
    });
    expect((await flow.sync()).rows).toMatchObject({ quarantined: 1_500, inserted: 1_500 });
    expect((await flow.sync({ force: true })).rows).toMatchObject({ quarantined: 1_500, unchanged: 1_500 });
    expect(
      await flow.query('SELECT count(*) AS n, count(DISTINCT record) AS d FROM _sluice.quarantine'),
    ).toEqual([{ n: 1_500, d: 1_500 }]);
    const [place] = await flow.query(
      'SELECT page_offset, row_index FROM _sluice.quarantine WHERE record LIKE \'{"id":2000,%\'',
    );
    expect(Number(place?.['page_offset']) + Number(place?.['row_index'])).toBe(2_000);
  });
});

describe('a field that vanished', () => {
  it('is reported once, and again only after it came back', async () => {
    const flow = await learnItems();
    const without = items.map(({ amount: _amount, ...item }) => item);
    const note = 'no record has amount any more';
    expect(streamOf(await resync(flow, without)).reasons).toContain(note);
    expect(streamOf(await resync(flow, without)).reasons).not.toContain(note);
    expect(
      await flow.query('SELECT column_name FROM _sluice.contracts WHERE absent_since IS NOT NULL'),
    ).toEqual([{ column_name: 'amount' }]);
    expect(streamOf(await resync(flow, items)).reasons).not.toContain(note);
    expect(streamOf(await resync(flow, without)).reasons).toContain(note);
  });
});

describe('a stream in slices', () => {
  const owned = (owner: string, more: object = {}) =>
    Array.from({ length: 10 }, (_, id) => ({ id, owner, score: id, ...more }));
  const sliced = {
    cursor: false as const,
    key: ['id'],
    params: { entity: ['acme', 'globex'] },
    sliceBy: ['entity'],
  };

  function flowOf(records: readonly unknown[], stream: object = {}): Flow {
    return createItemsFlow(records, {
      endpoint: { filters: { entity: ['owner'] } },
      stream: { ...sliced, maxInvalidRatio: 0.5, ...stream },
    });
  }

  it("has its slices' values in a column where the records lack them", async () => {
    const flow = flowOf([...owned('acme'), ...owned('globex')]);
    const report = await flow.sync();
    expect(report.exitCode, streamOf(report).error?.message).toBe(0);
    expect(
      await flow.query('SELECT entity, owner, count(*) AS n FROM main.items GROUP BY ALL ORDER BY 1'),
    ).toEqual([
      { entity: 'acme', owner: 'acme', n: 10 },
      { entity: 'globex', owner: 'globex', n: 10 },
    ]);
    expect((await flow.sync({ force: true })).rows).toMatchObject({ unchanged: 20, updated: 0 });
  });

  it('keeps what a record says itself, null included', async () => {
    const flow = flowOf([
      { id: 1, owner: 'acme', entity: null },
      { id: 2, owner: 'acme' },
      { id: 3, owner: 'globex', entity: 'own' },
    ]);
    await flow.sync();
    expect(await flow.query('SELECT id, entity FROM main.items ORDER BY id')).toEqual([
      { id: 1 },
      { id: 2, entity: 'acme' },
      { id: 3, entity: 'own' },
    ]);
  });

  it('learns from the first scan of each slice, and compares the next ones with all of it', async () => {
    const flow = flowOf([...owned('acme'), ...owned('globex', { extra: 1 })], { contract: 'freeze' });
    expect((await flow.sync()).exitCode).toBe(0);
    flow.simulator.editRecords('items', (records) => [...records, { id: 99, owner: 'acme', other: 1 }]);
    const report = await flow.sync({ force: true });
    expect(report.exitCode).toBe(5);
    expect(report.streams.map(({ slice, status }) => [slice, status])).toEqual([
      ['entity=acme', 'failed'],
      ['entity=globex', 'complete'],
    ]);
    expect(report.streams[0]?.error?.message).toMatch(
      /items \(entity=acme\): 1 record breaks the contract: other/,
    );
  });

  it('has a quarantine for each slice: the same text in another one is another record', async () => {
    const flow = flowOf([...owned('acme'), ...owned('globex')]);
    await flow.sync();
    writeContractFile(flow, {
      type: 'object',
      properties: { id: {}, owner: {}, entity: {}, score: { enum: [0, 1, 2, 3, 4, 5, 6] } },
    });
    await flow.sync({ force: true });
    const held = await readQuarantine(flow);
    expect(held.map(({ slice }) => slice).toSorted()).toEqual([
      ...Array.from({ length: 3 }, () => 'entity=acme'),
      ...Array.from({ length: 3 }, () => 'entity=globex'),
    ]);
    removeContractFile(flow);
    flow.simulator.editRecords('items', () => [...owned('acme'), ...owned('globex', { score: 1 })]);
    await flow.sync({ force: true });
    expect((await readQuarantine(flow)).map(({ slice }) => slice)).toEqual(
      Array.from({ length: 3 }, () => 'entity=globex'),
    );
  });
});
