import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { stopClock, systemClock } from '../../src/model/clock.ts';
import type { ReportData } from '../../src/model/report-data.ts';
import { retryQuarantine } from '../../src/commands/contracts/retry-quarantine.ts';
import { gatherReport } from '../../src/commands/report/gather-report.ts';
import { readStatus } from '../../src/commands/status.ts';
import { renderReport } from '../../src/report/render-report.ts';
import { Database } from '../../src/warehouse/database.ts';
import { removeContractFile, writeContractFile } from '../support/contract-flow.ts';
import {
  createItemsFlow,
  DAY_MS,
  type Flow,
  type FlowConfig,
  makeItems,
  noBuiltIns,
} from '../support/sync-harness.ts';

const HASH_KEY = 'a-hash-key-of-some-length-4711';
const stream = { path: 'items', paginated: true, key: ['id'] };

/** Gathers at the flow's own time. */
function gather(
  flow: Flow,
  { config, showValues = true }: { config?: FlowConfig; showValues?: boolean } = {},
) {
  const clock = stopClock(systemClock, flow.clock.now());
  return gatherReport(flow.settings(config), { showValues }, { clock });
}

function columnOf({ tables }: ReportData, name: string) {
  const found = tables[0]?.profile?.columns.find((column) => column.name === name);
  if (found === undefined) throw new Error(`the profile has no column ${name}`);
  return found;
}

describe('the report of some days', () => {
  const people = makeItems(160, { perDay: 40 }).map((item, at) => ({
    ...item,
    kind: at % 4 === 0 ? 'rare' : 'common',
    email: at % 2 === 0 ? 'ann@example.com' : 'bob@example.com',
    gone: null,
  }));

  it('reports rows by day, runs, requests and what columns hold, and renders', async () => {
    const flow = createItemsFlow((day) => people.slice(0, day >= '2026-02-01' ? 160 : 120), { stream });
    await flow.sync();
    flow.clock.stepWall(DAY_MS);
    flow.simulator.advanceDay();
    await flow.sync();
    const data = await gather(flow);

    expect(data.runs.map(({ status, rows }) => [status, rows.inserted])).toEqual([
      ['complete', 120],
      ['complete', 40],
    ]);
    expect(data.streams).toMatchObject([{ stream: 'items', verdict: 'verified', rows: 160 }]);
    expect(data.streams[0]?.attempts).toHaveLength(2);
    const [table] = data.tables;
    expect(table?.days?.counts).toEqual(
      ['2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04'].map((day) => ({ day, rows: 40 })),
    );
    expect(columnOf(data, 'kind').values).toEqual({
      kind: 'few',
      top: [
        { value: 'common', rows: 120 },
        { value: 'rare', rows: 40 },
      ],
      others: 0,
    });
    expect(columnOf(data, 'id')).toMatchObject({
      distinct: 160,
      nulls: 0,
      values: { kind: 'range', min: '0', max: '159' },
    });
    const { values } = columnOf(data, 'id');
    expect(values?.kind === 'range' && values.bins.reduce((sum, count) => sum + count, 0)).toBe(160);
    expect(columnOf(data, 'name').values).toMatchObject({ kind: 'text', shortest: 6, longest: 8 });
    expect(columnOf(data, 'gone')).toMatchObject({ type: 'NULL', nulls: 160, values: undefined });
    const spent = data.requests.hours.reduce((sum, { requests }) => sum + requests, 0);
    expect(spent).toBe(data.runs.reduce((sum, { requests }) => sum + requests, 0));
    expect(data.schemaChanges.total).toBeGreaterThan(3);
    expect(data.leftOut).toEqual([]);

    const { html, summary } = renderReport(data);
    expect(summary).toMatchObject({ tone: 'good', headline: 'The stream is verified and up to date' });
    expect(html).toContain('ann@example.com');
  });

  it('shows no value of a record when it is told so, and none of personal data in any case', async () => {
    const flow = createItemsFlow(people, { stream });
    await flow.sync();
    const plain = await gather(flow, { showValues: false });
    expect(renderReport(plain).html).not.toMatch(/example\.com|common|2026-01-04<\/bdi>/);
    expect(columnOf(plain, 'id')).toMatchObject({ distinct: 160, hidden: 'asked' });

    // A rule that no sync has followed yet counts at once.
    const masking = {
      defaults: { hashKey: HASH_KEY },
      streams: { ...noBuiltIns, items: { ...stream, columns: { email: { hash: true as const } } } },
    };
    const masked = await gather(flow, { config: masking });
    expect(columnOf(masked, 'email')).toMatchObject({ hidden: 'masked', values: undefined });
    expect(renderReport(masked).html).not.toContain('example.com');
    expect(columnOf(masked, 'kind').values).toBeDefined();

    // One that was taken back counts while the hashes are there.
    await flow.sync({ config: masking, force: true });
    expect(columnOf(await gather(flow), 'email')).toMatchObject({ hidden: 'masked' });
  });

  it('shows why records are in quarantine, with one of them, cut, unless a mask is still to come', async () => {
    const long = people.map((item) => ({ ...item, text: 'x'.repeat(2_000) }));
    const options = { ...stream, maxInvalidRatio: 1, cursor: false as const };
    const flow = createItemsFlow(long, { stream: options });
    writeContractFile(flow, { type: 'object', properties: { id: { maximum: 150 } } });
    await flow.sync();
    const { quarantine } = await gather(flow);
    expect(quarantine).toMatchObject({ total: 9, reasons: [{ stream: 'items', path: 'id', records: 9 }] });
    const [reason] = quarantine.reasons;
    expect(reason?.sample).toMatch(/^\{"id":15\d,.*…$/);
    expect(reason?.sample?.length).toBeLessThan(500);
    expect(reason?.sampleId).toMatch(/^[0-9a-f]{10}$/);

    const excluded = { ...options, columns: { email: { exclude: true as const } } };
    const pending = await gather(flow, { config: { streams: { ...noBuiltIns, items: excluded } } });
    expect(pending.quarantine.reasons[0]?.sample).toBeUndefined();
    expect((await gather(flow, { showValues: false })).quarantine.reasons[0]?.sample).toBeUndefined();
  });
});

describe('a report when something is amiss', () => {
  it('reports a run that never got as far as a published file', async () => {
    const flow = createItemsFlow(makeItems(10), { stream, simulator: { keys: ['another-key-0123456789'] } });
    const run = await flow.sync();
    expect(run.exitCode).toBe(3);
    const data = await gather(flow);
    expect(data).toMatchObject({ published: undefined, tables: [], runs: [{ status: 'failed' }] });
    const { summary } = renderReport(data);
    expect(summary.tone).toBe('bad');
    expect(summary.findings.map(({ what }) => what).join(' ')).toMatch(/No file is published yet.*401/);
  });

  it('reads a published file of an older version, without the run file', async () => {
    const flow = createItemsFlow(makeItems(120), { stream });
    await flow.sync();
    rmSync(flow.stateDir, { recursive: true });
    const database = await Database.open({ file: flow.duckdbPath, folders: [flow.folder] });
    const added = {
      stream_runs: [
        'mode',
        'reasons',
        'rows_inserted',
        'rows_updated',
        'rows_unchanged',
        'rows_deleted',
        'rows_quarantined',
      ],
      checkpoints: ['head', 'rules'],
      contracts: ['absent_since'],
    };
    for (const [table, columns] of Object.entries(added))
      for (const column of columns) await database.run(`ALTER TABLE _sluice.${table} DROP COLUMN ${column}`);
    await database.checkpoint();
    await database.release();

    const data = await gather(flow);
    expect(data.runs).toMatchObject([{ status: 'complete', rows: { inserted: 120 } }]);
    expect(data.streams).toMatchObject([{ rows: 120, lastAttempt: { status: 'complete', reasons: [] } }]);
    expect(data.tables[0]?.profile?.columns.length).toBeGreaterThan(3);
    expect(renderReport(data).summary.tone).toBe('good');
  });

  it('is settled by a sync alone: neither by a retry of quarantined records nor by a rebuild', async () => {
    const items = makeItems(120);
    const bad = items.filter(({ amount }) => amount > 800).length;
    const flow = createItemsFlow(items, { stream: { ...stream, cursor: false, maxInvalidRatio: 0.9 } });
    writeContractFile(flow, { type: 'object', properties: { amount: { maximum: 800 } } });
    await flow.sync();
    flow.clock.stepWall(DAY_MS);
    const exact: FlowConfig = { streams: { ...noBuiltIns, items: { ...stream, cursor: false } } };
    const failed = await flow.sync({ config: exact });
    expect(failed.exitCode).toBe(4);
    const look = async () => {
      const status = await readStatus(flow.settings(exact), flow.clock.now());
      const { headline, findings } = renderReport(await gather(flow, { config: exact })).summary;
      return { status, headline, first: findings[0]?.what };
    };
    const before = await look();
    expect(before).toMatchObject({
      headline: '1 of 1 stream needs attention',
      first: expect.stringMatching(/^items failed: /) as string,
      status: {
        lastRun: { runId: failed.runId },
        quarantined: bad,
        streams: [
          {
            verdict: 'verified',
            quarantined: bad,
            unsettled: { runId: failed.runId, status: 'failed', error: { exitCode: 4 } },
          },
        ],
      },
    });
    const settings = flow.settings({
      streams: { items: { ...stream, cursor: false, maxInvalidRatio: 0.9 } },
    });
    await retryQuarantine(settings, { clock: flow.clock });
    expect(await look()).toEqual(before);
    await flow.rebuild();
    expect((await look()).status.lastRun?.runId).toBe(failed.runId);
    expect(await look()).toMatchObject({ headline: before.headline, first: before.first });

    // The published history tells the same apart when the state folder is lost.
    removeContractFile(flow);
    await retryQuarantine(settings, { clock: flow.clock });
    rmSync(flow.stateDir, { recursive: true });
    const { runs, streams } = await gather(flow);
    expect(runs.at(-1)?.isSync).toBe(false);
    expect(streams[0]?.attempts.map(({ runId }) => runId)).toEqual(
      runs.filter(({ isSync }) => isSync).map(({ runId }) => runId),
    );
  });

  it('disturbs no sync that is under way, and says that there is one', async () => {
    const flow = createItemsFlow(makeItems(250), { stream });
    await flow.sync();
    flow.clock.stepWall(DAY_MS);
    let during: Promise<ReportData> | undefined;
    const run = await flow.sync({
      force: true,
      onProgress: () => {
        during ??= gather(flow);
      },
    });
    expect(run.status).toBe('complete');
    const data = await during;
    expect(data?.runs.map(({ status }) => status)).toEqual(['complete', 'running']);
    expect(data?.tables[0]?.rows).toBe(250);
    expect(data && renderReport(data).summary.findings[0]?.what).toMatch(/^A sync has been under way since/);
  });
});
