import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCheck } from '../support/run-check.ts';
import { planSync } from '../../src/commands/plan/plan.ts';
import { errorStatus } from '../../src/simulator/fault-effects.ts';
import { when } from '../../src/simulator/faults.ts';
import { createSimulatorTransport } from '../support/simulator-transport.ts';
import { createFlow, createItemsFlow, type Flow, makeItems } from '../support/sync-harness.ts';

const DAY_MS = 86_400_000;
const missing = when({ path: 'commerce/top-products' }, errorStatus(404, 'No such endpoint.'));

function plan(flow: Flow) {
  const { simulator, clock } = flow;
  return planSync(flow.settings(), { clock, transport: createSimulatorTransport(simulator, clock, {}) });
}

describe('check of the fields that config names', () => {
  it.each([
    ['a key, on the first of many pages', 250, { key: ['idd'] }, 'key names idd'],
    ['a key, on the only page', 20, { key: ['id', 'dated'] }, 'key names dated'],
    ['a cursor, on the only page', 20, { cursor: { field: 'dated', param: 'from' } }, 'cursor names dated'],
    [
      'a misspelled cursor, on the first of many pages',
      250,
      { cursor: { field: 'dat', param: 'from' } },
      'cursor names dat',
    ],
    ['a key of an unpaginated stream', 20, { key: ['idd'], paginated: false }, 'key names idd'],
  ])('fails like a sync for %s', async (_, rows, stream, words) => {
    const flow = createItemsFlow(makeItems(rows), { stream });
    const { report, found } = await runCheck(flow, 'items');
    expect(found?.status).toBe('failed');
    expect(found?.fix).toMatch(/Fields of this stream: id, /);
    expect(found?.detail).toContain(words);
    const { exitCode, streams } = await flow.sync();
    expect(report).toMatchObject({ ok: false, exitCode, error: { code: streams[0]?.error?.code } });
    expect(streams[0]?.error?.message.replaceAll('"', '')).toContain(words);
  });

  it('warns of a cursor that later pages may have, and decides nothing by an empty page', async () => {
    const cursor = { field: 'changed', param: 'from' };
    const flow = createItemsFlow(makeItems(250), { stream: { cursor } });
    const { report } = await runCheck(flow, 'items');
    expect(report).toMatchObject({ ok: true, exitCode: 0 });
    expect(report.items).toContainEqual(
      expect.objectContaining({
        status: 'warning',
        detail: expect.stringMatching(/cursor names changed/) as string,
      }),
    );
    const empty = createItemsFlow([], { stream: { key: ['idd'], cursor } });
    expect((await runCheck(empty, 'items')).report).toMatchObject({ ok: true, exitCode: 0 });
  });
});

describe('check of the records of the first page', () => {
  const sampled = async (records: Parameters<typeof createItemsFlow>[0], schema?: object) => {
    const flow = createItemsFlow(records, { stream: { key: ['id'] } });
    if (schema !== undefined) {
      mkdirSync(join(flow.folder, 'contracts'), { recursive: true });
      writeFileSync(join(flow.folder, 'contracts', 'items.schema.json'), JSON.stringify(schema));
    }
    const { report } = await runCheck(flow, 'items');
    const said = report.items.flatMap(({ name, status, detail }) =>
      name === 'items' && status === 'warning' ? [detail] : [],
    );
    return { report, said };
  };

  it('says nothing of records that a sync keeps as they are', async () => {
    const { said } = await sampled(makeItems(20), { type: 'object', required: ['id'] });
    expect(said).toEqual([]);
  });

  it('warns of records that are not objects', async () => {
    const { report, said } = await sampled([...makeItems(18), 7, 'x'] as ReturnType<typeof makeItems>);
    expect(report.exitCode).toBe(0);
    expect(said).toEqual([
      '2 of 20 records on the first page would go to quarantine (if more than streams.items.maxInvalidRatio (0.05) of all records do, the stream fails): the record is not a JSON object (2); check streams.items.records and the path',
    ]);
  });

  it('warns of records that break the contract file, e.g. by a field that none of them has', async () => {
    const { said } = await sampled(makeItems(20), { type: 'object', required: ['id', 'sku'] });
    expect(said).toEqual([
      expect.stringMatching(
        /^20 of 20 records on the first page would go to quarantine \(if more .*\): sku .*\(20\); ask the provider to fix the source, or allow it in contracts\/items\.schema\.json$/,
      ),
    ]);
  });
});

describe('a built-in stream that answers 404', () => {
  it('is a warning of check where it was never read, and planned as in the sync', async () => {
    const flow = createFlow();
    flow.simulator.setFaults([missing]);
    const { report, found } = await runCheck(flow, 'commerce_top_products');
    expect(report).toMatchObject({ ok: true, exitCode: 0 });
    expect(found?.status).toBe('warning');
    const { streams, totals } = await plan(flow);
    expect(streams.at(-1)).toMatchObject({ action: 'unavailable', requests: 1, error: undefined });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: totals.requests });
  });

  it('fails in check and plan as in the sync where it has a table', async () => {
    const flow = createFlow();
    await flow.sync();
    flow.clock.stepWall(2 * DAY_MS);
    flow.simulator.setFaults([missing]);
    const { report, found } = await runCheck(flow, 'commerce_top_products');
    expect(report).toMatchObject({ ok: false, exitCode: 5, error: { code: 'stream_not_found' } });
    expect(found?.status).toBe('failed');
    const { streams, totals } = await plan(flow);
    expect(streams.at(-1)).toMatchObject({
      action: 'failed',
      requests: 1,
      error: { code: 'stream_not_found' },
    });
    expect(await flow.sync()).toMatchObject({ exitCode: 5, requests: totals.requests });
  });

  it('ends check with its own code where no other stream answers', async () => {
    const flow = createFlow();
    await flow.sync();
    flow.simulator.setFaults([errorStatus(404, 'No such endpoint.')]);
    flow.clock.stepWall(2 * DAY_MS);
    expect((await runCheck(flow, 'commerce_top_products')).report.exitCode).toBe(4);
    expect((await flow.sync()).exitCode).toBe(4);
  });
});

describe('a check of streams that fail in several ways', () => {
  it('ends with the code that a person must act on first', async () => {
    const flow = createFlow();
    const bad = when({ path: 'visibility/mentions' }, errorStatus(400, 'Bad request.'));
    const down = when({ path: 'commerce/top-products' }, errorStatus(500, 'Internal error.'));
    flow.simulator.setFaults([bad, down]);
    const { report } = await runCheck(flow, 'commerce_top_products');
    expect(report.items.filter(({ status }) => status === 'failed')).toHaveLength(2);
    expect(report).toMatchObject({ exitCode: 4, error: { exitCode: 4 } });
  });
});
