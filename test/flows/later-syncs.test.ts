import { cpSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  createFlow,
  createItemsFlow,
  DAY_MS,
  type Flow,
  HOUR_MS,
  makeItems,
  noBuiltIns,
  streamOf,
} from '../support/sync-harness.ts';
import { createSimulatorTransport } from '../support/simulator-transport.ts';

const day = (n: number) => new Date(Date.UTC(2026, 0, n)).toISOString().slice(0, 10);

function nextDay({ clock, simulator }: Flow): void {
  clock.stepWall(DAY_MS);
  simulator.advanceDay();
}

describe('a sync after one that read a part', () => {
  it('reads all rows of a changed question, though --from was asked with it before', async () => {
    const records = makeItems(120, { perDay: 4 }).map((item) => ({
      ...item,
      entity: item.id % 2 ? 'acme' : 'globex',
    }));
    const stream = (entity: string[]) => ({
      path: 'items',
      paginated: true,
      key: ['id'],
      params: { entity },
    });
    const flow = createItemsFlow(records, { endpoint: { dateField: 'date' }, stream: stream(['acme']) });
    await flow.sync();
    const config = { streams: { items: stream(['acme', 'globex']) } };
    await flow.sync({ config, from: day(25) });
    const report = await flow.sync({ config });
    expect(streamOf(report)).toMatchObject({ mode: 'full', verdict: 'verified', rowsInTable: 120 });
  });

  it('replaces the window of a stream without a key, and learns no key from it', async () => {
    const row = (date: string, name: string, value: number) => ({ date, name, value });
    const flow = createItemsFlow(
      (today) => [
        row(day(1), 'a', 1.5),
        row(day(1), 'a', 2.5),
        row(day(31), 'b', 1.5),
        today <= '2026-01-31' ? row(day(31), 'c', 1.5) : row('2026-02-01', 'b', 1.5),
      ],
      { endpoint: { dateField: 'date' } },
    );
    expect(streamOf(await flow.sync()).key).toBeUndefined();
    nextDay(flow);
    expect(streamOf(await flow.sync())).toMatchObject({ key: undefined, rowsInTable: 4 });
  });

  it('is not spared by a --limit that came before, and a stream without a key keeps its table', async () => {
    const flow = createItemsFlow((today) =>
      Array.from({ length: 40 }, (_, at) => ({ amount: (at % 20) + 0.5, today })),
    );
    await flow.sync();
    nextDay(flow);
    const limited = await flow.sync({ limit: 10 });
    expect(limited).toMatchObject({ exitCode: 2, streams: [{ error: { code: 'usage_invalid' } }] });
    expect(await flow.query('SELECT count(*) AS n FROM main.items')).toEqual([{ n: 40 }]);
    expect(streamOf(await flow.sync())).toMatchObject({ status: 'complete', rowsInTable: 40 });
  });
});

describe('what one sync learned', () => {
  it('is not shaken by a --from date without rows', async () => {
    const flow = createItemsFlow(makeItems(60, { perDay: 2 }), { endpoint: { dateField: 'date' } });
    await flow.sync();
    await flow.sync({ from: '2026-02-10', allowEmpty: true });
    nextDay(flow);
    await flow.sync();
    expect(await flow.query('SELECT cursor_state FROM _sluice.checkpoints')).toEqual([
      { cursor_state: 'proved' },
    ]);
  });

  it('of a cursor does not hold for another path', async () => {
    const records = makeItems(60, { perDay: 2 });
    const flow = createItemsFlow(records, { endpoint: { dateField: 'date' } });
    await flow.sync();
    nextDay(flow);
    await flow.sync();
    const real = createSimulatorTransport(flow.simulator, flow.clock, {});
    const refusing = createItemsFlow([], {
      folder: flow.folder,
      clock: flow.clock,
      stream: { path: 'other' },
      transport: {
        close: () => Promise.resolve(),
        send: (request) =>
          request.url.searchParams.has('startDate')
            ? Promise.resolve({
                status: 400,
                headers: {},
                body: Buffer.from('{"error":{"code":"VALIDATION_ERROR"}}'),
              })
            : real.send({ ...request, url: new URL(request.url.href.replace('/other', '/items')) }),
      },
    });
    for (let days = 0; days < 2; days += 1) {
      nextDay(flow);
      expect(await refusing.sync()).toMatchObject({
        exitCode: 0,
        streams: [{ mode: 'full', verdict: 'verified' }],
      });
    }
  });

  it('of a table that drifted since does not make it fresh', async () => {
    const records = makeItems(350, { perDay: 12 });
    const flow = createItemsFlow(records, { stream: { key: ['id'] } });
    await flow.sync();
    flow.clock.stepWall(600_000);
    const real = createSimulatorTransport(flow.simulator, flow.clock, {});
    let asked = 0;
    const moving = createItemsFlow(records, {
      folder: flow.folder,
      clock: flow.clock,
      stream: { key: ['id'] },
      transport: {
        close: () => Promise.resolve(),
        send: (request) => {
          asked += 1;
          const added = { id: 1_000 + asked, date: day(1), name: 'new', amount: 1 };
          if (asked % 2 === 0) flow.simulator.editRecords('items', (held) => [added, ...held]);
          return real.send(request);
        },
      },
    });
    expect(await moving.sync({ force: true })).toMatchObject({ exitCode: 4 });
    expect(streamOf(await flow.sync())).toMatchObject({ status: 'complete', verdict: 'verified' });
  });
});

describe('a sync after one that failed', () => {
  it('asks again for rows that the source has fixed', async () => {
    const flow = createItemsFlow(makeItems(250), { stream: { key: ['id'] } });
    flow.simulator.editRecords('items', (held) =>
      held.map((item, at) => (at >= 160 ? { ...(item as object), id: null } : item)),
    );
    expect((await flow.sync()).exitCode).toBe(4);
    flow.simulator.editRecords('items', () => makeItems(250));
    flow.clock.stepWall(HOUR_MS);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, streams: [{ rowsInTable: 250 }] });
  });

  it('tells that an endpoint has gone that was there before', async () => {
    const flow = createFlow({ config: { streams: { ...noBuiltIns, commerce_top_products: {} } } });
    const withoutConfig = { streams: { ...noBuiltIns } };
    const { commerce_top_products: _, ...others } = withoutConfig.streams;
    const config = { streams: others };
    const unnamed = createFlow({ folder: flow.folder, clock: flow.clock, simulator: flow.simulator, config });
    expect((await unnamed.sync()).exitCode).toBe(0);
    const gone = createFlow({
      folder: flow.folder,
      clock: flow.clock,
      config,
      simulator: { builtIns: false },
    });
    expect(await gone.sync({ force: true })).toMatchObject({ exitCode: 4, streams: [{ status: 'failed' }] });
  });

  it('continues when a display throws', async () => {
    const flow = createItemsFlow(makeItems(120));
    const report = await flow.sync({
      onProgress: () => {
        throw new Error('no screen');
      },
    });
    expect(report).toMatchObject({ exitCode: 0, warnings: ['onProgress threw: no screen'] });
    expect(flow.isPublished()).toBe(true);
  });

  it('with an empty configured stream is complete, and --allow-empty deletes nothing', async () => {
    const empty = createItemsFlow([], { stream: { cursor: { field: 'date' }, key: ['id'] } });
    expect((await empty.sync()).exitCode).toBe(0);
    const flow = createItemsFlow(makeItems(10), { stream: { key: ['id'] } });
    await flow.sync();
    flow.simulator.editRecords('items', () => []);
    const report = await flow.sync({ fullRefresh: true, allowEmpty: true });
    expect(report).toMatchObject({ exitCode: 0, streams: [{ rowsInTable: 10, rows: { deleted: 0 } }] });
  });

  it('neither replaces nor adopts what another source published', async () => {
    const one = createItemsFlow(makeItems(10));
    await one.sync();
    const source = { baseUrl: 'https://other.example.com/api/v1' };
    const other = createItemsFlow(makeItems(20), { config: { source } });
    cpSync(one.duckdbPath, other.duckdbPath);
    const failure: unknown = await other.sync().catch((error: unknown) => error);
    expect(failure).toMatchObject({ exitCode: 2, code: 'identity_mismatch' });
    expect(await other.query('SELECT count(*) AS n FROM main.items')).toEqual([{ n: 10 }]);
    rmSync(other.duckdbPath);
    expect(await other.sync()).toMatchObject({ exitCode: 0, streams: [{ rowsInTable: 20 }] });
  });
});
