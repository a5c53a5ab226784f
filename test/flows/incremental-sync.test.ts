import { describe, expect, it } from 'vitest';
import { errorStatus } from '../../src/simulator/fault-effects.ts';
import { askAll, type Row } from '../simulator/ask.ts';
import { expectRows, sortRows } from '../support/published.ts';
import {
  createFlow,
  createItemsFlow,
  type Flow,
  type FlowConfig,
  HOUR_MS,
  makeItems,
  noBuiltIns,
  streamOf,
} from '../support/sync-harness.ts';

const tables = {
  visibility_mentions: 'visibility/mentions',
  prompts_analytics: 'prompts/analytics',
  commerce_category_products: 'commerce/category-products',
  commerce_top_products: 'commerce/top-products',
} as const;

/** What a day's refresh did to an endpoint's records, distinguished by the fields that identify one. */
function compareDays(before: readonly Row[], after: readonly Row[], key: readonly string[], from = '') {
  const keyOf = (row: Row) => key.map((field) => String(row[field])).join('|');
  const old = new Map(before.map((row) => [keyOf(row), JSON.stringify(row)]));
  const asked = after.filter((row) => from === '' || String(row['date']) >= from);
  const known = asked.filter((row) => old.has(keyOf(row)));
  const updated = known.filter((row) => old.get(keyOf(row)) !== JSON.stringify(row));
  return {
    read: asked.length,
    inserted: asked.length - known.length,
    updated: updated.length,
    unchanged: known.length - updated.length,
    changedKeys: new Set(
      asked.filter((row) => old.get(keyOf(row)) !== JSON.stringify(row)).map((row) => keyOf(row)),
    ),
  };
}

/** All four streams, a few pages each. */
const small = {
  historyDays: 8,
  prompts: 20,
  mentionsPerDay: 8,
  categories: 6,
  productsPerCategory: 20,
} as const;

/** Two of the streams only: one with a cursor, one without. */
const two = { visibility_mentions: { enabled: false }, commerce_top_products: { enabled: false } } as const;

/** One stream only. */
const alone = (stream: keyof typeof tables) => ({ ...noBuiltIns, [stream]: { enabled: true } });

function createSmallFlow(streams: FlowConfig['streams'], defaults: FlowConfig['defaults'] = {}): Flow {
  return createFlow({ simulator: { sizes: small }, config: { defaults, streams } });
}

describe('when the day moves on', () => {
  it('asks from the watermark less the lookback and counts new, changed and unchanged rows', async () => {
    const flow = createFlow({
      simulator: { sizes: { ...small, prompts: 40 } },
      config: { streams: alone('prompts_analytics') },
    });
    const first = await flow.sync();
    const before = askAll(flow.simulator, tables.prompts_analytics);
    flow.simulator.advanceDay();
    await flow.clock.sleep(24 * HOUR_MS);
    const after = askAll(flow.simulator, tables.prompts_analytics);
    flow.simulator.clearLog();

    const second = await flow.sync();
    const { changedKeys, ...counts } = compareDays(before, after, ['date', 'promptId'], '2026-01-28');
    expect(counts.updated).toBeGreaterThan(0);
    expect(counts.unchanged).toBeGreaterThan(0);
    expect(second.exitCode).toBe(0);
    expect(streamOf(second, 'prompts_analytics')).toMatchObject({
      mode: 'incremental',
      verdict: 'verified',
      watermark: '2026-02-01',
      rows: { ...counts, deleted: 0, quarantined: 0 },
    });
    const asked = flow.simulator.log.filter(({ path }) => path.endsWith(tables.prompts_analytics));
    // The last one counts the rows of the whole stream.
    expect(asked.map(({ query }) => new URLSearchParams(query).get('startDate'))).toEqual(
      asked.map((_, at) => (at < asked.length - 1 ? '2026-01-28' : null)),
    );

    // Rows that did not change still name the run that wrote them.
    const marked = await flow.query('SELECT date, prompt_id, _run_id FROM main.prompts_analytics');
    const rewritten = marked.filter((row) => row['_run_id'] === second.runId);
    expect(new Set(rewritten.map((row) => `${String(row['date'])}|${String(row['prompt_id'])}`))).toEqual(
      changedKeys,
    );
    expect(new Set(marked.map((row) => row['_run_id']))).toEqual(new Set([first.runId, second.runId]));
  });

  it('reads streams without a cursor in full and still rewrites changed rows only', async () => {
    const flow = createSmallFlow(alone('commerce_category_products'));
    await flow.sync();
    const path = tables.commerce_category_products;
    const before = askAll(flow.simulator, path);
    flow.simulator.advanceDay();
    const { changedKeys: _keys, ...counts } = compareDays(before, askAll(flow.simulator, path), [
      'categoryId',
      'productId',
    ]);
    const report = await flow.sync({ force: true });
    expect(counts.updated).toBeGreaterThan(0);
    expect(streamOf(report, 'commerce_category_products')).toMatchObject({
      mode: 'full',
      rows: { ...counts, deleted: 0, quarantined: 0 },
    });
  });

  it('is the same after three days of increments as one clean full sync of the third day', async () => {
    const { visibility_mentions: _, ...three } = tables;
    const flow = createSmallFlow({ visibility_mentions: { enabled: false } });
    await flow.sync();
    for (let day = 0; day < 3; day += 1) {
      flow.simulator.advanceDay();
      await flow.clock.sleep(24 * HOUR_MS);
      expect((await flow.sync()).exitCode).toBe(0);
    }
    const { flow: clean } = await flow.clean();
    for (const [table, path] of Object.entries(three)) {
      const grown = await flow.table(table);
      const { columns, rows } = await clean.table(table);
      expect(sortRows(grown.rows), table).toEqual(expectRows(askAll(flow.simulator, path)));
      expect(sortRows(rows), table).toEqual(sortRows(grown.rows));
      expect(columns, table).toEqual(grown.columns);
    }
  });

  it('catches up over days on which nothing ran', async () => {
    const flow = createSmallFlow(two);
    await flow.sync();
    flow.simulator.advanceDay(9);
    await flow.clock.sleep(9 * 24 * HOUR_MS);
    expect((await flow.sync()).exitCode).toBe(0);
    for (const table of ['prompts_analytics', 'commerce_category_products'] as const) {
      expect(await flow.rows(table), table).toEqual(expectRows(askAll(flow.simulator, tables[table])));
    }
  });

  it('proves the cursor by the first answer to it, and the key on the second day', async () => {
    const flow = createSmallFlow(alone('prompts_analytics'));
    await flow.sync();
    const read = `SELECT cursor_state, key_proved_on FROM _sluice.checkpoints WHERE stream = 'prompts_analytics'`;
    expect(await flow.query(read)).toEqual([{ cursor_state: 'candidate', key_proved_on: ['2026-01-31'] }]);
    flow.simulator.advanceDay();
    await flow.clock.sleep(24 * HOUR_MS);
    await flow.sync();
    expect(await flow.query(read)).toEqual([
      { cursor_state: 'proved', key_proved_on: ['2026-01-31', '2026-02-01'] },
    ]);
  });

  it('reads everything again once a full refresh is due', async () => {
    const flow = createSmallFlow(alone('prompts_analytics'), { fullRefreshEvery: '2d' });
    await flow.sync();
    const modes: unknown[] = [];
    for (let day = 0; day < 3; day += 1) {
      flow.simulator.advanceDay();
      await flow.clock.sleep(24 * HOUR_MS);
      modes.push(streamOf(await flow.sync(), 'prompts_analytics').mode);
    }
    expect(modes).toEqual(['incremental', 'full', 'incremental']);
  });

  it('keeps rows that left the source, as deletes: keep says', async () => {
    const flow = createFlow({
      simulator: { history: 'slides', sizes: small },
      config: { streams: alone('prompts_analytics') },
    });
    await flow.sync();
    const held = (await flow.rows('prompts_analytics')).length;
    flow.simulator.advanceDay();
    const report = await flow.sync({ fullRefresh: true });
    expect(report.exitCode).toBe(0);
    expect(report.rows.deleted).toBe(0);
    expect(await flow.rows('prompts_analytics')).toHaveLength(held + 20);
  });
});

describe('freshness', () => {
  it('spends no request on streams verified within the hour, and does not publish again', async () => {
    const flow = createItemsFlow(makeItems(60));
    await flow.sync();
    await flow.clock.sleep(0.8 * HOUR_MS);
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, requests: 0, published: undefined });
    expect(report.streams.map(({ status }) => status)).toEqual(['fresh']);
    expect(flow.arrivals).toEqual([]);
  });

  it('ends a little before the hour does, so that an hourly job never misses its turn', async () => {
    const flow = createItemsFlow(makeItems(60));
    await flow.sync();
    await flow.clock.sleep(0.91 * HOUR_MS);
    expect((await flow.sync()).requests).toBeGreaterThan(0);
  });

  it('gives way to --force, to --from and to --full-refresh', async () => {
    const flow = createItemsFlow(makeItems(60));
    await flow.sync();
    for (const options of [{ force: true }, { from: '2026-01-01' }, { fullRefresh: true }]) {
      const report = await flow.sync(options);
      expect(report.streams.map(({ status }) => status)).toEqual(['complete']);
    }
  });

  it('is void for a stream whose config changed, and for no other', async () => {
    const flow = createSmallFlow(two);
    await flow.sync();
    const report = await flow.sync({
      config: { streams: { ...two, prompts_analytics: { params: { regions: 'us' } } } },
    });
    expect(report.streams.map(({ stream, status }) => [stream, status])).toEqual([
      ['prompts_analytics', 'complete'],
      ['commerce_category_products', 'fresh'],
    ]);
    expect(streamOf(report, 'prompts_analytics').mode).toBe('full');
  });

  it('is void for a stream whose rules for records or rows changed, and for no other', async () => {
    const flow = createSmallFlow(two);
    await flow.sync();
    for (const change of [{ deletes: 'soft' }, { contract: 'freeze' }, { maxDeleteRatio: 0.5 }] as const) {
      const report = await flow.sync({ config: { streams: { ...two, prompts_analytics: change } } });
      expect(report.streams.map(({ stream, status }) => [stream, status])).toEqual([
        ['prompts_analytics', 'complete'],
        ['commerce_category_products', 'fresh'],
      ]);
    }
  });

  it('is void after an attempt that failed, until one ends well', async () => {
    const flow = createItemsFlow(makeItems(60));
    await flow.sync();
    flow.simulator.setFaults([errorStatus(400)]);
    expect((await flow.sync({ force: true })).exitCode).toBe(4);
    flow.simulator.setFaults([]);
    expect((await flow.sync()).streams.map(({ status }) => status)).toEqual(['complete']);
    expect((await flow.sync()).streams.map(({ status }) => status)).toEqual(['fresh']);
  });

  it('is not granted by a scan that a clock set back puts into the future', async () => {
    const flow = createItemsFlow(makeItems(60));
    await flow.sync();
    flow.clock.stepWall(-2 * 24 * HOUR_MS);
    expect((await flow.sync()).requests).toBeGreaterThan(0);
  });

  it('is left alone by freshness: 0', async () => {
    const flow = createItemsFlow(makeItems(60), { config: { defaults: { freshness: 0 } } });
    await flow.sync();
    expect((await flow.sync()).streams.map(({ status }) => status)).toEqual(['complete']);
  });
});
