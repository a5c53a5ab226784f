import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderStatus } from '../../src/render/render-status.ts';
import type { StatusReport } from '../../src/model/reports.ts';
import { readStatus } from '../../src/commands/status.ts';
import { createFlow, type Flow } from '../support/sync-harness.ts';

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
});
