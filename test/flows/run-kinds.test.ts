import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { kindOf } from '../../src/model/run-report.ts';
import { retryQuarantine } from '../../src/commands/contracts/retry-quarantine.ts';
import { resetState } from '../../src/commands/state/change-state.ts';
import { readRun, readRuns } from '../../src/commands/read-runs.ts';
import { parseCron } from '../../src/schedule/cron-schedule.ts';
import { owesRun } from '../../src/schedule/find-catch-up.ts';
import { removeContractFile, writeContractFile } from '../support/contract-flow.ts';
import { createItemsFlow, HOUR_MS, makeItems } from '../support/sync-harness.ts';

const stream = { cursor: false, key: ['id'], maxInvalidRatio: 0.9 } as const;

it('distinguishes a sync from a retry, a rebuild and a reset, from the run file and from the published history', async () => {
  const flow = createItemsFlow(makeItems(30), { stream });
  const { clock } = flow;
  writeContractFile(flow, { type: 'object', properties: { amount: { maximum: 800 } } });
  await flow.sync();
  const syncedMs = clock.now();
  removeContractFile(flow);
  clock.stepWall(HOUR_MS);
  expect((await retryQuarantine(flow.settings(), { clock })).exitCode).toBe(0);
  clock.stepWall(HOUR_MS);
  expect((await flow.rebuild()).exitCode).toBe(0);
  clock.stepWall(HOUR_MS);
  await resetState(flow.settings(), { confirm: () => Promise.resolve(true), clock });

  const kinds = async () => (await readRuns(flow.settings(), { limit: 9 })).map(({ kind }) => kind);
  expect(await kinds()).toEqual(['state', 'rebuild', 'retry', 'sync']);
  const hourly = parseCron('0 * * * *', 'UTC', clock.now());
  const nextMs = hourly.next(syncedMs) ?? 0;
  expect(owesRun(hourly, flow.stateDir, nextMs - 1)).toBe(false);
  expect(owesRun(hourly, flow.stateDir, nextMs)).toBe(true);
  const [reset] = await readRuns(flow.settings(), { limit: 1 });
  expect(kindOf((await readRun(flow.settings(), reset?.runId ?? '')) as Parameters<typeof kindOf>[0])).toBe(
    'state',
  );
  rmSync(join(flow.stateDir, 'runs.json'));
  expect(await kinds()).toEqual(['state', 'rebuild', 'retry', 'sync']);
});
