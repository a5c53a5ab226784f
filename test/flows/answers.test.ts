import { describe, expect, it } from 'vitest';
import {
  capLimit,
  html,
  respondWith,
  rewriteEnvelope,
  rewritePagination,
  setHeaders,
} from '../../src/simulator/fault-effects.ts';
import { type Fault, when } from '../../src/simulator/faults.ts';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { expectRows } from '../support/published.ts';
import {
  countScanRequests,
  createItemsFlow,
  type Flow,
  type ItemsOptions,
  makeItems,
  offsetsOf,
  streamOf,
} from '../support/sync-harness.ts';

const ITEMS = makeItems(350);

function createFaultyFlow(faults: readonly Fault[], options: ItemsOptions = {}): Flow {
  return createItemsFlow(ITEMS, { ...options, simulator: { ...options.simulator, faults } });
}

async function expectComplete(flow: Flow, verdict = 'verified'): Promise<void> {
  const report = await flow.sync();
  expect(report.exitCode).toBe(0);
  expect(streamOf(report)).toMatchObject({ status: 'complete', verdict, rescans: 0, rowsInTable: 350 });
  expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
}

describe('pages of another size than asked for', () => {
  it.each([37, 2, 99])('are read to the end when the server caps the limit at %i', async (cap) => {
    for (const echoes of ['served', 'asked'] as const) {
      const flow = createFaultyFlow([capLimit(cap, echoes)]);
      await expectComplete(flow);
      expect(flow.arrivals.length).toBe(countScanRequests(350, cap));
    }
  });

  it('are read to the end when the server sends 1,000 where 100 were asked for', async () => {
    const items = makeItems(3_500);
    const flow = createItemsFlow(items, {
      simulator: { faults: [when({}, () => ({ page: (page) => ({ ...page, limit: 1_000 }) }))] },
    });
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rowsInTable: 3_500 });
    expect(report.requests).toBe(countScanRequests(3_500, 1_000));
    expect(await flow.rows('items')).toEqual(expectRows(items));
  });

  it('are read to the end when each has another length', async () => {
    let turn = 0;
    const flow = createFaultyFlow([
      when({ where: ({ offset }) => offset > 0 }, () => ({
        page: (page) => ({ ...page, limit: 2 + ((turn++ * 31) % 90) }),
      })),
    ]);
    await expectComplete(flow);
  });

  it('are read to the end when one in the middle is short', async () => {
    const flow = createFaultyFlow([
      when({ offset: 99, count: 1 }, () => ({ page: (page) => ({ ...page, limit: 3 }) })),
    ]);
    await expectComplete(flow);
  });
});

describe('hasMore', () => {
  it('is not believed when it is always true: the total ends the scan', async () => {
    const flow = createFaultyFlow([rewritePagination({ hasMore: true })]);
    await expectComplete(flow);
    // One more page shows which of the two is wrong.
    expect(offsetsOf(flow.arrivals)).toEqual([0, 99, 198, 297, 349, 0]);
  });

  it('is not believed when it is false and the total says more', async () => {
    await expectComplete(createFaultyFlow([rewritePagination({ hasMore: false })]));
  });

  it('says when the total is too small and ends where a page does', async () => {
    const flow = createFaultyFlow([rewritePagination({ total: 199, hasMore: true })]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(streamOf(report)).toMatchObject({ verdict: 'drifted', rescans: 0 });
    expect(streamOf(report).error?.message).toMatch(/298 records were received of 199 declared/);
    expect(offsetsOf(flow.arrivals)).toEqual([0, 99, 198, 0]);
  });

  it('is not needed where there is a total', async () => {
    await expectComplete(createFaultyFlow([rewritePagination({ hasMore: undefined })]));
  });

  it('that says the end before the declared rows came ends with 4', async () => {
    const flow = createFaultyFlow([
      rewriteEnvelope(({ data }) => ({
        data: data.slice(0, 60),
        pagination: { total: 350, limit: 100, offset: 0, hasMore: false },
      })),
    ]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(report.requests).toBeLessThan(20);
  });
});

describe('a missing total', () => {
  it('leaves a complete table with the verdict unverified', async () => {
    const flow = createFaultyFlow([rewritePagination({ total: undefined })]);
    await expectComplete(flow, 'unverified');
    expect(offsetsOf(flow.arrivals)).toEqual([0, 99, 198, 297, 0]);
  });

  it('moves the watermark as a verified scan does, and grants no freshness', async () => {
    const flow = createFaultyFlow([rewritePagination({ total: undefined })], {
      endpoint: { dateField: 'date' },
    });
    expect(streamOf(await flow.sync()).watermark).toBe('2026-01-07');
    expect(streamOf(await flow.sync())).toMatchObject({ status: 'complete', mode: 'incremental' });
  });

  it('is resumed where a run stopped', async () => {
    const flow = createFaultyFlow([rewritePagination({ total: undefined })]);
    expect((await flow.sync({ maxRequests: 2 })).exitCode).toBe(75);
    const report = await flow.sync();
    expect(offsetsOf(flow.arrivals)).toEqual([0, 198, 297, 0]);
    expect(streamOf(report)).toMatchObject({ verdict: 'unverified', rowsInTable: 350 });
  });

  it('together with a missing hasMore ends with 4: nothing says where the data ends', async () => {
    const flow = createFaultyFlow([rewritePagination({ total: undefined, hasMore: undefined })]);
    expect((await flow.sync()).exitCode).toBe(4);
  });

  it.each(['350', -1, 350.5, 2 ** 53, true, {}])(
    'is not the same as a wrong one: %j ends with 4',
    async (total) => {
      const report = await createFaultyFlow([rewritePagination({ total })]).sync();
      expect(report).toMatchObject({ exitCode: 4, requests: 1 });
      expect(streamOf(report).error?.message).toMatch(/total/);
    },
  );
});

describe('empty pages', () => {
  const empty: Fault = rewriteEnvelope(({ pagination }) => ({ data: [], pagination }));

  it('in mid-scan are asked for once more', async () => {
    const flow = createFaultyFlow([when({ offset: 198, count: 1 }, empty)]);
    await expectComplete(flow);
    expect(flow.arrivals.length).toBe(countScanRequests(350) + 1);
  });

  it('at the beginning as well', async () => {
    await expectComplete(createFaultyFlow([when({ nth: 1 }, empty)]));
  });

  it('that stay empty end with 4, with rows declared and none there', async () => {
    for (const offset of [0, 198]) {
      const flow = createFaultyFlow([when({ offset }, empty)], { config: { quota: { burstPerSecond: 1 } } });
      const report = await flow.sync();
      expect(report.exitCode, `offset ${offset}`).toBe(4);
      expect(report.requests).toBeLessThan(25);
    }
  });

  it('without an end end with 4 after a bounded number', async () => {
    const flow = createFaultyFlow([
      rewriteEnvelope(() => ({ data: [], pagination: { hasMore: true, limit: 100 } })),
    ]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(report.requests).toBeLessThan(10);
  });
});

describe('an invalid answer', () => {
  /** One project for all of them: none may leave a trace. */
  let shared: Promise<{ readonly flow: Flow; readonly before: unknown }> | undefined;
  async function createSynced() {
    const flow = createFaultyFlow([], { stream: { cursor: false } });
    await flow.sync();
    return { flow, before: await flow.rows('items') };
  }

  const answers: Readonly<Record<string, Fault>> = {
    'an error envelope with status 200': respondWith({
      status: 200,
      body: '{"error":{"code":"INTERNAL_ERROR","message":"half asleep"}}',
    }),
    'an error that is a text, in place of records': respondWith({
      status: 200,
      body: '{"error":"half asleep","data":[],"pagination":{"total":0,"hasMore":false}}',
    }),
    'an empty body': respondWith({ status: 200, body: '' }),
    'status 204': respondWith({ status: 204, body: '' }),
    'a web page': html(),
    'a web page that says it is JSON': respondWith({ status: 200, body: '<!doctype html><p>Sign in' }),
    'an array where an envelope belongs': respondWith({ status: 200, body: '[{"id":1}]' }),
    'lines of JSON': respondWith({ status: 200, body: '{"id":1}\n{"id":2}' }),
    'records that are an object': respondWith({ status: 200, body: '{"data":{},"pagination":{"total":1}}' }),
    'records that are null': respondWith({ status: 200, body: '{"data":null,"pagination":{"total":0}}' }),
    null: respondWith({ status: 200, body: 'null' }),
    'half a document': respondWith({ status: 200, body: '{"data":[{"id":1},{"id"' }),
    NaN: respondWith({ status: 200, body: '{"data":[{"id":NaN}],"pagination":{"total":1}}' }),
    'bytes that are not UTF-8': respondWith({ status: 200, body: Buffer.from([0x7b, 0xff, 0xfe, 0x7d]) }),
  };

  it.each(Object.entries(answers))('ends with 4 and touches nothing: %s', async (_, fault) => {
    const { flow, before } = await (shared ??= createSynced());
    flow.simulator.setFaults([fault]);
    const report = await flow.sync({ force: true });
    expect(report.exitCode).toBe(4);
    expect(report.requests).toBeLessThanOrEqual(2);
    expect(streamOf(report).error?.message).toMatch(/items at offset 0 .*status 20/);
    expect(await flow.rows('items')).toEqual(before);
    expect(report.published).toBeUndefined();
  });

  it.each(['an error envelope with status 200', 'an empty body', 'a web page', 'half a document'])(
    'in mid-scan ends with 4, and the next run continues: %s',
    async (name) => {
      const flow = createFaultyFlow([when({ offset: 198 }, answers[name] ?? (() => undefined))]);
      expect((await flow.sync()).exitCode).toBe(4);
      flow.simulator.setFaults([]);
      await expectComplete(flow);
      expect(offsetsOf(flow.arrivals)).toEqual([0, 198, 0]);
    },
  );

  it('once only is read again where another try may heal it', async () => {
    for (const fault of [answers['half a document'], answers['an empty body'], answers['a web page']]) {
      await expectComplete(createFaultyFlow([when({ nth: 3 }, fault ?? (() => undefined))]));
    }
  });

  it('for the offset asked for is refused', async () => {
    const flow = createFaultyFlow([when({ offset: 99 }, rewritePagination({ offset: 0 }))]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(streamOf(report).error?.message).toMatch(/asked for offset 99.*offset 0/);
  });

  it('with a byte order mark is one', async () => {
    const body = JSON.stringify({ data: ITEMS.slice(0, 3), pagination: { total: 3, hasMore: false } });
    const flow = createFaultyFlow([respondWith({ status: 200, body: `\uFEFF${body}` })]);
    expect((await flow.sync()).exitCode).toBe(0);
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS.slice(0, 3)));
  });

  it('never shows the key that a server echoes', async () => {
    const flow = createFaultyFlow([
      respondWith({
        status: 400,
        body: '{"error":{"code":"VALIDATION_ERROR","message":"bad key demo-key-0123456789 \\u001b[31m"}}',
        headers: { 'x-request-id': 'demo-key-0123456789' },
      }),
    ]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(JSON.stringify([report, flow.events])).not.toMatch(/demo-key|\\u001b/);
  });
});

describe('a source that is suddenly empty', () => {
  it('ends with 4 and the table is kept; --allow-empty accepts it', async () => {
    const flow = createFaultyFlow([], { stream: { cursor: false } });
    await flow.sync();
    flow.simulator.editRecords('items', () => []);
    const report = await flow.sync({ force: true });
    expect(report.exitCode).toBe(4);
    expect(streamOf(report).error).toMatchObject({
      code: 'source_emptied',
      message: 'items: the API returned no records, the table holds 350 rows',
    });
    expect(await flow.rows('items')).toHaveLength(350);

    const allowed = await flow.sync({ force: true, allowEmpty: true });
    expect(allowed.exitCode).toBe(0);
    // `deletes: keep`: rows that left the source stay.
    expect(streamOf(allowed)).toMatchObject({ status: 'complete', verdict: 'verified', rowsInTable: 350 });
  });

  it('empties a table that is replaced as a whole, once that is allowed', async () => {
    const flow = createFaultyFlow([], { stream: { write: 'replace' } });
    await flow.sync();
    flow.simulator.editRecords('items', () => []);
    expect((await flow.sync({ force: true })).exitCode).toBe(4);
    expect(await flow.rows('items')).toHaveLength(350);
    expect((await flow.sync({ force: true, allowEmpty: true })).rows.deleted).toBe(350);
    expect(await flow.rows('items')).toEqual([]);
  });

  it('is complete when it was empty from the beginning', async () => {
    const flow = createItemsFlow([]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(0);
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rowsInTable: 0 });
    expect((await flow.table('items')).rows).toEqual([]);
  });

  it('is told with the rows of the days asked for, and with the sign between thousands', async () => {
    const flow = createItemsFlow(makeItems(1_040), { endpoint: { dateField: 'date' } });
    await flow.sync();
    await flow.sync({ force: true });
    flow.simulator.editRecords('items', () => []);
    const told = async (options: Parameters<Flow['sync']>[0]) =>
      streamOf(await flow.sync({ force: true, ...options })).error?.message;
    expect(await told({ fullRefresh: true })).toBe(
      'items: the API returned no records, the table holds 1,040 rows',
    );
    const [row] = await flow.query("SELECT count(*)::INTEGER AS n FROM items WHERE date >= '2026-01-08'");
    expect(await told({ from: '2026-01-07' })).toBe(
      `items: the API returned no records, the table holds ${String(row?.['n'])} rows from 2026-01-08 on`,
    );
  });

  it('is not an accident when --from asks for days that hold nothing yet', async () => {
    const flow = createFaultyFlow([], { endpoint: { dateField: 'date' } });
    await flow.sync();
    await flow.sync({ force: true });
    const report = await flow.sync({ from: '2026-01-20' });
    expect(report.exitCode).toBe(0);
    expect(streamOf(report).rows.read).toBe(0);
    expect(await flow.rows('items')).toHaveLength(350);
  });
});

describe('an endpoint that answers all at once', () => {
  const document = (body: string, stream: ItemsOptions['stream'] = {}) =>
    createFaultyFlow([respondWith({ status: 200, body })], { stream: { paginated: false, ...stream } });

  it.each([
    ['an array', '[{"id":1},{"id":2}]'],
    ['records under data', '{"data":[{"id":1},{"id":2}]}'],
    ['records in the only array', '{"mentions":[{"id":1},{"id":2}],"count":2}'],
  ])('is verified when the answer is %s', async (_, body) => {
    const flow = document(body);
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, requests: 1 });
    expect(streamOf(report).verdict).toBe('verified');
    expect(await flow.rows('items')).toEqual([{ id: 1 }, { id: 2 }]);
  });

  it('finds the records where config says', async () => {
    const flow = document('{"a":[1],"result":{"rows":[{"id":1}]}}', { records: '/result/rows' });
    expect((await flow.sync()).exitCode).toBe(0);
    expect(await flow.rows('items')).toEqual([{ id: 1 }]);
  });

  it('is one row when it is one object', async () => {
    const flow = document('{"id":7,"name":"total"}');
    expect((await flow.sync()).exitCode).toBe(0);
    expect(await flow.rows('items')).toEqual([{ id: 7, name: 'total' }]);
  });

  it.each(['{"success":false}', '{"status":"error"}', '{"id":7,"name":"total"}'])(
    'says that one object was taken for the record, as it may be none: %s',
    async (body) => {
      const told = 'the answer has no list of records, so the whole object is its only row';
      const guessed = document(body);
      expect(streamOf(await guessed.sync()).reasons).toContainEqual(expect.stringContaining(told));
      const named = document(body, { records: '' });
      expect(streamOf(await named.sync()).reasons).not.toContainEqual(expect.stringContaining(told));
    },
  );

  it('ends with 4 and names the setting when it pages after all', async () => {
    const flow = createFaultyFlow([], { stream: { paginated: false } });
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(streamOf(report).error?.hint).toBe('Set "paginated: true" for streams.items in the config.');
  });

  it('is taken as a whole or not at all', async () => {
    const flow = document('[{"id":1},{"id":2}');
    expect((await flow.sync()).exitCode).toBe(4);
    expect(flow.isPublished()).toBe(false);
  });
});

describe('oddities that change no value', () => {
  it('are accepted: members in another order, another content type, a member named twice', async () => {
    const flow = createItemsFlow(
      [
        rawJson('{"id":1,"name":"a"}'),
        rawJson('{"name":"b","id":2}'),
        rawJson('{"id":3,"name":"x","name":"c"}'),
      ],
      { simulator: { faults: [setHeaders({ 'content-type': 'text/plain' })] } },
    );
    const report = await flow.sync();
    expect(report.exitCode).toBe(0);
    expect(report.warnings).toEqual([expect.stringMatching(/1 record names a field twice/)]);
    expect(await flow.rows('items')).toEqual([
      { id: 1, name: 'a' },
      { id: 2, name: 'b' },
      { id: 3, name: 'c' },
    ]);
  });
});
