import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderStatus } from '../../src/render/render-status.ts';
import type { StatusReport } from '../../src/model/reports.ts';
import { closeKilledRunsInFile } from '../../state/run-file.ts';
import { readRecentRuns } from '../../state/recent-runs.ts';
import { readStatus } from '../../src/commands/status.ts';
import { createFlow, type Flow } from '../support/sync-harness.ts';

/** What a run tells of itself, without its rows. */
const FILES = ['runs.json', 'progress.json'];

/** Four streams of which the quota of an hour is enough for some. */
function createLongFlow(): Flow {
  return createFlow({
    simulator: { sizes: { historyDays: 4 }, rateLimit: { requestsPerHour: 4, burstPerSecond: 10 } },
    config: { quota: { burstPerSecond: 10 } },
  });
}

/** Looks from a second terminal once a run has waited for the quota so many times. */
async function lookWhileItWaits(flow: Flow, isPublished = false): Promise<readonly StatusReport[]> {
  const looks: Promise<StatusReport>[] = [];
  const report = await flow.sync({
    onProgress: (event) => {
      const isWait = event.type === 'waiting' && event.reason === 'hourly-quota';
      if (isPublished ? event.type !== 'published' : !isWait) return;
      const go = flow.clock.hold();
      looks.push(readStatus(flow.settings(), flow.clock.now()).finally(go));
    },
  });
  expect(report.exitCode).toBe(0);
  return Promise.all(looks);
}

describe('a run in progress', () => {
  it('publishes the streams that are done when it begins to wait for the quota', async () => {
    const flow = createLongFlow();
    const looks = await lookWhileItWaits(flow, true);
    const done = looks.map(({ streams }) => streams.filter(({ verdict }) => verdict === 'verified').length);
    // Some were there while others were not.
    expect(looks.length).toBeGreaterThan(1);
    expect(done[0]).toBeGreaterThan(0);
    expect(done[0]).toBeLessThan(4);
    expect(looks.every(({ lastRun }) => lastRun?.status === 'running')).toBe(true);
    const { flow: clean } = await flow.clean();
    for (const { stream } of looks[0]?.streams ?? [])
      expect(await flow.rows(stream)).toEqual(await clean.rows(stream));
  });

  it('is reported by status: pages, rows, the wait and the quota', async () => {
    const flow = createLongFlow();
    const [look] = await lookWhileItWaits(flow);
    expect(look?.lastRun?.status).toBe('running');
    const { streams = [], waiting } = look?.underWay ?? {};
    expect(streams.map(({ state }) => state)).toContain('finished');
    const reading = streams.find(({ state }) => state === 'reading');
    expect(reading?.rowsDone).toBeGreaterThan(0);
    expect(waiting?.reason).toBe('hourly-quota');
    expect(look?.quota).toMatchObject({ limit: 4, remaining: 0 });
    const text = look === undefined ? '' : renderStatus(look, { nowMs: flow.clock.now(), columns: 100 });
    expect(text).toMatch(/reading, \d+ of \d+ pages, [\d,]+ of [\d,]+ rows/);
    expect(text).toMatch(/waiting for the quota/);
    expect(existsSync(join(flow.stateDir, 'progress.json'))).toBe(false);
    expect((await readStatus(flow.settings(), flow.clock.now())).underWay).toBeUndefined();
  });

  it('that is killed is known by its requests, and what was left of the quota', async () => {
    const flow = createLongFlow();
    const nowMs = flow.clock.now();
    expect(renderStatus(await readStatus(flow.settings(), nowMs), { nowMs, columns: 100 })).toContain(
      'Quota: not known before the first request.',
    );
    const saved: string[] = [];
    await flow.sync({
      onProgress: (event) => {
        if (event.type !== 'waiting' || event.reason !== 'hourly-quota' || saved.length > 0) return;
        for (const name of FILES) saved.push(readFileSync(join(flow.stateDir, name), 'utf8'));
      },
    });
    // As a process that is killed while it waits leaves them.
    for (const [at, name] of FILES.entries()) writeFileSync(join(flow.stateDir, name), saved[at] ?? '');
    const [run] = readRecentRuns(flow.stateDir);
    const quota = { limit: 4, remaining: 0 };
    expect(run).toMatchObject({ status: 'killed', requests: 4, quota });
    expect(await readStatus(flow.settings(), flow.clock.now())).toMatchObject({ quota });
    closeKilledRunsInFile(flow.stateDir);
    rmSync(join(flow.stateDir, 'progress.json'));
    expect(readRecentRuns(flow.stateDir)[0]).toEqual(run);
  });
});
