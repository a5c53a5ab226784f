import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runChecks } from '../../src/commands/check.ts';
import { planOffline, planSync } from '../../src/commands/plan/plan.ts';
import { readRuns } from '../../src/commands/read-runs.ts';
import { readStatus } from '../../src/commands/status.ts';
import { createSimulatorTransport } from '../support/simulator-transport.ts';
import {
  createFlow,
  createItemsFlow,
  type Flow,
  type FlowConfig,
  makeItems,
} from '../support/sync-harness.ts';

const OLD_KEY = 'key-of-the-account-01';
const NEW_KEY = 'key-of-the-account-02';

function createProject(): Flow {
  return createItemsFlow(makeItems(250), {
    simulator: { keys: [OLD_KEY, NEW_KEY] },
    config: { source: { apiKey: OLD_KEY } },
  });
}

function plan(flow: Flow, config?: FlowConfig, limit?: number) {
  const transport = createSimulatorTransport(flow.simulator, flow.clock, {});
  return planSync(flow.settings(config), {
    clock: flow.clock,
    transport,
    ...(limit !== undefined && { limit }),
  });
}

describe('a published file that is lost', () => {
  it('keeps neither status nor plan from saying what the state folder holds', async () => {
    const flow = createProject();
    const { runId } = await flow.sync();
    rmSync(flow.duckdbPath);
    const status = await readStatus(flow.settings(), flow.clock.now());
    expect(status).toMatchObject({ published: undefined, unpublished: `${flow.stateDir}/work.duckdb` });
    expect(status.streams).toMatchObject([{ stream: 'items', verdict: 'verified', rows: 250, fresh: true }]);
    expect(await readRuns(flow.settings(), { limit: 5 })).toMatchObject([{ runId }]);
    expect((await plan(flow)).streams).toMatchObject([{ action: 'skip-fresh', requests: 0 }]);
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, requests: 0 });
    expect(flow.isPublished()).toBe(true);
  });

  it('makes a damaged work file an error of each command', async () => {
    const flow = createProject();
    await flow.sync();
    rmSync(flow.duckdbPath);
    const workFile = join(flow.stateDir, 'work.duckdb');
    writeFileSync(workFile, readFileSync(workFile).fill(0, 0, 4_096));
    const failure = { code: 'state_damaged' };
    await expect(readStatus(flow.settings(), flow.clock.now())).rejects.toMatchObject(failure);
    await expect(plan(flow)).rejects.toMatchObject(failure);
    await expect(flow.sync()).rejects.toMatchObject(failure);
  });

  it('says what to move away where a folder is in the place of the work file, and goes on then', async () => {
    const flow = createProject();
    await flow.sync();
    const workFile = join(flow.stateDir, 'work.duckdb');
    rmSync(workFile);
    mkdirSync(workFile);
    await expect(flow.sync()).rejects.toMatchObject({
      exitCode: 6,
      message: `${workFile} is a folder and must be a file`,
      hint: expect.stringMatching(/move the folder away and run `sluice sync`/) as unknown,
    });
    rmSync(workFile, { recursive: true });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
  });

  it.each(['', 'cut short'])('makes %j as a work file an error of no command', async (content) => {
    const flow = createProject();
    await flow.sync();
    rmSync(flow.duckdbPath);
    writeFileSync(join(flow.stateDir, 'work.duckdb'), content);
    expect(await readStatus(flow.settings(), flow.clock.now())).toMatchObject({
      streams: [{ rows: undefined }],
    });
    expect((await plan(flow)).streams).toMatchObject([{ action: 'full', requests: 4 }]);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 4 });
  });

  it('is of no use where the state folder is lost too', async () => {
    const flow = createProject();
    await flow.sync();
    rmSync(flow.duckdbPath);
    rmSync(flow.stateDir, { recursive: true });
    const status = await readStatus(flow.settings(), flow.clock.now());
    expect(status).toMatchObject({ streams: [{ verdict: undefined, rows: undefined }] });
    expect(status).not.toHaveProperty('unpublished');
    expect((await plan(flow)).streams).toMatchObject([{ action: 'full', requests: 4 }]);
  });
});

describe('a plan', () => {
  it('counts what checking a new key takes', async () => {
    const flow = createProject();
    await flow.sync();
    const rotated = { source: { apiKey: NEW_KEY } };
    const planned = await plan(flow, rotated);
    expect(planned.notes).toEqual([expect.stringMatching(/the key is not the one .*about 1 request/)]);
    expect(planned.totals.requests).toBe(1);
    expect(await flow.sync({ config: rotated })).toMatchObject({ exitCode: 0, requests: 1 });
    expect(await plan(flow, rotated)).toMatchObject({ totals: { requests: 0 } });
    expect((await plan(flow, rotated)).notes).toBeUndefined();
  });

  it.each([
    [120, 120, 2],
    [1_000, 250, 3],
  ])('of at most %i rows counts no more than that', async (limit, rows, pages) => {
    const planned = await plan(createProject(), undefined, limit);
    expect(planned).toMatchObject({ streams: [{ rows, pages }], totals: { rows } });
  });

  it('counts no more of an unpaginated endpoint either', async () => {
    const unpaginated = { stream: { paginated: false }, endpoint: { paginated: false } };
    const planned = await plan(createItemsFlow(makeItems(250), unpaginated), undefined, 120);
    expect(planned.streams).toMatchObject([{ rows: 120, pages: 1, requests: 1 }]);
  });

  it('refuses what a sync would refuse: rows of a different source', async () => {
    const flow = createProject();
    await flow.sync();
    const moved = { source: { baseUrl: 'https://elsewhere.example/api/v1' } };
    const refusal = { code: 'identity_mismatch', exitCode: 2 };
    await expect(plan(flow, moved)).rejects.toMatchObject(refusal);
    await expect(planOffline(flow.settings(moved), { clock: flow.clock })).rejects.toMatchObject(refusal);
    await expect(flow.sync({ config: moved })).rejects.toMatchObject(refusal);
  });

  it('tries no endpoint with a key or source that the state refuses', async () => {
    const flow = createProject();
    await flow.sync();
    const transport = createSimulatorTransport(flow.simulator, flow.clock, {});
    const elsewhere = flow.settings({ source: { baseUrl: 'https://elsewhere.example/api/v1' } });
    const report = await runChecks(elsewhere, { clock: flow.clock, transport });
    expect(report).toMatchObject({ exitCode: 2, requestsSpent: 0, error: { code: 'identity_mismatch' } });
    const streams = report.items.filter(({ status }) => status === 'skipped');
    expect(streams.map(({ name }) => name)).toEqual(elsewhere.streams.map(({ name }) => name));
    const same = await runChecks(flow.settings(), { clock: flow.clock, transport });
    expect(same).toMatchObject({ exitCode: 0, requestsSpent: elsewhere.streams.length });
  });

  it('says so where every endpoint answers 404, as a sync does', async () => {
    const flow = createFlow({ simulator: { builtIns: false } });
    const { streams } = await plan(flow);
    const code = 'stream_not_found';
    for (const stream of streams)
      expect(stream).toMatchObject({ action: 'failed', requests: undefined, error: { code, exitCode: 4 } });
    expect(streams[0]?.error?.message).toMatch(/every endpoint below .* answers 404/);
    expect(await flow.sync()).toMatchObject({ exitCode: 4, error: { code } });
  });
});

describe('a check of a stream with a single row', () => {
  it('counts it as one', async () => {
    const flow = createItemsFlow(makeItems(1));
    const transport = createSimulatorTransport(flow.simulator, flow.clock, {});
    const { items } = await runChecks(flow.settings(), { clock: flow.clock, transport });
    expect(items.find(({ name }) => name === 'items')?.detail).toMatch(/: 1 row$/);
  });
});
