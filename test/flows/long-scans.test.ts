import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import { planOffline, planSync } from '../../src/commands/plan/plan.ts';
import { insertRows } from '../../src/simulator/fault-effects.ts';
import { beforeRequest } from '../../src/simulator/faults.ts';
import { expectRows } from '../support/published.ts';
import { createSimulatorTransport } from '../support/simulator-transport.ts';
import {
  buildConfig,
  countScanRequests,
  createItemsFlow,
  eventsOf,
  type Flow,
  HOUR_MS,
  type ItemsOptions,
  makeItem,
  makeItems,
  offsetsOf,
  streamOf,
} from '../support/sync-harness.ts';

const ROWS = 600;
const PAGE = 11;
/** 60 pages, and 48 requests a day. */
const CLEAN = countScanRequests(ROWS, PAGE);
/** One run waits for the quota as often as it takes. */
const patient = { maxWaitMs: 200 * HOUR_MS };
// Dated 2026-01-19 to 2026-01-30; the clock starts on 2026-01-31.
const items = makeItems(ROWS, { from: 900 });

function createSlowFlow(records: readonly unknown[] = items, options: ItemsOptions = {}): Flow {
  return createItemsFlow(records, {
    endpoint: { dateField: 'date' },
    simulator: { rateLimit: { requestsPerHour: 2 } },
    ...options,
    stream: { pageSize: PAGE, ...options.stream },
  });
}

const addOne = (id: number) => (service: Parameters<Parameters<typeof beforeRequest>[1]>[0]) =>
  service.editRecords('items', insertRows(0, [makeItem(id)]));

describe('a scan that takes longer than a day', () => {
  it('is unverified where the data seems to keep still: nothing proves that it was not refreshed', async () => {
    const flow = createSlowFlow();
    const report = streamOf(await flow.sync(patient));
    expect(report).toMatchObject({ verdict: 'unverified', rows: { read: ROWS }, watermark: '2026-01-28' });
    expect(report.reasons.join()).toMatch(
      /its pages were read 1 d .* apart, from 2026-01-31 12:00 to 2026-02-0/,
    );
    expect(flow.arrivals).toHaveLength(CLEAN);
  });

  it('is never restarted: what came is loaded, and the watermark is its start less the lookback', async () => {
    const flow = createSlowFlow();
    flow.simulator.setFaults([beforeRequest(20, addOne(1_499)), beforeRequest(40, addOne(1_500))]);
    const report = await flow.sync(patient);
    expect(report).toMatchObject({ exitCode: 4, status: 'failed' });
    expect(streamOf(report)).toMatchObject({ verdict: 'drifted', rescans: 0, watermark: '2026-01-28' });
    expect(streamOf(report).error).toMatchObject({ code: 'source_drifted' });
    expect(streamOf(report).error?.message).toMatch(/6\d pages take longer than a day/);
    expect(streamOf(report).error?.hint).toMatch(/were loaded and nothing was deleted.*sliceBy/);
    expect(eventsOf(flow, 'stream-restarted')).toEqual([]);
    expect(flow.arrivals.length).toBeLessThanOrEqual(CLEAN + 12);
    const ids = (await flow.rows('items')).map((row) => row['id']);
    expect(ids).toEqual(expect.arrayContaining(items.map(({ id }) => id)));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('is followed by an incremental one, which brings what came meanwhile', async () => {
    const flow = createSlowFlow();
    flow.simulator.setFaults([beforeRequest(20, addOne(1_500))]);
    await flow.sync(patient);
    flow.simulator.setFaults([]);
    const report = await flow.sync(patient);
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', status: 'complete' });
    expect(await flow.rows('items')).toEqual(expectRows([makeItem(1_500), ...items]));
  });

  it('continues after days, though its head is another by now', async () => {
    const flow = createSlowFlow();
    expect((await flow.sync({ maxRequests: 30 })).exitCode).toBe(75);
    await flow.clock.sleep(40 * HOUR_MS);
    addOne(1_500)(flow.simulator);
    const report = await flow.sync(patient);
    expect(eventsOf(flow, 'stream-resumed')).toMatchObject([{ pagesHeld: 30 }]);
    expect(streamOf(report)).toMatchObject({ verdict: 'drifted', rescans: 0, watermark: '2026-01-28' });
    expect(Math.min(...offsetsOf(flow.arrivals).filter((offset) => offset > 10))).toBeGreaterThanOrEqual(290);
    expect(await flow.rows('items')).toHaveLength(ROWS);
  });

  it('is loaded without a key as well, each row once', async () => {
    const words = Array.from({ length: ROWS }, (_, at) => ({ word: `word ${at} ${'x'.repeat(300)}` }));
    const flow = createSlowFlow(words, { endpoint: {} });
    flow.simulator.setFaults([
      beforeRequest(20, (service) => service.editRecords('items', insertRows(0, [{ word: 'one more' }]))),
    ]);
    for (const run of [1, 2]) {
      const report = await flow.sync({ ...patient, force: true });
      if (run === 1) expect(streamOf(report)).toMatchObject({ verdict: 'drifted', key: undefined });
      flow.simulator.setFaults([]);
    }
    expect(await flow.rows('items')).toEqual(expectRows([{ word: 'one more' }, ...words]));
  });

  it('is one that needs more than a day, not one that the quota makes wait', async () => {
    const flow = createSlowFlow(items, { simulator: { rateLimit: { requestsPerHour: 3 } } });
    flow.simulator.setFaults([beforeRequest(20, addOne(1_500))]);
    expect(streamOf(await flow.sync(patient))).toMatchObject({ verdict: 'unverified', rescans: 1 });
  });
});

describe('plan', () => {
  it('says that a scan takes too long, and what to do', async () => {
    const flow = createSlowFlow();
    const places = {
      duckdbPath: flow.duckdbPath,
      stateDir: flow.stateDir,
      ledgerDir: `${flow.folder}/quota`,
    };
    const config = buildConfig(places, {
      quota: { requestsPerHour: 2 },
      streams: {
        visibility_mentions: { enabled: false },
        prompts_analytics: { enabled: false },
        commerce_category_products: { enabled: false },
        commerce_top_products: { enabled: false },
        items: { path: 'items', paginated: true, pageSize: PAGE },
      },
    });
    const settings = resolveSettings({
      loaded: parseConfig(config),
      connectors,
      env: {},
      nowMs: flow.clock.now(),
    });
    const transport = createSimulatorTransport(flow.simulator, flow.clock);
    const plan = await planSync(settings, { clock: flow.clock, transport });
    expect(plan.streams[0]?.note).toMatch(/2 days of quota: too long to be verified as a whole.*sliceBy/);

    await flow.sync({ maxRequests: 30, config: { quota: { requestsPerHour: 2 } } });
    await flow.clock.sleep(40 * HOUR_MS);
    const later = await planOffline(settings, { clock: flow.clock });
    expect(later.streams[0]).toMatchObject({ action: 'resume', pages: 60 });
    expect(later.streams[0]?.note).toMatch(/30 pages are staged already; 2 days of quota/);
  });
});
